//! A batch on its way, and what becomes of it.
//!
//! Invariant: a batch is completed exactly once, with where it was written or with an error; its
//! bytes, once closed, are immutable and owned by reference count, so a batch that expired while
//! the socket still holds it cannot turn into another one's bytes (CVE-2026-35554).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use ottla_protocol::records::{BatchBuilder, Compressor, Stamp};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::error::{Error, Result};
use crate::list_offsets::TopicPartition;

/// Where a batch was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// The offset of its first record; -1 if the broker does not tell (`acks=0`).
    pub base_offset: i64,
    /// The broker's timestamp if the topic uses LogAppendTime, else -1.
    pub log_append_time: i64,
}

/// What became of a batch: shared by all who sent a record of it.
#[derive(Debug)]
pub struct Completion {
    partition: TopicPartition,
    result: Mutex<Option<Result<Written>>>,
    is_done: AtomicBool,
    done: Notify,
    /// A broker may have written the batch although no answer says so.
    maybe_written: AtomicBool,
}

impl Completion {
    pub(super) fn new(partition: TopicPartition) -> Self {
        Self {
            partition,
            result: Mutex::new(None),
            is_done: AtomicBool::new(false),
            done: Notify::new(),
            maybe_written: AtomicBool::new(false),
        }
    }

    /// The topic and the partition.
    #[must_use]
    pub fn partition(&self) -> &TopicPartition {
        &self.partition
    }

    /// What became of it, if that is known.
    #[must_use]
    pub fn result(&self) -> Option<Result<Written>> {
        if self.is_done.load(Ordering::Acquire) { self.result.lock().clone() } else { None }
    }

    /// Waits until it is known.
    pub async fn wait(&self) -> Result<Written> {
        loop {
            let done = self.done.notified();
            tokio::pin!(done);
            done.as_mut().enable();
            if let Some(result) = self.result() {
                return result;
            }
            done.await;
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.is_done.load(Ordering::Acquire)
    }

    /// Tells everyone; only the first call counts. An error carries the partition, and whether the
    /// records may be in the log all the same.
    pub(super) fn complete(&self, result: Result<Written>) {
        let (topic, partition) = &self.partition;
        let result = result.map_err(|error| match self.maybe_written.load(Ordering::Acquire) {
            true => error.at(topic, *partition).maybe_done(),
            false => error.at(topic, *partition),
        });
        let mut slot = self.result.lock();
        if slot.is_none() {
            *slot = Some(result);
            drop(slot);
            self.is_done.store(true, Ordering::Release);
            self.done.notify_waiters();
        }
    }
}

/// The records: still open, or closed and immutable.
#[derive(Debug)]
enum Records {
    Open(BatchBuilder),
    Closed(Bytes),
}

/// A batch. Dropping it unfinished tells its senders so: nobody waits for ever.
#[derive(Debug)]
pub(super) struct Batch {
    /// Distinguishes it among the producer's batches.
    pub(super) id: u64,
    records: Records,
    pub(super) completion: Arc<Completion>,
    /// When its first record came.
    pub(super) created: Instant,
    /// What it takes of `buffer.memory`.
    pub(super) reserved: usize,
    /// Attempts that have failed.
    pub(super) failures: u32,
    /// Not to be sent again before.
    pub(super) not_before: Option<Instant>,
    /// Whether an attempt before the one under way may have been written.
    maybe_before: bool,
    /// Why the last attempt failed.
    pub(super) last_error: Option<Error>,
}

impl Drop for Batch {
    fn drop(&mut self) {
        if !self.completion.is_done() {
            self.completion.complete(Err(super::accumulator::closed().because("not acknowledged")));
        }
    }
}

impl Batch {
    pub(super) fn new(id: u64, partition: TopicPartition, capacity: usize, now: Instant) -> Self {
        Self {
            id,
            records: Records::Open(BatchBuilder::new(capacity)),
            completion: Arc::new(Completion::new(partition)),
            created: now,
            reserved: 0,
            failures: 0,
            not_before: None,
            maybe_before: false,
            last_error: None,
        }
    }

    /// The builder, as long as the batch is open.
    pub(super) fn builder(&mut self) -> Option<&mut BatchBuilder> {
        match &mut self.records {
            Records::Open(builder) => Some(builder),
            Records::Closed(_) => None,
        }
    }

    /// The size so far: of the records before compression, or of the closed batch.
    pub(super) fn size(&self) -> usize {
        match &self.records {
            Records::Open(builder) => builder.size_in_bytes(),
            Records::Closed(bytes) => bytes.len(),
        }
    }

    /// Closes the batch, if it is open, and returns its bytes.
    pub(super) fn close(&mut self, compressor: &mut Compressor) -> Result<Bytes> {
        if let Records::Open(builder) = &mut self.records {
            let bytes = builder.finish(&Stamp::default(), compressor)?;
            self.records = Records::Closed(bytes);
        }
        match &self.records {
            Records::Closed(bytes) => Ok(bytes.clone()),
            Records::Open(_) => Ok(Bytes::new()),
        }
    }

    /// The batch is about to be handed to a connection: from here on a broker may write it without
    /// our knowing.
    pub(super) fn sending(&mut self) {
        self.maybe_before = self.completion.maybe_written.swap(true, Ordering::AcqRel);
    }

    /// A broker said that this attempt has written nothing.
    pub(super) fn refused(&mut self) {
        self.completion.maybe_written.store(self.maybe_before, Ordering::Release);
    }
}

//! A batch on its way: its records, its numbers, and what is known of its attempts.
//!
//! Invariant: its bytes, once closed, are immutable and owned by reference count, so a batch that
//! expired while the socket still holds it cannot turn into another one's bytes (CVE-2026-35554).
//! New numbers are written into a copy if anyone still holds the old bytes.

use std::sync::Arc;

use bytes::Bytes;
use ottla_protocol::records::{BatchBuilder, Compressor, ProducerState, rewrite};
use tokio::time::Instant;

use super::idempotence::Sequence;
use crate::error::{Error, Result};
use crate::producer::produce_result::{Part, Written};
use crate::producer::unobserved_failures::UnseenFailures;
use crate::topic_partition::TopicPartition;

/// The records: still open, or closed and immutable under these numbers.
#[derive(Debug)]
enum Records {
    Open(BatchBuilder),
    Closed { bytes: Bytes, stamp: ProducerState, count: usize, plain: usize },
}

/// The order of a partition's batches: the number of the batch as it was opened, and the index of
/// the first record in it.
pub(super) type Place = (u64, usize);

/// A batch.
#[derive(Debug)]
pub(super) struct Batch {
    id: u64,
    records: Records,
    pub(super) part: Arc<Part>,
    /// When its first record came.
    pub(super) created: Instant,
    /// From this size on, in bytes before compression, it is sent without waiting for more records.
    pub(super) sendable_size: usize,
    /// What it takes of `buffer.memory`.
    pub(super) reserved: usize,
    /// At most what its largest record takes, as far as that is known.
    pub(super) largest: usize,
    /// Attempts that have failed.
    pub(super) failures: u32,
    /// Not to be sent again before.
    pub(super) not_before: Option<Instant>,
    /// Its numbers, once it has some.
    pub(super) sequence: Option<Sequence>,
    /// A broker has said that it does not follow what is in the log: it is not sent again before
    /// its numbers have changed.
    pub(super) denied: bool,
    /// Whether an attempt before the one under way may have been written.
    maybe_before: bool,
    /// It is a part of a batch that may have been written before it was split: the limit of sizes may
    /// have been lowered since.
    pub(super) was_doubtful: bool,
    /// Why the last attempt failed.
    pub(super) last_error: Option<Error>,
}

impl Batch {
    pub(super) fn new(
        id: u64,
        partition: TopicPartition,
        failures: Arc<UnseenFailures>,
        builder: BatchBuilder,
        now: Instant,
    ) -> Self {
        Self::of(id, Arc::new(Part::new(partition, failures)), builder, now)
    }

    fn of(id: u64, part: Arc<Part>, builder: BatchBuilder, created: Instant) -> Self {
        Self {
            id,
            records: Records::Open(builder),
            part,
            created,
            sendable_size: 0,
            reserved: 0,
            largest: 0,
            failures: 0,
            not_before: None,
            sequence: None,
            denied: false,
            maybe_before: false,
            was_doubtful: false,
            last_error: None,
        }
    }

    /// A part of this batch, made of `builder`, which holds its records from where `part` starts.
    pub(super) fn piece(&self, part: Arc<Part>, builder: BatchBuilder, reserved: usize) -> Self {
        let skipped = part.first().saturating_sub(self.part.first());
        let sequence = self.sequence.map(|sequence| sequence.skip(skipped));
        let last_error = self.last_error.clone();
        Self {
            reserved,
            sequence,
            last_error,
            largest: self.largest.min(reserved),
            failures: self.failures,
            was_doubtful: self.sequence.is_some() && (self.was_doubtful || self.maybe_written()),
            ..Self::of(self.id, part, builder, self.created)
        }
    }

    pub(super) fn place(&self) -> Place {
        (self.id, self.part.first())
    }

    /// How many records it holds.
    pub(super) fn count(&self) -> usize {
        match &self.records {
            Records::Open(builder) => builder.len(),
            Records::Closed { count, .. } => *count,
        }
    }

    /// The builder, as long as the batch is open.
    pub(super) fn builder(&mut self) -> Option<&mut BatchBuilder> {
        match &mut self.records {
            Records::Open(builder) => Some(builder),
            Records::Closed { .. } => None,
        }
    }

    /// The closed batch.
    pub(super) fn closed(&self) -> Option<&Bytes> {
        match &self.records {
            Records::Open(_) => None,
            Records::Closed { bytes, .. } => Some(bytes),
        }
    }

    /// The size so far: of the records before compression, or of the closed batch.
    pub(super) fn size(&self) -> usize {
        match &self.records {
            Records::Open(builder) => builder.size_in_bytes(),
            Records::Closed { bytes, .. } => bytes.len(),
        }
    }

    /// The bytes of its records before compression.
    pub(super) fn plain_size(&self) -> usize {
        match &self.records {
            Records::Open(builder) => builder.size_in_bytes(),
            Records::Closed { plain, .. } => *plain,
        }
    }

    /// Its bytes divided by those before compression.
    pub(super) fn compression(&self) -> f64 {
        self.size() as f64 / self.plain_size().max(1) as f64
    }

    /// Closes the batch, if it is open, and gives its bytes its present numbers. Returns the buffer that
    /// was compressed, or an empty one.
    pub(super) fn close(&mut self, compressor: &mut Compressor) -> Result<Vec<u8>> {
        let stamp = self.sequence.map_or_else(ProducerState::default, Sequence::stamp);
        match &mut self.records {
            Records::Open(builder) => {
                let (count, plain) = (builder.len(), builder.size_in_bytes());
                let bytes = builder.finish(&stamp, compressor)?;
                let buffer = builder.take_buffer();
                self.records = Records::Closed { bytes, stamp, count, plain };
                return Ok(buffer);
            }
            Records::Closed { bytes, stamp: old, .. } => {
                if *old != stamp {
                    *bytes = rewrite::set_producer_state(std::mem::take(bytes), &stamp)?;
                    *old = stamp;
                }
            }
        }
        Ok(Vec::new())
    }

    /// Its bytes, once nobody needs it any more.
    pub(super) fn into_bytes(self) -> Option<Bytes> {
        match self.records {
            Records::Open(_) => None,
            Records::Closed { bytes, .. } => Some(bytes),
        }
    }

    /// The batch is about to be handed to a connection: from here on a broker may write it without
    /// our knowing. Not if its senders have been told already that it was not written.
    pub(super) fn sending(&mut self) -> bool {
        let before = self.part.set_maybe_written(true);
        if self.part.is_settled() {
            self.part.set_maybe_written(before);
            return false;
        }
        self.maybe_before = before;
        true
    }

    /// A broker said that this attempt has written nothing.
    pub(super) fn refused(&mut self) {
        self.part.set_maybe_written(self.maybe_before);
    }

    /// Whether a broker may have written it.
    pub(super) fn maybe_written(&self) -> bool {
        self.part.maybe_written()
    }

    /// Takes its numbers away, since nobody has written it under them.
    pub(super) fn renumber(&mut self) {
        self.sequence = None;
        self.denied = false;
        self.maybe_before = false;
        self.was_doubtful = false;
        self.part.set_maybe_written(false);
    }

    /// Tells its senders what became of it.
    pub(super) fn settle(&self, result: Result<Written>) {
        self.part.set_count(self.count());
        self.part.settle(result);
    }
}

//! A batch on its way: its records, its numbers, and what is known of its attempts.
//!
//! Invariant: its bytes, once closed, are immutable and owned by reference count, so a batch that
//! expired while the socket still holds it cannot turn into another one's bytes (CVE-2026-35554).
//! New numbers are written into a copy if anyone still holds the old bytes.

use std::sync::Arc;

use bytes::Bytes;
use ottla_protocol::records::{BatchBuilder, Compressor, Stamp, rewrite};
use tokio::time::Instant;

use super::idempotence::BatchSequence;
use crate::error::{Error, Result};
use crate::producer::produce_result::{AppendInfo, SplitPart};
use crate::producer::unobserved_failures::UnobservedFailures;
use crate::topic_partition::TopicPartition;

/// The records: still open, or closed and immutable under these numbers.
#[derive(Debug)]
enum Records {
    Open(BatchBuilder),
    Closed { bytes: Bytes, stamp: Stamp, count: usize, uncompressed: usize },
}

/// The order of a partition's batches: the number of the batch as it was opened, and the index of
/// the first record in it.
pub(super) type BatchKey = (u64, usize);

/// A batch.
#[derive(Debug)]
pub(super) struct Batch {
    id: u64,
    records: Records,
    pub(super) part: Arc<SplitPart>,
    /// When its first record came.
    pub(super) created: Instant,
    /// From this size on, in bytes before compression, it is sent without waiting for more records.
    pub(super) sendable_size: usize,
    /// What it takes of `buffer.memory`.
    pub(super) reserved: usize,
    /// At most what its largest_record record takes, as far as that is known.
    pub(super) largest_record: usize,
    /// Attempts that have failed.
    pub(super) failed_attempts: u32,
    /// Not to be sent again before.
    pub(super) not_before: Option<Instant>,
    /// Its numbers, once it has some.
    pub(super) sequence: Option<BatchSequence>,
    /// A broker has said that it does not follow what is in the log: it is not sent again before
    /// its numbers have changed.
    pub(super) out_of_order: bool,
    /// Whether an attempt before the one under way may have been written.
    maybe_written_before: bool,
    /// It is a part of a batch that may have been written before it was split: the limit of sizes may
    /// have been lowered since.
    pub(super) split_in_doubt: bool,
    /// Why the last attempt failed.
    pub(super) last_error: Option<Error>,
}

impl Batch {
    pub(super) fn new(
        id: u64,
        partition: TopicPartition,
        failures: Arc<UnobservedFailures>,
        builder: BatchBuilder,
        now: Instant,
    ) -> Self {
        Self::of(id, Arc::new(SplitPart::new(partition, failures)), builder, now)
    }

    fn of(id: u64, part: Arc<SplitPart>, builder: BatchBuilder, created: Instant) -> Self {
        Self {
            id,
            records: Records::Open(builder),
            part,
            created,
            sendable_size: 0,
            reserved: 0,
            largest_record: 0,
            failed_attempts: 0,
            not_before: None,
            sequence: None,
            out_of_order: false,
            maybe_written_before: false,
            split_in_doubt: false,
            last_error: None,
        }
    }

    /// A part of this batch, made of `builder`, which holds its records from where `part` starts.
    pub(super) fn split_off(&self, part: Arc<SplitPart>, builder: BatchBuilder, reserved: usize) -> Self {
        let skipped = part.first().saturating_sub(self.part.first());
        let sequence = self.sequence.map(|sequence| sequence.skip(skipped));
        let last_error = self.last_error.clone();
        Self {
            reserved,
            sequence,
            last_error,
            largest_record: self.largest_record.min(reserved),
            failed_attempts: self.failed_attempts,
            split_in_doubt: self.sequence.is_some() && (self.split_in_doubt || self.maybe_written()),
            ..Self::of(self.id, part, builder, self.created)
        }
    }

    pub(super) fn key(&self) -> BatchKey {
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
    pub(super) fn uncompressed_size(&self) -> usize {
        match &self.records {
            Records::Open(builder) => builder.size_in_bytes(),
            Records::Closed { uncompressed, .. } => *uncompressed,
        }
    }

    /// Its bytes divided by those before compression.
    pub(super) fn compression_ratio(&self) -> f64 {
        self.size() as f64 / self.uncompressed_size().max(1) as f64
    }

    /// Closes the batch, if it is open, and gives its bytes its present numbers. Returns the buffer that
    /// was compressed, or an empty one.
    pub(super) fn close(&mut self, compressor: &mut Compressor) -> Result<Vec<u8>> {
        let stamp = self.sequence.map_or_else(Stamp::default, BatchSequence::stamp);
        match &mut self.records {
            Records::Open(builder) => {
                let (count, uncompressed) = (builder.len(), builder.size_in_bytes());
                let bytes = builder.finish(&stamp, compressor)?;
                let buffer = builder.take_buffer();
                self.records = Records::Closed { bytes, stamp, count, uncompressed };
                return Ok(buffer);
            }
            Records::Closed { bytes, stamp: old, .. } => {
                if *old != stamp {
                    *bytes = rewrite::restamp(std::mem::take(bytes), &stamp)?;
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
    pub(super) fn begin_attempt(&mut self) -> bool {
        let before = self.part.set_maybe_written(true);
        if self.part.is_complete() {
            self.part.set_maybe_written(before);
            return false;
        }
        self.maybe_written_before = before;
        true
    }

    /// A broker said that this attempt has written nothing.
    pub(super) fn attempt_rejected(&mut self) {
        self.part.set_maybe_written(self.maybe_written_before);
    }

    /// Whether a broker may have written it.
    pub(super) fn maybe_written(&self) -> bool {
        self.part.maybe_written()
    }

    /// Takes its numbers away, since nobody has written it under them.
    pub(super) fn clear_sequence(&mut self) {
        self.sequence = None;
        self.out_of_order = false;
        self.maybe_written_before = false;
        self.split_in_doubt = false;
        self.part.set_maybe_written(false);
    }

    /// Tells its senders what became of it.
    pub(super) fn complete(&self, result: Result<AppendInfo>) {
        self.part.set_count(self.count());
        self.part.complete(result);
    }
}

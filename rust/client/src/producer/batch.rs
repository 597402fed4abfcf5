//! A batch of records: its bytes, its sequence numbers and the state of its attempts.
//!
//! Invariant: the bytes of a closed batch are immutable and reference-counted, so a batch that
//! expires while the socket still writes it cannot become another batch's bytes (CVE-2026-35554). New
//! sequence numbers are written into a copy if anything else still references the old bytes.

use std::sync::Arc;

use bytes::Bytes;
use ottla_protocol::records::{BatchBuilder, Compressor, ProducerState, rewrite};
use tokio::time::Instant;

use super::idempotence::BatchSequence;
use crate::error::{Error, Result};
use crate::producer::produce_result::AppendInfo;
use crate::producer::split_part::SplitPart;
use crate::producer::unobserved_failures::UnobservedFailures;
use crate::topic_partition::TopicPartition;

/// The records: still open, or closed and immutable with these sequence numbers.
#[derive(Debug)]
enum Records {
    Open(BatchBuilder),
    Closed { bytes: Bytes, stamp: ProducerState, count: usize, uncompressed: usize },
}

/// Identifies and orders the batches of a partition: the batch's id, and the index of its first
/// record in the original batch.
pub(super) type BatchKey = (u64, usize);

/// A batch.
#[derive(Debug)]
pub(super) struct Batch {
    id: u64,
    records: Records,
    pub(super) part: Arc<SplitPart>,
    /// When its first record was appended.
    pub(super) created: Instant,
    /// The size, in bytes before compression, from which on it is sent without lingering.
    pub(super) sendable_size: usize,
    /// The bytes of `buffer.memory` that it has reserved.
    pub(super) reserved: usize,
    /// An upper bound of the size of its largest record, as far as known.
    pub(super) largest_record: usize,
    /// The number of failed attempts.
    pub(super) failed_attempts: u32,
    /// It is not sent again before this time.
    pub(super) not_before: Option<Instant>,
    /// Its sequence numbers, once assigned.
    pub(super) sequence: Option<BatchSequence>,
    /// A broker rejected it because it does not follow the log. It is not sent again until earlier
    /// batches are acknowledged or it has new sequence numbers.
    pub(super) out_of_order: bool,
    /// Whether an attempt before the current one may have been written.
    maybe_written_before: bool,
    /// It was split from a batch that may already have been written: the size limit may have been
    /// lowered in between.
    pub(super) split_in_doubt: bool,
    /// The error of the last attempt.
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

    /// Creates a batch for `part` of this batch; `builder` holds its records.
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

    /// The number of records.
    pub(super) fn count(&self) -> usize {
        match &self.records {
            Records::Open(builder) => builder.len(),
            Records::Closed { count, .. } => *count,
        }
    }

    /// The builder, while the batch is open.
    pub(super) fn builder(&mut self) -> Option<&mut BatchBuilder> {
        match &mut self.records {
            Records::Open(builder) => Some(builder),
            Records::Closed { .. } => None,
        }
    }

    /// The bytes, once the batch is closed.
    pub(super) fn closed(&self) -> Option<&Bytes> {
        match &self.records {
            Records::Open(_) => None,
            Records::Closed { bytes, .. } => Some(bytes),
        }
    }

    /// The current size: of the records before compression, or of the closed batch.
    pub(super) fn size(&self) -> usize {
        match &self.records {
            Records::Open(builder) => builder.size_in_bytes(),
            Records::Closed { bytes, .. } => bytes.len(),
        }
    }

    /// The size of the records before compression.
    pub(super) fn uncompressed_size(&self) -> usize {
        match &self.records {
            Records::Open(builder) => builder.size_in_bytes(),
            Records::Closed { uncompressed, .. } => *uncompressed,
        }
    }

    /// The size divided by the size before compression.
    pub(super) fn compression_ratio(&self) -> f64 {
        self.size() as f64 / self.uncompressed_size().max(1) as f64
    }

    /// Closes the batch if it is open, and writes its current sequence numbers. Returns the
    /// compressed buffer for reuse, or an empty one.
    pub(super) fn close(&mut self, compressor: &mut Compressor) -> Result<Vec<u8>> {
        let stamp = self.sequence.map_or_else(ProducerState::default, BatchSequence::stamp);
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
                    *bytes = rewrite::set_producer_state(std::mem::take(bytes), &stamp)?;
                    *old = stamp;
                }
            }
        }
        Ok(Vec::new())
    }

    /// The bytes, for the buffer pool.
    pub(super) fn into_bytes(self) -> Option<Bytes> {
        match self.records {
            Records::Open(_) => None,
            Records::Closed { bytes, .. } => Some(bytes),
        }
    }

    /// Marks the batch as possibly written: a connection is about to send it. Returns false if it has
    /// already completed as not written, and must not be sent.
    pub(super) fn begin_attempt(&mut self) -> bool {
        let before = self.part.set_maybe_written(true);
        if self.part.is_complete() {
            self.part.set_maybe_written(before);
            return false;
        }
        self.maybe_written_before = before;
        true
    }

    /// The broker has rejected this attempt without writing anything.
    pub(super) fn attempt_rejected(&mut self) {
        self.part.set_maybe_written(self.maybe_written_before);
    }

    /// Whether a broker may have written it.
    pub(super) fn maybe_written(&self) -> bool {
        self.part.maybe_written()
    }

    /// Removes its sequence numbers: no broker has written it under them.
    pub(super) fn clear_sequence(&mut self) {
        self.sequence = None;
        self.out_of_order = false;
        self.maybe_written_before = false;
        self.split_in_doubt = false;
        self.part.set_maybe_written(false);
    }

    /// Completes its records.
    pub(super) fn complete(&self, result: Result<AppendInfo>) {
        self.part.set_count(self.count());
        self.part.complete(result);
    }
}

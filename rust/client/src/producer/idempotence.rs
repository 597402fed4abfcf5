//! Sequence numbers of the idempotent producer: the state of one partition (KIP-98, KIP-360). No I/O
//! and no clock.
//!
//! For each producer id and partition, a broker keeps the last sequence number and accepts only the
//! next one. It recognizes a batch that is sent again, and rejects one that overtook another. If a
//! batch fails and leaves a gap, the producer bumps its epoch and starts again at 0.
//!
//! Invariants: a sequence number is reused only if no broker can have written it. The epoch is bumped
//! only while no batch is in flight and no queued batch can be in the log; until then, batches
//! without sequence numbers wait. In transactions, the coordinator assigns the epochs (`transaction/`).

use std::ops::Range;

use ottla_protocol::records::ProducerState;

/// A producer id assigned by the cluster, and its epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProducerIdAndEpoch {
    pub(super) id: i64,
    pub(super) epoch: i16,
}

impl ProducerIdAndEpoch {
    /// The next epoch of the same id; `None` after the last one.
    fn next_epoch(self) -> Option<Self> {
        self.epoch.checked_add(1).map(|epoch| Self { epoch, ..self })
    }
}

/// The sequence numbers of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BatchSequence {
    producer: ProducerIdAndEpoch,
    transactional: bool,
    /// The number of records in this epoch before the batch. The protocol keeps 31 bits of it.
    first: u64,
}

impl BatchSequence {
    /// The fields for the batch header.
    pub(super) fn stamp(self) -> ProducerState {
        ProducerState {
            producer_id: self.producer.id,
            producer_epoch: self.producer.epoch,
            base_sequence: (self.first & 0x7fff_ffff) as i32,
            transactional: self.transactional,
            ..ProducerState::default()
        }
    }

    /// The sequence numbers starting `count` records further on.
    pub(super) fn skip(self, count: usize) -> Self {
        Self { first: self.first + count as u64, ..self }
    }
}

/// The sequence numbers of one partition.
#[derive(Debug, Default)]
pub(super) struct SequenceState {
    producer: Option<ProducerIdAndEpoch>,
    /// Only the coordinator assigns epochs, and a gap is closed by aborting the transaction.
    transactional: bool,
    /// A producer id that a broker rejected, or whose epochs are used up.
    invalidated_id: Option<i64>,
    next_sequence: u64,
    /// A batch was acknowledged and none has failed since. The broker then knows the producer and
    /// rejects batches that overtake, so more than one may be in flight.
    can_pipeline: bool,
    /// The last sequence number of a gap: those up to it may never be written.
    gap_end: Option<u64>,
    /// The sequence numbers that are certainly in the log: from the first to the last acknowledged one. A broker
    /// that knows the producer accepts no gap between them. One that does not know it accepts any sequence
    /// number first, so nothing is certain about those before.
    acknowledged: Range<u64>,
}

/// Whether a batch can get sequence numbers now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SequenceAvailability {
    /// Now.
    Available,
    /// After the batches in flight have completed.
    WaitForInFlight,
    /// After a new producer id has been assigned.
    NeedsProducerId,
}

impl SequenceState {
    /// The partition takes part in a transaction under this id and epoch. No batch may be in flight.
    ///
    /// Batches are pipelined from the first one on: if a broker that does not know the producer accepts a
    /// later one first, it rejects the first, and the transaction aborts.
    pub(super) fn begin_transaction(&mut self, producer: ProducerIdAndEpoch) {
        self.transactional = true;
        if self.producer != Some(producer) {
            let fresh = Self { producer: Some(producer), ..Self::default() };
            *self = Self { transactional: true, can_pipeline: true, ..fresh };
        }
    }

    /// Whether the sequence numbers belong to transactions.
    pub(super) fn is_transactional(&self) -> bool {
        self.transactional
    }

    /// Prepares to assign sequence numbers, with `in_flight` batches of the partition in flight. Call
    /// it only if no queued batch has sequence numbers.
    pub(super) fn prepare(
        &mut self,
        current: Option<ProducerIdAndEpoch>,
        in_flight: usize,
    ) -> SequenceAvailability {
        if in_flight > 0 {
            return if self.can_pipeline() {
                SequenceAvailability::Available
            } else {
                SequenceAvailability::WaitForInFlight
            };
        }
        if self.gap_end.is_some() {
            if self.transactional {
                return SequenceAvailability::WaitForInFlight;
            }
            self.bump_epoch();
        }
        if self.producer.is_none() {
            self.producer = current.filter(|current| self.invalidated_id != Some(current.id));
            self.next_sequence = 0;
        }
        if self.producer.is_some() {
            SequenceAvailability::Available
        } else {
            SequenceAvailability::NeedsProducerId
        }
    }

    /// Whether the partition needs a producer id other than `current`.
    pub(super) fn needs_producer_id(&self, current: Option<ProducerIdAndEpoch>) -> bool {
        self.producer.is_none() && current.is_none_or(|current| self.invalidated_id == Some(current.id))
    }

    /// Whether more than one batch may be in flight.
    pub(super) fn can_pipeline(&self) -> bool {
        self.can_pipeline && self.gap_end.is_none()
    }

    /// Assigns the next `count` sequence numbers, after [`SequenceAvailability::Available`].
    pub(super) fn assign(&mut self, count: usize) -> Option<BatchSequence> {
        let (producer, transactional) = (self.producer?, self.transactional);
        let sequence = BatchSequence { producer, transactional, first: self.next_sequence };
        self.next_sequence += count as u64;
        Some(sequence)
    }

    /// A batch was written, and therefore everything between it and the first that was acknowledged.
    pub(super) fn acknowledge(&mut self, sequence: BatchSequence, count: usize) {
        if self.is_current(sequence) {
            self.can_pipeline = true;
            let (first, end) = (sequence.first, sequence.first + count as u64);
            self.acknowledged = match &self.acknowledged {
                none if none.is_empty() => first..end,
                known => known.start.min(first)..known.end.max(end),
            };
            self.gap_end = self.gap_end.filter(|gap_end| !self.acknowledged.contains(gap_end));
        }
    }

    /// Whether a batch was certainly written, whatever the broker reports, because an earlier and a later one
    /// were. A new leader may know only the last batch of a producer and reject earlier ones as out of order.
    pub(super) fn is_acknowledged(&self, sequence: BatchSequence) -> bool {
        self.is_current(sequence) && self.acknowledged.contains(&sequence.first)
    }

    /// A batch is sent again with its sequence numbers.
    pub(super) fn retry(&mut self) {
        self.can_pipeline = false;
    }

    /// A batch has failed for good. `last`: no later batch has sequence numbers. `maybe`: it may have
    /// been written.
    pub(super) fn abandon(&mut self, sequence: BatchSequence, count: usize, last: bool, maybe: bool) {
        if !self.is_current(sequence) {
            return;
        }
        self.can_pipeline = false;
        let end = sequence.first + count as u64;
        if self.is_acknowledged(sequence) {
            return;
        }
        if last && !maybe && end == self.next_sequence {
            self.next_sequence = sequence.first;
        } else {
            self.gap_end = self.gap_end.max(Some(end.saturating_sub(1)));
        }
    }

    /// The producer id is no longer usable.
    pub(super) fn invalidate_producer_id(&mut self, sequence: BatchSequence) {
        if self.is_current(sequence) {
            self.invalidated_id = Some(sequence.producer.id);
        }
    }

    /// Bumps the epoch: the next sequence number is 0. No batch may be in flight.
    pub(super) fn bump_epoch(&mut self) {
        let old = self.producer.take();
        self.producer =
            old.filter(|old| self.invalidated_id != Some(old.id)).and_then(ProducerIdAndEpoch::next_epoch);
        if self.producer.is_none() {
            self.invalidated_id = old.map(|old| old.id).or(self.invalidated_id);
        }
        (self.next_sequence, self.gap_end, self.acknowledged, self.can_pipeline) = (0, None, 0..0, false);
    }

    fn is_current(&self, sequence: BatchSequence) -> bool {
        self.producer == Some(sequence.producer)
    }
}

#[cfg(test)]
#[allow(clippy::expect_used, reason = "a test may fail")]
mod tests;

//! Idempotence: the numbers of one partition's batches, and what must hold before another gets its
//! own (KIP-98, KIP-360). No I/O and no clock.
//!
//! A broker keeps, for each producer id and partition, the number of the last record, and takes only
//! what follows it. So a batch that was written and is sent again is recognised, and one that
//! overtook another is refused. A producer whose numbers have a gap, since a batch of them failed,
//! raises its epoch and starts over at 0.
//!
//! Invariants: a number is used for other records only when it is certain that nobody wrote it under
//! its first meaning. The epoch is raised only when no batch is on its way and none of those that
//! wait can be in the log; until then, batches without numbers wait.

use ottla_protocol::records::Stamp;

/// Who writes: an id that the cluster has given out, and an epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProducerIdAndEpoch {
    pub(super) id: i64,
    pub(super) epoch: i16,
}

impl ProducerIdAndEpoch {
    /// The same producer anew; `None` if it has had all epochs.
    fn next_epoch(self) -> Option<Self> {
        self.epoch.checked_add(1).map(|epoch| Self { epoch, ..self })
    }
}

/// The numbers of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BatchSequence {
    producer: ProducerIdAndEpoch,
    /// How many records the epoch had before it. The protocol has 31 bits of it.
    first: u64,
}

impl BatchSequence {
    /// What goes into the batch's header.
    pub(super) fn stamp(self) -> Stamp {
        Stamp {
            producer_id: self.producer.id,
            producer_epoch: self.producer.epoch,
            base_sequence: (self.first & 0x7fff_ffff) as i32,
            ..Stamp::default()
        }
    }

    /// The numbers `count` records further on.
    pub(super) fn skip(self, count: usize) -> Self {
        Self { first: self.first + count as u64, ..self }
    }
}

/// The numbers of one partition.
#[derive(Debug, Default)]
pub(super) struct SequenceState {
    producer: Option<ProducerIdAndEpoch>,
    /// The id whose epochs are used up, or which a broker has refused.
    invalidated_id: Option<i64>,
    next_sequence: u64,
    /// A batch was acknowledged and nothing has failed since: the broker knows of this producer, so
    /// that it will refuse what overtakes. Only then may there be more than one batch on its way.
    can_pipeline: bool,
    /// SequenceState up to this one may never arrive.
    gap_end: Option<u64>,
    /// All numbers before this one are in the log: the broker has taken what follows them.
    acknowledged_end: u64,
}

/// Whether a batch may have numbers now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SequenceAvailability {
    /// Yes.
    Available,
    /// When those on their way are back.
    WaitForInFlight,
    /// When there is another producer id.
    NeedsProducerId,
}

impl SequenceState {
    /// Whether a batch may have numbers, with so many others of the partition on their way. None
    /// that has numbers waits in the queue.
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

    /// Whether another producer id than `current` is needed.
    pub(super) fn needs_producer_id(&self, current: Option<ProducerIdAndEpoch>) -> bool {
        self.producer.is_none() && current.is_none_or(|current| self.invalidated_id == Some(current.id))
    }

    /// Whether there may be more than one batch on its way.
    pub(super) fn can_pipeline(&self) -> bool {
        self.can_pipeline && self.gap_end.is_none()
    }

    /// The numbers of the next `count` records, after [`SequenceAvailability::Available`].
    pub(super) fn assign(&mut self, count: usize) -> Option<BatchSequence> {
        let sequence = BatchSequence { producer: self.producer?, first: self.next_sequence };
        self.next_sequence += count as u64;
        Some(sequence)
    }

    /// A batch is in the log, and with it everything before it.
    pub(super) fn acknowledge(&mut self, sequence: BatchSequence, count: usize) {
        if self.is_current(sequence) {
            self.can_pipeline = true;
            self.acknowledged_end = self.acknowledged_end.max(sequence.first + count as u64);
            self.gap_end = self.gap_end.filter(|gap_end| *gap_end >= self.acknowledged_end);
        }
    }

    /// Whether a batch is in the log whatever a broker says of it: one after it is. A leader that took
    /// over may know the last batch of a producer alone, and refuse those before it as out of order.
    pub(super) fn is_acknowledged(&self, sequence: BatchSequence) -> bool {
        self.is_current(sequence) && sequence.first < self.acknowledged_end
    }

    /// A batch goes again under its numbers.
    pub(super) fn retry(&mut self) {
        self.can_pipeline = false;
    }

    /// A batch is given up. `last` says that no batch after it has numbers, `maybe` that it may be
    /// in the log.
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

    /// The producer id is of no more use.
    pub(super) fn invalidate_producer_id(&mut self, sequence: BatchSequence) {
        if self.is_current(sequence) {
            self.invalidated_id = Some(sequence.producer.id);
        }
    }

    /// Raises the epoch: the next number is 0. Nothing may be on its way.
    pub(super) fn bump_epoch(&mut self) {
        let old = self.producer.take();
        self.producer =
            old.filter(|old| self.invalidated_id != Some(old.id)).and_then(ProducerIdAndEpoch::next_epoch);
        if self.producer.is_none() {
            self.invalidated_id = old.map(|old| old.id).or(self.invalidated_id);
        }
        (self.next_sequence, self.gap_end, self.acknowledged_end, self.can_pipeline) = (0, None, 0, false);
    }

    fn is_current(&self, sequence: BatchSequence) -> bool {
        self.producer == Some(sequence.producer)
    }
}

#[cfg(test)]
#[allow(clippy::expect_used, reason = "a test may fail")]
mod tests;

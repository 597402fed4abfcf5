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

use ottla_protocol::records::ProducerState;

/// Who writes: an id that the cluster has given out, and an epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProducerId {
    pub(super) id: i64,
    pub(super) epoch: i16,
}

impl ProducerId {
    /// The same producer anew; `None` if it has had all epochs.
    fn next_epoch(self) -> Option<Self> {
        self.epoch.checked_add(1).map(|epoch| Self { epoch, ..self })
    }
}

/// The numbers of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sequence {
    producer: ProducerId,
    /// How many records the epoch had before it. The protocol has 31 bits of it.
    first: u64,
}

impl Sequence {
    /// What goes into the batch's header.
    pub(super) fn stamp(self) -> ProducerState {
        ProducerState {
            producer_id: self.producer.id,
            producer_epoch: self.producer.epoch,
            base_sequence: (self.first & 0x7fff_ffff) as i32,
            ..ProducerState::default()
        }
    }

    /// The numbers `count` records further on.
    pub(super) fn skip(self, count: usize) -> Self {
        Self { first: self.first + count as u64, ..self }
    }
}

/// The numbers of one partition.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    producer: Option<ProducerId>,
    /// The id whose epochs are used up, or which a broker has refused.
    spent: Option<i64>,
    next: u64,
    /// A batch was acknowledged and nothing has failed since: the broker knows of this producer, so
    /// that it will refuse what overtakes. Only then may there be more than one batch on its way.
    steady: bool,
    /// Numbers up to this one may never arrive.
    lost: Option<u64>,
    /// All numbers before this one are in the log: the broker has taken what follows them.
    proven: u64,
}

/// Whether a batch may have numbers now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum May {
    /// Yes.
    Number,
    /// When those on their way are back.
    Wait,
    /// When there is another producer id.
    Identify,
}

impl Numbers {
    /// Whether a batch may have numbers, with so many others of the partition on their way. None
    /// that has numbers waits in the queue.
    pub(super) fn may_number(&mut self, current: Option<ProducerId>, on_the_way: usize) -> May {
        if on_the_way > 0 {
            return if self.is_steady() { May::Number } else { May::Wait };
        }
        if self.lost.is_some() {
            self.start_over();
        }
        if self.producer.is_none() {
            self.producer = current.filter(|current| self.spent != Some(current.id));
            self.next = 0;
        }
        if self.producer.is_some() { May::Number } else { May::Identify }
    }

    /// Whether another producer id than `current` is needed.
    pub(super) fn needs_id(&self, current: Option<ProducerId>) -> bool {
        self.producer.is_none() && current.is_none_or(|current| self.spent == Some(current.id))
    }

    /// Whether there may be more than one batch on its way.
    pub(super) fn is_steady(&self) -> bool {
        self.steady && self.lost.is_none()
    }

    /// The numbers of the next `count` records, after [`May::Number`].
    pub(super) fn number(&mut self, count: usize) -> Option<Sequence> {
        let sequence = Sequence { producer: self.producer?, first: self.next };
        self.next += count as u64;
        Some(sequence)
    }

    /// A batch is in the log, and with it everything before it.
    pub(super) fn written(&mut self, sequence: Sequence, count: usize) {
        if self.is_current(sequence) {
            self.steady = true;
            self.proven = self.proven.max(sequence.first + count as u64);
            self.lost = self.lost.filter(|lost| *lost >= self.proven);
        }
    }

    /// Whether a batch is in the log whatever a broker says of it: one after it is. A leader that took
    /// over may know the last batch of a producer alone, and refuse those before it as out of order.
    pub(super) fn is_proven(&self, sequence: Sequence) -> bool {
        self.is_current(sequence) && sequence.first < self.proven
    }

    /// A batch goes again under its numbers.
    pub(super) fn failed(&mut self) {
        self.steady = false;
    }

    /// A batch is given up. `last` says that no batch after it has numbers, `maybe` that it may be
    /// in the log.
    pub(super) fn given_up(&mut self, sequence: Sequence, count: usize, last: bool, maybe: bool) {
        if !self.is_current(sequence) {
            return;
        }
        self.steady = false;
        let end = sequence.first + count as u64;
        if self.is_proven(sequence) {
            return;
        }
        if last && !maybe && end == self.next {
            self.next = sequence.first;
        } else {
            self.lost = self.lost.max(Some(end.saturating_sub(1)));
        }
    }

    /// The producer id is of no more use.
    pub(super) fn spend(&mut self, sequence: Sequence) {
        if self.is_current(sequence) {
            self.spent = Some(sequence.producer.id);
        }
    }

    /// Raises the epoch: the next number is 0. Nothing may be on its way.
    pub(super) fn start_over(&mut self) {
        let old = self.producer.take();
        self.producer = old.filter(|old| self.spent != Some(old.id)).and_then(ProducerId::next_epoch);
        if self.producer.is_none() {
            self.spent = old.map(|old| old.id).or(self.spent);
        }
        (self.next, self.lost, self.proven, self.steady) = (0, None, 0, false);
    }

    fn is_current(&self, sequence: Sequence) -> bool {
        self.producer == Some(sequence.producer)
    }
}

#[cfg(test)]
#[allow(clippy::expect_used, reason = "a test may fail")]
mod tests;

//! One record of a share partition, from its first delivery to its end.
//!
//! Invariant: only a record in the state `Acquired` has a member and a lock; a finished record never changes again.

use std::sync::Arc;

use tokio::time::Instant;

/// The state of a record, with Kafka's names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RecordState {
    /// It may be delivered.
    Available,
    /// A member has it until the acquisition lock times out.
    Acquired { member_id: Arc<str>, until: Instant },
    /// It was accepted.
    Acknowledged,
    /// It was rejected, is a gap, or was delivered too often.
    Archived,
}

/// A record in flight.
#[derive(Debug, Clone)]
pub(crate) struct InFlightRecord {
    pub(crate) state: RecordState,
    pub(crate) delivery_count: u16,
    /// The delivery count that the share coordinator knows; `None` if it does not know the record.
    persisted: Option<u16>,
}

impl InFlightRecord {
    /// A record that nobody has got yet.
    pub(super) fn new() -> Self {
        Self { state: RecordState::Available, delivery_count: 0, persisted: None }
    }

    /// An offset without a record to deliver.
    pub(super) fn archived() -> Self {
        Self { state: RecordState::Archived, delivery_count: 0, persisted: None }
    }

    pub(super) fn is_available(&self) -> bool {
        self.state == RecordState::Available
    }

    /// Whether it is never delivered again.
    pub(super) fn is_finished(&self) -> bool {
        matches!(self.state, RecordState::Acknowledged | RecordState::Archived)
    }

    pub(super) fn is_persisted(&self) -> bool {
        self.persisted.is_some()
    }

    pub(super) fn is_acquired_by(&self, member_id: &str) -> bool {
        matches!(&self.state, RecordState::Acquired { member_id: owner, .. } if **owner == *member_id)
    }

    /// When its lock times out.
    pub(super) fn locked_until(&self) -> Option<Instant> {
        match self.state {
            RecordState::Acquired { until, .. } => Some(until),
            _ => None,
        }
    }

    pub(super) fn acquire(&mut self, member_id: &Arc<str>, until: Instant) {
        self.state = RecordState::Acquired { member_id: Arc::clone(member_id), until };
        self.delivery_count += 1;
    }

    /// Extends the lock.
    pub(super) fn renew(&mut self, extended: Instant) {
        if let RecordState::Acquired { until, .. } = &mut self.state {
            *until = extended;
        }
    }

    pub(super) fn finish(&mut self, state: RecordState) {
        self.state = state;
        self.persisted = Some(self.delivery_count);
    }

    /// Makes it available again, or archives it if it was delivered too often.
    pub(super) fn release(&mut self, delivery_count_limit: u16) {
        let is_last = self.delivery_count >= delivery_count_limit;
        self.state = if is_last { RecordState::Archived } else { RecordState::Available };
        self.persisted = Some(self.delivery_count);
    }

    /// Restores what the share coordinator knows: it does not know acquisitions.
    pub(super) fn reload(&mut self) {
        if !self.is_finished() {
            self.state = RecordState::Available;
            self.delivery_count = self.persisted.unwrap_or(0);
        }
    }
}

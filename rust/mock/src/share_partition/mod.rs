//! A share partition (KIP-932): the records of a partition that a share group has in flight, as a state machine
//! without I/O that takes the time as an argument.
//!
//! `record` is one record, `acquire` delivers records to a member, `acknowledge` takes what the member did with them.
//! This file has the offsets, the locks, and what survives a change of leader.
//!
//! Invariant: each offset before the start offset is finished, and none from the end offset on is in flight; the record
//! at the start offset is not finished. A record is acquired by one member at a time.

mod acknowledge;
mod acquire;
mod record;

use std::collections::VecDeque;

use tokio::time::Instant;

pub(crate) use acknowledge::{Acknowledgement, AcknowledgementBatch};
pub(crate) use acquire::{AcquireMode, AcquireRequest, AcquiredRange};
use record::InFlightRecord;

use crate::config::ShareGroupConfig;

/// The state of a partition in a share group.
#[derive(Debug)]
pub(crate) struct SharePartition {
    start_offset: i64,
    /// The records from the start offset on.
    records: VecDeque<InFlightRecord>,
    /// What the share coordinator has stored; `None` before the first write.
    persisted: Option<PersistedStart>,
    /// The leader epoch that loaded the state.
    leader_epoch: i32,
}

/// The start offset that the share coordinator has stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PersistedStart {
    pub(crate) offset: i64,
    pub(crate) leader_epoch: i32,
}

impl SharePartition {
    /// A partition of which no record was delivered; the share coordinator does not know it yet.
    pub(crate) fn new(start_offset: i64, leader_epoch: i32) -> Self {
        Self { start_offset, records: VecDeque::new(), persisted: None, leader_epoch }
    }

    /// A partition whose start offset was set by an administrator.
    pub(crate) fn altered(start_offset: i64, leader_epoch: i32) -> Self {
        let persisted = Some(PersistedStart { offset: start_offset, leader_epoch: 0 });
        Self { persisted, ..Self::new(start_offset, leader_epoch) }
    }

    /// The offset of the first record that is not finished (SPSO).
    #[cfg(test)]
    pub(crate) fn start_offset(&self) -> i64 {
        self.start_offset
    }

    /// The offset after the last record in flight (SPEO).
    pub(crate) fn end_offset(&self) -> i64 {
        self.start_offset.saturating_add(i64::try_from(self.records.len()).unwrap_or(i64::MAX))
    }

    pub(crate) fn persisted(&self) -> Option<PersistedStart> {
        self.persisted
    }

    /// The number of records up to `high_watermark` that are not finished (KIP-1226).
    pub(crate) fn lag(&self, high_watermark: i64) -> i64 {
        let finished = self.records.iter().filter(|record| record.is_finished()).count();
        (high_watermark - self.start_offset - i64::try_from(finished).unwrap_or(i64::MAX)).max(0)
    }

    /// The place of an offset among the records.
    fn index(&self, offset: i64) -> Option<usize> {
        usize::try_from(offset.checked_sub(self.start_offset)?).ok()
    }

    /// The state and the delivery count of a record in flight.
    #[cfg(test)]
    pub(crate) fn record(&self, offset: i64) -> Option<(&record::RecordState, u16)> {
        let record = self.records.get(self.index(offset)?)?;
        Some((&record.state, record.delivery_count))
    }

    /// Handles the locks that have timed out; returns whether there were any.
    pub(crate) fn advance(&mut self, config: &ShareGroupConfig, now: Instant) -> bool {
        self.release_if(config, |record| record.locked_until().is_some_and(|until| until <= now))
    }

    /// Releases all records of a member.
    pub(crate) fn release(&mut self, member_id: &str, config: &ShareGroupConfig) -> bool {
        self.release_if(config, |record| record.is_acquired_by(member_id))
    }

    fn release_if(&mut self, config: &ShareGroupConfig, which: impl Fn(&InFlightRecord) -> bool) -> bool {
        let mut released = false;
        for record in self.records.iter_mut().filter(|record| which(record)) {
            record.release(config.delivery_count_limit);
            released = true;
        }
        if released {
            self.persist();
        }
        released
    }

    /// The next time at which a lock times out.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.records.iter().filter_map(InFlightRecord::locked_until).min()
    }

    /// Stores the changes with the share coordinator, and moves the start offset past finished records.
    ///
    /// As in Kafka, the start offset is stored before it moves: the next write stores the new one.
    fn persist(&mut self) {
        self.persisted = Some(PersistedStart { offset: self.start_offset, leader_epoch: self.leader_epoch });
        self.drop_finished();
    }

    fn drop_finished(&mut self) {
        while self.records.front().is_some_and(InFlightRecord::is_finished) {
            self.records.pop_front();
            self.start_offset += 1;
        }
    }

    /// Follows the log: records before its start are gone, and so are those after its end.
    pub(crate) fn follow_log(&mut self, log_start: i64, log_end: i64) {
        while self.start_offset < log_start && self.records.pop_front().is_some() {
            self.start_offset += 1;
        }
        self.start_offset = self.start_offset.max(log_start);
        while self.end_offset() > log_end && self.records.pop_back().is_some() {}
        self.drop_finished();
    }

    /// Loads the state on the leader of this epoch, if it is a new one. A leader knows what the share coordinator has
    /// stored: no acquisition. Returns false if nothing was stored, so that the start offset must be found again.
    pub(crate) fn load(&mut self, leader_epoch: i32) -> bool {
        if self.leader_epoch == leader_epoch {
            return true;
        }
        self.leader_epoch = leader_epoch;
        while self.records.back().is_some_and(|record| !record.is_persisted()) {
            self.records.pop_back();
        }
        self.records.iter_mut().for_each(InFlightRecord::reload);
        self.persisted.is_some()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail")]
mod tests;

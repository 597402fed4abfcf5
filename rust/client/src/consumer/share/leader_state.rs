//! The share session with one leader, its request in flight, and the acknowledgements for it.
//!
//! Invariants: a share session orders its requests, so a leader has at most one in flight. A session is opened again
//! after the broker has refused it, or if a response is missing, because the broker's epoch is then unknown.
//! Acknowledgements go to the leader from which the records were acquired, and to no other.

use std::collections::{BTreeMap, BTreeSet};

use tokio::time::Instant;

use super::acknowledgements::{Acknowledgement, PartitionAcknowledgements};
use super::acquired_fetch::AcquiredFetch;
use super::offset_ranges::OffsetRanges;
use crate::consumer::group::TopicIdPartition;
use crate::error::Error;
use crate::topic_partition::TopicPartition;

/// The epoch of a request that opens a session, and of one that closes it.
pub(super) const INITIAL_EPOCH: i32 = 0;
pub(super) const FINAL_EPOCH: i32 = -1;

/// Acknowledgements by partition.
pub(super) type Acknowledgements = BTreeMap<TopicIdPartition, PartitionAcknowledgements>;

/// A request in flight.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    pub(super) acknowledgements: Acknowledgements,
    /// The fetched partitions, by id.
    pub(super) fetched: BTreeMap<TopicIdPartition, TopicPartition>,
    pub(super) is_fetch: bool,
    pub(super) epoch: i32,
    pub(super) sent: Option<Instant>,
}

/// The state of one leader.
#[derive(Debug, Default)]
pub(super) struct LeaderState {
    /// The epoch of the next request.
    pub(super) epoch: i32,
    /// The partitions of the session.
    pub(super) session: BTreeSet<TopicIdPartition>,
    /// Acknowledgements that were not sent.
    pub(super) pending: Acknowledgements,
    /// Since when there have been some.
    pub(super) pending_since: Option<Instant>,
    pub(super) in_flight: Option<InFlight>,
    /// Whether a poll has asked for records since the last fetch.
    pub(super) is_wanted: bool,
    pub(super) not_before: Option<Instant>,
    pub(super) failures: u32,
    pub(super) failing_since: Option<Instant>,
    /// The last failure; `None` after a success.
    pub(super) last_error: Option<Error>,
}

impl LeaderState {
    /// Adds acknowledgements of records of `fetch`, to be sent.
    pub(super) fn acknowledge(
        &mut self,
        fetch: &AcquiredFetch,
        acknowledged: impl IntoIterator<Item = (i64, i64, Acknowledgement)>,
        now: Instant,
    ) {
        let pending = self.pending.entry(fetch.id);
        let pending = pending.or_insert_with(|| PartitionAcknowledgements::new(fetch.partition.clone()));
        for (first, last, acknowledgement) in acknowledged {
            pending.offsets.insert(first, last, acknowledgement);
            self.pending_since.get_or_insert(now);
        }
        if pending.offsets.is_empty() {
            self.pending.remove(&fetch.id);
        }
    }

    /// Takes the acknowledgements to send.
    pub(super) fn take_pending(&mut self) -> Acknowledgements {
        self.pending_since = None;
        std::mem::take(&mut self.pending)
    }

    /// Takes the acknowledgements of these offsets, if they were not sent.
    pub(super) fn withdraw(
        &mut self,
        id: TopicIdPartition,
        offsets: &OffsetRanges<i16>,
    ) -> Option<PartitionAcknowledgements> {
        let pending = self.pending.get_mut(&id)?;
        let mut withdrawn = PartitionAcknowledgements::new(pending.partition.clone());
        for (first, last, _) in offsets.iter() {
            for (first, last, acknowledgement) in pending.offsets.between(first, last) {
                withdrawn.offsets.insert(first, last, acknowledgement);
            }
            pending.offsets.remove(first, last);
        }
        if pending.offsets.is_empty() {
            self.pending.remove(&id);
        }
        if self.pending.is_empty() {
            self.pending_since = None;
        }
        Some(withdrawn)
    }

    /// Keeps acknowledgements whose request was refused, or got no response, for the next request.
    pub(super) fn put_back(&mut self, acknowledgements: Acknowledgements, now: Instant) {
        for (id, earlier) in acknowledgements {
            self.pending_since.get_or_insert(now);
            match self.pending.get_mut(&id) {
                Some(pending) => pending.put_back(&earlier),
                None => drop(self.pending.insert(id, earlier)),
            }
        }
    }

    /// Whether acknowledgements of the application, or of the consumer itself, have no result yet.
    pub(super) fn has_unresolved(&self) -> bool {
        let in_flight = self.in_flight.as_ref().is_some_and(|request| !request.acknowledgements.is_empty());
        in_flight || !self.pending.is_empty()
    }

    /// Resets the session; the next request opens a new one.
    pub(super) fn reset_session(&mut self) {
        self.epoch = INITIAL_EPOCH;
        self.session.clear();
    }

    /// Moves to the epoch of the next request. After the largest epoch Kafka continues with 1.
    pub(super) fn advance_epoch(&mut self) {
        self.epoch = self.epoch.checked_add(1).unwrap_or(1);
    }
}

//! The share session with one leader, its request in flight, and the acknowledgements for it.
//!
//! Invariants: a share session orders its requests, so a leader has at most one in flight. A session is opened again
//! after the broker has refused it, or if a response is missing, because the broker's epoch is then unknown.
//! Acknowledgements go to the leader from which the records were acquired, and to no other. Those of a request that got no
//! response are sent again without others of their partition: a broker takes all of a partition or none, and may have taken
//! them already.

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
    /// Acknowledgements of requests that were refused as a whole, or got no response.
    returned: Acknowledgements,
    /// Since when there have been some of either.
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
        let mut returned = self.returned.get_mut(&fetch.id);
        for (first, last, acknowledgement) in acknowledged {
            pending.offsets.insert(first, last, acknowledgement);
            // A later one replaces it.
            if let Some(returned) = &mut returned {
                returned.offsets.remove(first, last);
            }
            self.pending_since.get_or_insert(now);
        }
        if pending.offsets.is_empty() {
            self.pending.remove(&fetch.id);
        }
    }

    /// Whether acknowledgements wait to be sent.
    pub(super) fn has_pending(&self) -> bool {
        !self.pending.is_empty() || !self.returned.is_empty()
    }

    /// Whether acknowledgements of a partition have to wait for those of an earlier request.
    pub(super) fn needs_two_requests(&self) -> bool {
        self.returned.keys().any(|id| self.pending.contains_key(id))
    }

    /// The acknowledgements that wait to be sent, by partition.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (&TopicIdPartition, &PartitionAcknowledgements)> {
        self.returned.iter().chain(&self.pending)
    }

    /// Takes the acknowledgements of the next request.
    pub(super) fn take_pending(&mut self) -> Acknowledgements {
        let mut next = std::mem::take(&mut self.returned);
        let (waiting, ready): (Acknowledgements, Acknowledgements) =
            std::mem::take(&mut self.pending).into_iter().partition(|(id, _)| next.contains_key(id));
        next.extend(ready);
        self.pending = waiting;
        self.pending_since = self.pending_since.filter(|_| !self.pending.is_empty());
        next
    }

    /// Takes the acknowledgements of these offsets, if they were not sent, or are to be sent again.
    pub(super) fn withdraw(
        &mut self,
        id: TopicIdPartition,
        offsets: &OffsetRanges<i16>,
    ) -> Option<PartitionAcknowledgements> {
        let mut withdrawn: Option<PartitionAcknowledgements> = None;
        for waiting in [&mut self.returned, &mut self.pending] {
            let Some(acknowledgements) = waiting.get_mut(&id) else { continue };
            let partition = acknowledgements.partition.clone();
            let withdrawn = withdrawn.get_or_insert_with(|| PartitionAcknowledgements::new(partition));
            for (first, last, _) in offsets.iter() {
                for (first, last, acknowledgement) in acknowledgements.offsets.between(first, last) {
                    withdrawn.offsets.insert(first, last, acknowledgement);
                }
                acknowledgements.offsets.remove(first, last);
            }
            if acknowledgements.offsets.is_empty() {
                waiting.remove(&id);
            }
        }
        if !self.has_pending() {
            self.pending_since = None;
        }
        withdrawn
    }

    /// Keeps acknowledgements whose request was refused, or got no response, for the next request.
    pub(super) fn put_back(&mut self, acknowledgements: Acknowledgements, now: Instant) {
        for (id, mut earlier) in acknowledgements {
            self.pending_since.get_or_insert(now);
            if let Some(later) = self.pending.get(&id) {
                later.offsets.iter().for_each(|(first, last, _)| earlier.offsets.remove(first, last));
            }
            if !earlier.offsets.is_empty() {
                self.returned.insert(id, earlier);
            }
        }
    }

    /// Whether acknowledgements of the application, or of the consumer itself, have no result yet.
    pub(super) fn has_unresolved(&self) -> bool {
        let in_flight = self.in_flight.as_ref().is_some_and(|request| !request.acknowledgements.is_empty());
        in_flight || self.has_pending()
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

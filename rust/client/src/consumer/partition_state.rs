//! The state of one assigned partition: its position, what it waits for, and its buffered fetches.
//!
//! Invariant: buffered fetches are in log order; the first continues where the collected records end, and
//! the next fetch continues where the last one ends.

use std::collections::VecDeque;

use ottla_protocol::wire::Uuid;
use tokio::time::Instant;

use crate::consumer::completed_fetch::CompletedFetch;
use crate::error::Error;
use crate::requests::OffsetSpec;

/// A position in a partition's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FetchPosition {
    /// The offset of the next record.
    pub(super) offset: i64,
    /// The leader epoch of the record before it; -1 if unknown.
    pub(super) epoch: i32,
}

impl FetchPosition {
    pub(super) const UNKNOWN: Self = Self { offset: -1, epoch: -1 };
}

/// The next step for a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FetchState {
    /// Look up the committed offset of the group.
    AwaitCommitted,
    /// Set the position by `auto.offset.reset`.
    AwaitReset,
    /// Look up this offset.
    AwaitOffset(OffsetSpec),
    /// Ask the leader whether the log was truncated below the position (KIP-320).
    AwaitValidation,
    /// Fetch records.
    Fetching,
    /// The next offset is not in the log: deliver the records that were fetched before, then reset.
    OutOfRange,
    /// Wait until the application seeks.
    AwaitSeek,
}

/// An assigned partition.
#[derive(Debug)]
pub(super) struct PartitionState {
    /// The version at its assignment; later changes of the partition leave it unchanged.
    pub(super) assigned_version: u64,
    pub(super) version: u64,
    pub(super) fetch_state: FetchState,
    /// The offset after the delivered records.
    pub(super) position: FetchPosition,
    /// The id of the topic that the position belongs to, once a request has named it; zero if it has none.
    pub(super) topic_id: Uuid,
    /// The offset after the collected records: those taken for delivery.
    pub(super) collected: i64,
    /// Ranges that hold nothing for the application, after records that were collected but not delivered:
    /// start and end.
    empty_ranges: VecDeque<(i64, FetchPosition)>,
    /// The last position that was committed automatically; -1 for none.
    pub(super) auto_committed: i64,
    /// The last position that was not committed because the topic is gone; -1 for none.
    pub(super) dropped: i64,
    /// The position of the next fetch: after the buffered records.
    pub(super) next_fetch: FetchPosition,
    buffered: VecDeque<CompletedFetch>,
    buffered_bytes: usize,
    /// Whether a fetch or a lookup is in flight.
    pub(super) in_flight: bool,
    pub(super) paused: bool,
    /// When the backoff ends.
    pub(super) retry_at: Option<Instant>,
    /// An error for the application.
    pub(super) error: Option<Error>,
    /// Consecutive fetches with corrupt records.
    pub(super) corrupt_fetches: u32,
    /// Consecutive failures.
    pub(super) failures: u32,
    /// When the first of them happened.
    pub(super) failing_since: Option<Instant>,
    /// The bounds of the log as of the last fetch.
    pub(super) watermarks: Watermarks,
    /// The leader epoch under which the position was validated; -1 for none.
    pub(super) validated_epoch: i32,
    /// The preferred read replica and when to return to the leader (KIP-392).
    pub(super) preferred_replica: Option<(i32, Instant)>,
    pub(super) fetch_order: u64,
}

/// The bounds of a partition's log, as a leader has last reported them. Each is -1 if unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watermarks {
    /// The first offset of the log.
    pub log_start_offset: i64,
    /// No transaction before it is open.
    pub last_stable_offset: i64,
    /// Everything before it is replicated.
    pub high_watermark: i64,
}

impl Watermarks {
    pub(super) const UNKNOWN: Self =
        Self { log_start_offset: -1, last_stable_offset: -1, high_watermark: -1 };

    /// The end of the log for a consumer.
    fn end(&self, read_committed: bool) -> i64 {
        if read_committed { self.last_stable_offset } else { self.high_watermark }
    }
}

impl PartitionState {
    pub(super) fn new(version: u64, state: FetchState) -> Self {
        Self {
            assigned_version: version,
            version,
            fetch_state: state,
            position: FetchPosition::UNKNOWN,
            topic_id: Uuid::ZERO,
            collected: -1,
            empty_ranges: VecDeque::new(),
            auto_committed: -1,
            dropped: -1,
            next_fetch: FetchPosition::UNKNOWN,
            buffered: VecDeque::new(),
            buffered_bytes: 0,
            in_flight: false,
            paused: false,
            retry_at: None,
            error: None,
            corrupt_fetches: 0,
            failures: 0,
            failing_since: None,
            watermarks: Watermarks::UNKNOWN,
            validated_epoch: -1,
            preferred_replica: None,
            fetch_order: 0,
        }
    }

    /// Starts over at a new position. Pausing belongs to the application and stays.
    pub(super) fn reset(&mut self, version: u64, state: FetchState, at: FetchPosition) {
        self.version = version;
        self.fetch_state = state;
        self.in_flight = false;
        self.retry_at = None;
        self.error = None;
        self.corrupt_fetches = 0;
        self.clear_failures();
        self.set_position(at);
    }

    /// Resets the failure count. Returns whether there were failures.
    pub(super) fn clear_failures(&mut self) -> bool {
        self.failures = 0;
        self.failing_since.take().is_some()
    }

    /// Sets the position; nothing may be buffered.
    pub(super) fn set_position(&mut self, at: FetchPosition) {
        self.position = at;
        self.collected = at.offset;
        self.empty_ranges.clear();
        self.next_fetch = at;
        self.validated_epoch = -1;
        self.topic_id = Uuid::ZERO;
        self.dropped = -1;
    }

    /// Moves the position past delivered records and the empty ranges after them.
    pub(super) fn mark_delivered(&mut self, to: FetchPosition) {
        self.position = to;
        while let Some((_, end)) = self.empty_ranges.front().filter(|(from, _)| *from <= self.position.offset)
        {
            self.position = *end;
            self.empty_ranges.pop_front();
        }
    }

    /// Records that the offsets between hold nothing for the application.
    pub(super) fn mark_empty(&mut self, from: i64, to: FetchPosition) {
        if self.position.offset >= from {
            self.position = to;
        } else {
            self.empty_ranges.push_back((from, to));
        }
    }

    /// Whether no leader has reported the bounds of the log, although none has failed to.
    pub(super) fn lacks_watermarks(&self) -> bool {
        self.watermarks == Watermarks::UNKNOWN && self.failures == 0
    }

    /// Whether it will be fetched once its position is known.
    pub(super) fn awaits_position(&self) -> bool {
        use FetchState::{AwaitCommitted, AwaitOffset, AwaitReset, AwaitValidation};
        !self.paused
            && matches!(self.fetch_state, AwaitCommitted | AwaitReset | AwaitOffset(_) | AwaitValidation)
    }

    pub(super) fn can_request(&self, now: Instant) -> bool {
        !self.in_flight && self.retry_at.is_none_or(|retry_at| retry_at <= now)
    }

    /// Whether records should be fetched now, or after the backoff, or once the buffer has room.
    pub(super) fn is_fetchable(&self) -> bool {
        self.is_fetching() && !self.in_flight
    }

    /// Whether at least `max_bytes` of records are buffered.
    pub(super) fn is_full(&self, max_bytes: usize) -> bool {
        self.buffered_bytes >= max_bytes && !self.buffered.is_empty()
    }

    /// Whether the log holds, or may hold, records after the fetched ones.
    pub(super) fn may_have_more(&self, read_committed: bool) -> bool {
        let end = self.watermarks.end(read_committed);
        end < 0 || self.next_fetch.offset < end
    }

    /// The number of records between the position and the end of the log as of the last fetch; `None` if unknown.
    pub(super) fn lag(&self, read_committed: bool) -> Option<i64> {
        let end = self.watermarks.end(read_committed);
        let known = end >= 0 && self.position.offset >= 0;
        known.then(|| (end - self.position.offset).max(0))
    }

    /// Whether all fetched records were delivered.
    pub(super) fn is_fully_delivered(&self) -> bool {
        self.buffered.is_empty() && self.collected == self.position.offset
    }

    /// Whether it fetches and delivers records, with no error that the application has to see.
    pub(super) fn is_fetching(&self) -> bool {
        self.fetch_state == FetchState::Fetching && !self.paused && self.error.is_none()
    }

    /// Whether buffered records may be delivered.
    pub(super) fn is_deliverable(&self) -> bool {
        !self.paused
            && matches!(
                self.fetch_state,
                FetchState::Fetching | FetchState::AwaitValidation | FetchState::OutOfRange
            )
    }

    /// The preferred read replica, while it is valid.
    pub(super) fn preferred_replica(&self, now: Instant) -> Option<i32> {
        self.preferred_replica.filter(|(_, until)| *until > now).map(|(id, _)| id)
    }

    /// Buffers a fetch. A paused partition may hold it for long and copies it out of the shared response.
    pub(super) fn push(&mut self, mut fetch: CompletedFetch) {
        if self.paused {
            fetch.detach_from_response();
        }
        self.buffered_bytes += fetch.records.len();
        self.next_fetch = FetchPosition { offset: fetch.end, epoch: fetch.epoch };
        self.buffered.push_back(fetch);
    }

    pub(super) fn pop(&mut self) -> Option<CompletedFetch> {
        let fetch = self.buffered.pop_front()?;
        self.buffered_bytes -= fetch.records.len();
        self.collected = fetch.end;
        Some(fetch)
    }

    pub(super) fn put_back(&mut self, fetch: CompletedFetch) {
        self.buffered_bytes += fetch.records.len();
        self.collected = fetch.start;
        self.buffered.push_front(fetch);
    }

    /// Pauses or resumes delivery and fetching.
    pub(super) fn set_paused(&mut self, paused: bool) {
        self.paused = paused;
        if paused {
            self.buffered.iter_mut().for_each(CompletedFetch::detach_from_response);
        }
    }

    /// Whether the partition is paused and its buffered records can be dropped without losing collected
    /// ones.
    pub(super) fn has_paused_data(&self) -> bool {
        self.paused && !self.buffered.is_empty() && self.collected == self.position.offset
    }

    /// Returns to the position after the buffer was dropped. The version stays; a response in flight has
    /// another offset and is ignored.
    pub(super) fn rewind(&mut self) {
        self.next_fetch = self.position;
        if self.fetch_state == FetchState::OutOfRange {
            self.fetch_state = FetchState::Fetching;
        }
    }

    /// Drops the buffered records and returns their size in bytes.
    pub(super) fn drop_buffered(&mut self) -> usize {
        self.buffered.clear();
        std::mem::take(&mut self.buffered_bytes)
    }
}

#[cfg(test)]
mod tests;

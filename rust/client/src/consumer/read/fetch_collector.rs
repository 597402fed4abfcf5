//! Collects completed fetches for delivery, and tracks which records were delivered.
//!
//! Invariant: positions move only here, as records are delivered. Collected records that are invalidated
//! before their delivery are fetched again, so none are lost.

use std::sync::atomic::Ordering;

use super::partition_filter::PartitionFilter;
use super::read_limit::ReadLimit;
use super::record_decoder::{Remainder, decode};
use super::record_set::RecordSet;
use crate::consumer::Consumer;
use crate::consumer::completed_fetch::CompletedFetch;
use crate::consumer::partition_state::FetchPosition;
use crate::error::Error;
use crate::topic_partition::TopicPartition;

impl Consumer {
    /// The version of the assignment. It grows when collected records that were not delivered become
    /// invalid.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.shared.versions.load(Ordering::Acquire)
    }

    /// Takes buffered fetches of at most `max_bytes` as they were sent, compressed, but at least one if there is
    /// one. Positions stay until [`Consumer::mark_delivered`].
    #[must_use]
    pub fn take_fetches(&self, max_bytes: usize) -> Vec<CompletedFetch> {
        let mut fetches = Vec::new();
        let mut sum = 0;
        let mut subscriptions = self.shared.subscriptions.lock();
        while sum < max_bytes
            && let Some(fetch) = subscriptions.take_fetch(&PartitionFilter::default())
        {
            sum += fetch.records.len();
            fetches.push(fetch);
        }
        drop(subscriptions);
        if !fetches.is_empty() {
            self.shared.fetcher_wakeup.notify_one();
        }
        fetches
    }

    /// Takes the oldest buffered fetch. Tell the fetcher once it has room for another
    /// ([`Consumer::fetch_was_decoded`]), or put the rest back.
    #[cfg(feature = "arrow")]
    pub(super) fn take_fetch(&self) -> Option<CompletedFetch> {
        self.shared.subscriptions.lock().take_fetch(&PartitionFilter::default())
    }

    /// Puts back the rest of the fetch that was just taken, as the oldest one.
    #[cfg(feature = "arrow")]
    pub(super) fn put_back(&self, fetch: CompletedFetch) {
        self.shared.subscriptions.lock().put_back(fetch);
    }

    /// Says that there is room for more: a fetch was decoded to its end.
    #[cfg(feature = "arrow")]
    pub(super) fn fetch_was_decoded(&self) {
        self.shared.fetcher_wakeup.notify_one();
    }

    /// Takes and decodes at most `max_records` records, and no more once they take 16 MiB decompressed. Positions
    /// stay until [`Consumer::mark_delivered`].
    #[must_use]
    pub fn take_records(&self, max_records: usize) -> Vec<RecordSet> {
        self.take_records_of(max_records, &PartitionFilter::default())
    }

    /// The same for some partitions.
    pub(super) fn take_records_of(&self, max_records: usize, of: &PartitionFilter) -> Vec<RecordSet> {
        let mut sets: Vec<RecordSet> = Vec::new();
        let (mut limit, mut has_room) = (ReadLimit::new(max_records), false);
        let mut decompressor = self.decompressor.lock();
        while !limit.is_reached() {
            let Some(fetch) = self.shared.subscriptions.lock().take_fetch(of) else { break };
            let (partition, version, from) = (fetch.partition.clone(), fetch.version(), fetch.start);
            let first_set = sets.len();
            let (rest, position) = decode(fetch, &mut limit, &mut decompressor, &mut sets);
            let decoded = sets.len() - first_set;
            let mut subscriptions = self.shared.subscriptions.lock();
            if decoded == 0
                && let Some(state) = subscriptions.current(&partition, version)
            {
                state.mark_empty(from, position);
            }
            match rest {
                Remainder::None => has_room = true,
                Remainder::Fetch(fetch) => subscriptions.put_back(fetch),
                Remainder::Malformed(fetch, error) => {
                    subscriptions.put_back(fetch);
                    subscriptions.fail(&partition, error);
                    break;
                }
            }
        }
        decompressor.trim();
        drop(decompressor);
        // Only now is there room for more.
        if has_room {
            self.shared.fetcher_wakeup.notify_one();
        }
        sets
    }

    /// Moves a partition's position to `next`: all records before it were delivered.
    pub fn mark_delivered(&self, partition: &TopicPartition, version: u64, next: i64, leader_epoch: i32) {
        let to = FetchPosition { offset: next, epoch: leader_epoch };
        self.shared.subscriptions.lock().mark_delivered(partition, version, to);
    }

    /// Moves a partition's position forward to an offset within its collected records, which stay collected; returns
    /// whether it could.
    pub(super) fn skip_to(&self, partition: &TopicPartition, version: u64, offset: i64) -> bool {
        let mut subscriptions = self.shared.subscriptions.lock();
        let Some(state) = subscriptions.current(partition, version) else { return false };
        let is_within = (state.position.offset..state.collected).contains(&offset);
        if !is_within || !state.is_fetching() {
            return false;
        }
        state.mark_delivered(FetchPosition { offset, epoch: -1 });
        true
    }

    /// Records that a collected fetch holds nothing for the application from `from` up to `next`.
    pub fn mark_empty(
        &self,
        partition: &TopicPartition,
        version: u64,
        from: i64,
        next: i64,
        leader_epoch: i32,
    ) {
        if let Some(state) = self.shared.subscriptions.lock().current(partition, version) {
            state.mark_empty(from, FetchPosition { offset: next, epoch: leader_epoch });
        }
    }

    /// Discards the undelivered records of a partition, which are fetched again; the next poll returns the
    /// error.
    pub fn fail_partition(&self, partition: &TopicPartition, version: u64, error: Error) {
        let mut subscriptions = self.shared.subscriptions.lock();
        if subscriptions.current(partition, version).is_some() {
            subscriptions.discard_undelivered(partition);
            subscriptions.fail(partition, error);
        }
    }

    /// Discards the undelivered records of all partitions; they are fetched again.
    pub fn discard_undelivered(&self) {
        let mut subscriptions = self.shared.subscriptions.lock();
        let undelivered: Vec<_> = subscriptions.undelivered().cloned().collect();
        for partition in undelivered {
            subscriptions.discard_undelivered(&partition);
        }
        self.shared.fetcher_wakeup.notify_one();
    }
}

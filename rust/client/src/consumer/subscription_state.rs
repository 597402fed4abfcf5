//! The assigned partitions of a consumer and its position in each. No I/O; callers pass the time.
//!
//! Invariants: the position moves only past delivered records and past offsets that hold nothing for the
//! application. Each fetch continues exactly where the last one ended. A seek, a pause or an assignment
//! change gives the partition a new version; responses carry the version of their request and are ignored
//! if it is outdated.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use tokio::time::Instant;

use crate::consumer::completed_fetch::CompletedFetch;
use crate::consumer::partition_state::{FetchPosition, FetchState, PartitionState};
use crate::consumer::read::partition_filter::PartitionFilter;
use crate::error::{Error, Kind, Result};
use crate::topic_partition::TopicPartition;

/// The assigned partitions.
#[derive(Debug, Default)]
pub(super) struct SubscriptionState {
    /// Looked up for each record of an iteration, and so by a fast hash, seeded at random.
    partitions: HashMap<TopicPartition, PartitionState>,
    /// The partition of each buffered fetch, in order of arrival.
    delivery_queue: VecDeque<TopicPartition>,
    /// Partitions with an error for the application.
    failed: VecDeque<TopicPartition>,
    /// The total size of buffered records.
    buffered_bytes: usize,
    /// The latest version; read without the lock, once per record.
    versions: Arc<AtomicU64>,
    fetches_sent: u64,
}

impl SubscriptionState {
    /// The partitions, in no particular order.
    pub(super) fn partitions(&self) -> impl Iterator<Item = &TopicPartition> {
        self.partitions.keys()
    }

    pub(super) fn states(&mut self) -> impl Iterator<Item = (&TopicPartition, &mut PartitionState)> {
        self.partitions.iter_mut()
    }

    pub(super) fn state(&mut self, partition: &TopicPartition) -> Option<&mut PartitionState> {
        self.partitions.get_mut(partition)
    }

    /// The state of a partition, unless its version has changed.
    pub(super) fn current(
        &mut self,
        partition: &TopicPartition,
        version: u64,
    ) -> Option<&mut PartitionState> {
        self.partitions.get_mut(partition).filter(|state| state.version == version)
    }

    /// The state of a partition that the application names.
    pub(super) fn assigned_state(&mut self, partition: &TopicPartition) -> Result<&mut PartitionState> {
        match self.partitions.get_mut(partition) {
            Some(state) => Ok(state),
            None => Err(Error::new(Kind::State, "this partition is not assigned to this consumer")
                .at(&partition.0, partition.1)),
        }
    }

    /// The latest version. A change invalidates collected records that were not delivered.
    pub(super) fn versions(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.versions)
    }

    fn next_version(&mut self) -> u64 {
        self.versions.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Adds partitions in the given state; partitions that are already assigned stay unchanged.
    pub(super) fn add(&mut self, partitions: impl IntoIterator<Item = TopicPartition>, state: FetchState) {
        for partition in partitions {
            let version = self.next_version();
            if let Entry::Vacant(vacant) = self.partitions.entry(partition) {
                vacant.insert(PartitionState::new(version, state));
            }
        }
    }

    /// Partitions with collected records that were not delivered.
    pub(super) fn undelivered(&self) -> impl Iterator<Item = &TopicPartition> {
        let undelivered =
            self.partitions.iter().filter(|(_, state)| state.collected != state.position.offset);
        undelivered.map(|(partition, _)| partition)
    }

    /// Removes partitions and their buffered records.
    pub(super) fn remove(&mut self, partitions: &[TopicPartition]) {
        for partition in partitions {
            if let Some(mut state) = self.partitions.remove(partition) {
                self.buffered_bytes -= state.drop_buffered();
            }
        }
        // In one pass: there may be a hundred thousand partitions.
        self.delivery_queue.retain(|queued| self.partitions.contains_key(queued));
        self.failed.retain(|failed| self.partitions.contains_key(failed));
        self.next_version();
    }

    /// Makes `partitions` the whole assignment.
    pub(super) fn replace(&mut self, partitions: Vec<TopicPartition>, state: FetchState) {
        let wanted: HashSet<&TopicPartition> = partitions.iter().collect();
        let removed: Vec<_> =
            self.partitions.keys().filter(|known| !wanted.contains(known)).cloned().collect();
        self.remove(&removed);
        self.add(partitions, state);
    }

    /// Continues at `at` and discards everything buffered or in flight.
    pub(super) fn seek(
        &mut self,
        partition: &TopicPartition,
        to: FetchState,
        at: FetchPosition,
    ) -> Result<()> {
        self.assigned_state(partition)?;
        self.drop_buffered(partition);
        self.failed.retain(|failed| failed != partition);
        let version = self.next_version();
        let state = self.assigned_state(partition)?;
        state.reset(version, to, at);
        Ok(())
    }

    /// Like [`SubscriptionState::seek`], within the same topic.
    pub(super) fn reposition(&mut self, partition: &TopicPartition, to: FetchState, at: FetchPosition) {
        let Some(topic_id) = self.partitions.get(partition).map(|state| state.topic_id) else { return };
        if self.seek(partition, to, at).is_ok()
            && let Some(state) = self.partitions.get_mut(partition)
        {
            state.topic_id = topic_id;
        }
    }

    /// Discards collected and buffered records that were not delivered; they are fetched again.
    pub(super) fn discard_undelivered(&mut self, partition: &TopicPartition) {
        let Some(state) = self.partitions.get(partition) else { return };
        let fetch_state = match state.fetch_state {
            // The records before the missing offset are gone from the buffer: fetch from the position
            // again.
            FetchState::OutOfRange => FetchState::Fetching,
            fetch_state @ (FetchState::Fetching | FetchState::AwaitValidation) => fetch_state,
            _ => return,
        };
        self.reposition(partition, fetch_state, state.position);
    }

    /// Pauses or resumes delivery and fetching.
    pub(super) fn pause(&mut self, partition: &TopicPartition, paused: bool) -> Result<()> {
        let state = self.assigned_state(partition)?;
        let has_undelivered = state.collected != state.position.offset;
        state.set_paused(paused);
        if has_undelivered && paused {
            self.discard_undelivered(partition);
        }
        Ok(())
    }

    fn drop_buffered(&mut self, partition: &TopicPartition) {
        if let Some(state) = self.partitions.get_mut(partition) {
            let bytes = state.drop_buffered();
            self.buffered_bytes -= bytes;
            self.delivery_queue.retain(|queued| queued != partition);
        }
    }

    /// Frees memory: drops the buffered records of paused partitions, which are fetched again on resume.
    /// Collected records of other partitions stay valid.
    pub(super) fn drop_paused_data(&mut self) {
        let mut dropped = HashSet::new();
        for (partition, state) in self.partitions.iter_mut().filter(|(_, state)| state.has_paused_data()) {
            self.buffered_bytes -= state.drop_buffered();
            state.rewind();
            dropped.insert(partition);
        }
        self.delivery_queue.retain(|queued| !dropped.contains(queued));
    }

    /// Whether a buffered fetch of these partitions can be delivered.
    pub(super) fn has_deliverable(&self, of: &PartitionFilter) -> bool {
        self.delivery_queue.iter().any(|partition| self.is_deliverable(partition, of))
    }

    fn is_deliverable(&self, partition: &TopicPartition, of: &PartitionFilter) -> bool {
        of.selects(partition) && self.partitions.get(partition).is_some_and(PartitionState::is_deliverable)
    }

    /// The total size of buffered records.
    pub(super) fn buffered_bytes(&self) -> usize {
        self.buffered_bytes
    }

    /// Buffers a fetch that continues where the last one ended.
    pub(super) fn push(&mut self, fetch: CompletedFetch) {
        if let Some(state) = self.partitions.get_mut(&fetch.partition) {
            self.buffered_bytes += fetch.records.len();
            self.delivery_queue.push_back(fetch.partition.clone());
            state.push(fetch);
        }
    }

    /// Takes the oldest fetch of these partitions that can be delivered. The position stays until
    /// [`SubscriptionState::mark_delivered`].
    pub(super) fn take_fetch(&mut self, of: &PartitionFilter) -> Option<CompletedFetch> {
        let at = self.delivery_queue.iter().position(|partition| self.is_deliverable(partition, of))?;
        let partition = self.delivery_queue.remove(at)?;
        let fetch = self.partitions.get_mut(&partition)?.pop()?;
        self.buffered_bytes -= fetch.records.len();
        Some(fetch)
    }

    /// Puts back the rest of a fetch that was just taken.
    pub(super) fn put_back(&mut self, fetch: CompletedFetch) {
        if let Some(state) = self.partitions.get_mut(&fetch.partition)
            && state.version == fetch.version
        {
            self.buffered_bytes += fetch.records.len();
            self.delivery_queue.push_front(fetch.partition.clone());
            state.put_back(fetch);
        }
    }

    /// Moves the position: all records before `to` were delivered.
    pub(super) fn mark_delivered(&mut self, partition: &TopicPartition, version: u64, to: FetchPosition) {
        if let Some(state) = self.current(partition, version) {
            state.mark_delivered(to);
        }
    }

    /// Keeps an error for the application.
    pub(super) fn fail(&mut self, partition: &TopicPartition, error: Error) {
        if let Some(state) = self.partitions.get_mut(partition) {
            if state.error.is_none() {
                self.failed.push_back(partition.clone());
            }
            state.error = Some(error.at(&partition.0, partition.1));
        }
    }

    /// The oldest error for the application. An error that only a seek can fix stays.
    pub(super) fn take_error(&mut self) -> Option<Error> {
        let partition = self.failed.pop_front()?;
        let state = self.partitions.get_mut(&partition)?;
        if state.fetch_state == FetchState::AwaitSeek {
            self.failed.push_back(partition);
            return state.error.clone();
        }
        state.error.take()
    }

    /// Moves a partition behind the others in the order of fetching.
    pub(super) fn move_to_end(&mut self, partition: &TopicPartition) {
        self.fetches_sent += 1;
        if let Some(state) = self.partitions.get_mut(partition) {
            state.fetch_order = self.fetches_sent;
        }
    }

    /// When the first backoff of a partition ends.
    pub(super) fn next_retry(&self, now: Instant) -> Option<Instant> {
        self.partitions.values().filter_map(|state| state.retry_at).filter(|retry_at| *retry_at > now).min()
    }
}

#[cfg(test)]
#[allow(clippy::expect_used, reason = "a test may fail")]
mod tests;

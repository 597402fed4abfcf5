//! The names of topics that a coordinator has assigned by id.
//!
//! Invariant: lookups of unknown names are paced, because a topic may be known to the coordinator long before
//! it is in the metadata of all brokers.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use ottla_protocol::wire::Uuid;
use tokio::time::Instant;

use super::timers::BackoffTimer;
use crate::environment::Environment;
use crate::metadata::Snapshot;
use crate::retry::backoff::Backoff;
use crate::topic_partition::TopicPartition;

/// A partition of a topic by id: a recreated topic is another one.
pub(crate) type TopicIdPartition = (Uuid, i32);

/// The known names of assigned topics.
#[derive(Debug)]
pub(super) struct TopicNames {
    names: HashMap<Uuid, Arc<str>>,
    /// Between lookups.
    backoff: BackoffTimer,
}

impl TopicNames {
    pub(super) fn new(backoff: Backoff) -> Self {
        Self { names: HashMap::new(), backoff: BackoffTimer::new(backoff) }
    }

    pub(super) fn get(&self, id: Uuid) -> Option<&Arc<str>> {
        self.names.get(&id)
    }

    /// The topics of these partitions whose names are unknown.
    pub(super) fn unknown<'a>(
        &self,
        partitions: impl IntoIterator<Item = &'a TopicIdPartition>,
    ) -> Vec<Uuid> {
        let ids: BTreeSet<Uuid> = partitions.into_iter().map(|(id, _)| *id).collect();
        ids.into_iter().filter(|id| !self.names.contains_key(id)).collect()
    }

    /// The partitions by topic name, sorted, without those whose topics are unknown.
    pub(super) fn by_name<'a>(
        &self,
        partitions: impl IntoIterator<Item = &'a TopicIdPartition>,
    ) -> Vec<TopicPartition> {
        let named =
            partitions.into_iter().filter_map(|(id, partition)| Some((self.names.get(id)?, *partition)));
        let mut named: Vec<TopicPartition> =
            named.map(|(name, partition)| (Arc::clone(name), partition)).collect();
        named.sort_unstable();
        named
    }

    /// The names of the subscribed topics and of those that these partitions belong to, sorted.
    pub(super) fn with_subscribed<'a>(
        &self,
        subscribed: &BTreeSet<Arc<str>>,
        partitions: impl IntoIterator<Item = &'a TopicIdPartition>,
    ) -> Vec<Arc<str>> {
        let assigned = partitions.into_iter().filter_map(|(id, _)| self.names.get(id));
        let names: BTreeSet<&Arc<str>> = subscribed.iter().chain(assigned).collect();
        names.into_iter().cloned().collect()
    }

    /// Takes the names of these topics from the metadata.
    pub(super) fn learn(&mut self, ids: Vec<Uuid>, snapshot: &Snapshot) {
        for id in ids {
            if let Some(name) = snapshot.topic_name(id) {
                self.names.insert(id, Arc::clone(name));
            }
        }
    }

    /// Forgets the names of topics that none of these partitions belongs to.
    pub(super) fn retain<'a>(&mut self, partitions: impl IntoIterator<Item = &'a TopicIdPartition>) {
        let used: BTreeSet<Uuid> = partitions.into_iter().map(|(id, _)| *id).collect();
        self.names.retain(|id, _| used.contains(id));
    }

    /// Whether to look up `unknown` now; the next lookup is due after a backoff.
    pub(super) fn begin_lookup(&mut self, unknown: &[Uuid], now: Instant, environment: &Environment) -> bool {
        if unknown.is_empty() {
            self.backoff.reset();
            return false;
        }
        let is_due = self.backoff.is_expired(now);
        if is_due {
            self.backoff.fail(now, environment);
        }
        is_due
    }

    /// Allows a lookup at once, after a new assignment.
    pub(super) fn reset_backoff(&mut self) {
        self.backoff.reset();
    }

    /// When the next lookup is due.
    pub(super) fn next_lookup(&self) -> Option<Instant> {
        self.backoff.until()
    }
}

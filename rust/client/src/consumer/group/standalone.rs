//! A consumer that subscribes without a group: it reads all partitions of its topics, new ones included.
//!
//! Invariants: it sends no request, and at most one rebalance event waits for the application. The positions of a
//! consumer without a group exist only in its memory, so a topic that metadata does not list any more keeps its
//! partitions for a time: a broker whose metadata lags must not make the consumer start anew.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ottla_protocol::ErrorCode;
use ottla_protocol::wire::Uuid;
use tokio::time::Instant;

use super::membership_manager::{Action, Core, GroupResponse, MembershipManager, SubscribedTopics};
use super::rebalance_queue::RebalanceEvent;
use super::settings::GroupSettings;
use crate::environment::Environment;
use crate::group_offsets::ConsumerGroupMetadata;
use crate::metadata::Snapshot;
use crate::topic_partition::TopicPartition;

/// A topic as metadata has described it.
#[derive(Debug)]
struct KnownTopic {
    id: Uuid,
    partitions: i32,
    /// Since when metadata has not listed it.
    missing_since: Option<Instant>,
}

/// The only reader of its topics.
#[derive(Debug)]
pub struct StandaloneMember {
    core: Core,
    names: BTreeSet<Arc<str>>,
    /// The topics whose partitions it reads.
    known: BTreeMap<Arc<str>, KnownTopic>,
    /// The number of partitions of each topic that the application has taken over.
    owned: BTreeMap<Arc<str>, i32>,
}

impl StandaloneMember {
    pub(super) fn new(settings: GroupSettings, environment: Environment) -> Self {
        let core = Core::new(settings, environment);
        Self { core, names: BTreeSet::new(), known: BTreeMap::new(), owned: BTreeMap::new() }
    }

    /// Reports what has changed once the application has handled the last change.
    fn report_changes(&mut self) {
        if !self.core.events.is_empty() {
            return;
        }
        let wanted = |topic: &str| self.known.get(topic).map_or(0, |known| known.partitions);
        let revoked: Vec<_> =
            self.owned.iter().flat_map(|(topic, owned)| partitions(topic, wanted(topic)..*owned)).collect();
        if !revoked.is_empty() {
            return self.core.events.push(RebalanceEvent::Revoke(revoked));
        }
        let owned = |topic: &str| self.owned.get(topic).copied().unwrap_or(0);
        let added: Vec<_> = self
            .known
            .iter()
            .flat_map(|(topic, known)| partitions(topic, owned(topic)..known.partitions))
            .collect();
        if !added.is_empty() {
            let all = self.known.iter().flat_map(|(topic, known)| partitions(topic, 0..known.partitions));
            self.core.events.push(RebalanceEvent::Assign { added, all: all.collect() });
        }
    }
}

fn partitions(topic: &Arc<str>, numbers: std::ops::Range<i32>) -> impl Iterator<Item = TopicPartition> {
    numbers.map(|partition| (Arc::clone(topic), partition))
}

impl MembershipManager for StandaloneMember {
    fn subscribe(&mut self, _now: Instant, topics: SubscribedTopics) {
        // The metadata that follows shows which of the others are gone, and which are only not wanted any more.
        self.names = topics.names;
    }

    fn unsubscribe(&mut self, _now: Instant) {
        self.names.clear();
        self.known.clear();
        self.core.events.withdraw_pending();
        self.report_changes();
    }

    fn leave(&mut self, now: Instant) {
        self.unsubscribe(now);
        self.owned.clear();
        self.core.events = Default::default();
    }

    fn on_poll(&mut self, _now: Instant) -> bool {
        false
    }

    fn complete_event(&mut self, _now: Instant) {
        match self.core.events.complete() {
            Some(RebalanceEvent::Assign { all, .. }) => {
                self.owned.clear();
                all.into_iter().for_each(|(topic, _)| *self.owned.entry(topic).or_default() += 1);
            }
            Some(RebalanceEvent::Revoke(revoked)) => {
                for (topic, partition) in revoked {
                    if let Some(owned) = self.owned.get_mut(&topic) {
                        *owned = (*owned).min(partition);
                    }
                }
                self.owned.retain(|_, owned| *owned > 0);
            }
            _ => {}
        }
        self.report_changes();
    }

    fn report_error(&mut self, _now: Instant, _sent_as: &ConsumerGroupMetadata, _code: ErrorCode) {}

    fn update_metadata(&mut self, now: Instant, snapshot: &Snapshot) {
        let described = |name: &Arc<str>| snapshot.topic(name).filter(|topic| topic.exists());
        for name in &self.names {
            let Some(topic) = described(name) else { continue };
            let count = i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX);
            let known = self.known.entry(Arc::clone(name)).or_insert_with(|| KnownTopic {
                id: topic.id,
                partitions: count,
                missing_since: None,
            });
            // Partitions are never removed: fewer of them are older metadata, or another topic of this name.
            known.partitions = if known.id == topic.id { known.partitions.max(count) } else { count };
            (known.id, known.missing_since) = (topic.id, None);
        }
        let names = &self.names;
        self.known.retain(|name, known| {
            let is_listed = described(name).is_some();
            if !is_listed {
                known.missing_since.get_or_insert(now);
            }
            names.contains(name) || !is_listed
        });
        self.report_changes();
    }

    fn process_response(&mut self, _now: Instant, _request_id: u64, _response: GroupResponse) {}

    fn poll(&mut self, now: Instant) -> Vec<Action> {
        let gone_after = self.core.settings.topic_gone_after;
        self.known.retain(|_, known| known.missing_since.is_none_or(|since| now < since + gone_after));
        self.report_changes();
        Vec::new()
    }

    fn next_due(&self) -> Option<Instant> {
        let missing_since = self.known.values().filter_map(|known| known.missing_since).min();
        missing_since.map(|since| since + self.core.settings.topic_gone_after)
    }

    fn group_metadata(&self) -> ConsumerGroupMetadata {
        ConsumerGroupMetadata::without_member(Arc::clone(&self.core.settings.group_id))
    }

    fn topics(&self) -> Vec<Arc<str>> {
        self.names.iter().cloned().collect()
    }

    fn is_idle(&self) -> bool {
        self.names.is_empty() && self.known.is_empty() && self.owned.is_empty() && self.core.events.is_empty()
    }

    fn core(&mut self) -> &mut Core {
        &mut self.core
    }
}

//! Reconciles the owned partitions with the target assignment: first revocations, then assignments, one
//! event at a time, each computed from the target of that moment.

use std::collections::BTreeSet;
use std::sync::Arc;

use ottla_protocol::wire::Uuid;
use tokio::time::Instant;

use super::{ConsumerMember, ReconcileStep, TopicIdPartition};
use crate::consumer::group::membership_manager::Action;
use crate::consumer::group::rebalance_queue::RebalanceEvent;
use crate::topic_partition::TopicPartition;

impl ConsumerMember {
    /// Topics of the assignment whose names are unknown.
    pub(super) fn unresolved_topics(&self) -> Vec<Uuid> {
        let ids: BTreeSet<Uuid> = self.target.iter().flatten().map(|(id, _)| *id).collect();
        ids.into_iter().filter(|id| !self.topic_names.contains_key(id)).collect()
    }

    /// Partitions by topic name, without those whose topic names are unknown.
    fn by_name<'a>(&self, partitions: impl IntoIterator<Item = &'a TopicIdPartition>) -> Vec<TopicPartition> {
        let name =
            |(id, partition): &TopicIdPartition| Some((Arc::clone(self.topic_names.get(id)?), *partition));
        let mut named: Vec<TopicPartition> = partitions.into_iter().filter_map(name).collect();
        named.sort_unstable();
        named
    }

    /// Queues the next event between the owned partitions and the target.
    pub(super) fn reconcile(&mut self, now: Instant) {
        let Some(target) = &self.target else { return };
        let revoked: Vec<TopicIdPartition> = self.owned.difference(target).copied().collect();
        if !revoked.is_empty() {
            tracing::info!(target: "ottla.group", group = %self.core.settings.group_id, epoch = self.epoch, revoked = revoked.len(), "revoking partitions");
            self.core.events.push(RebalanceEvent::Revoke(self.by_name(&revoked)));
            self.pending_step = Some(ReconcileStep::Revoke(revoked));
            return;
        }
        let all: Vec<TopicIdPartition> =
            target.iter().filter(|(id, _)| self.topic_names.contains_key(id)).copied().collect();
        let added: Vec<TopicIdPartition> =
            all.iter().filter(|it| !self.owned.contains(it)).copied().collect();
        let unknown = self.unresolved_topics();
        if unknown.is_empty() {
            self.name_lookup_backoff.reset();
        } else if self.name_lookup_backoff.is_expired(now) {
            self.name_lookup_backoff.fail(now, &self.core.environment);
            self.core.actions.push(Action::Resolve(unknown.clone()));
        }
        // The first assignment is reported even if it is empty.
        if added.is_empty() && (self.assignment_delivered || !unknown.is_empty()) {
            if std::mem::take(&mut self.unacknowledged)
                && let Some(sent) = &mut self.sent_fields
            {
                sent.owned = None;
            }
            return;
        }
        tracing::info!(target: "ottla.group", group = %self.core.settings.group_id, epoch = self.epoch, added = added.len(), all = all.len(), "assigned");
        self.core
            .events
            .push(RebalanceEvent::Assign { added: self.by_name(&added), all: self.by_name(&all) });
        self.pending_step = Some(ReconcileStep::Assign(all));
        self.assignment_delivered = true;
    }

    /// Queues an event that gives up all owned partitions; returns false if there are none.
    pub(super) fn revoke_all(&mut self, still_member: bool) -> bool {
        if self.owned.is_empty() {
            return false;
        }
        let revoked: Vec<TopicIdPartition> = self.owned.iter().copied().collect();
        let named = self.by_name(&revoked);
        self.core.events.push(if still_member {
            RebalanceEvent::Revoke(named)
        } else {
            RebalanceEvent::Lost(named)
        });
        self.pending_step = Some(ReconcileStep::Revoke(revoked));
        true
    }

    /// Forgets the names of topics that are not needed. Partitions of a queued assignment may be revoked
    /// right after.
    pub(super) fn forget_unused_names(&mut self) {
        let queued = match &self.pending_step {
            Some(ReconcileStep::Assign(all)) => all.as_slice(),
            Some(ReconcileStep::Revoke(_)) | None => &[],
        };
        let partitions = self.target.iter().flatten().chain(&self.owned).chain(queued);
        let used: BTreeSet<Uuid> = partitions.map(|(id, _)| *id).collect();
        self.topic_names.retain(|id, _| used.contains(id));
    }
}

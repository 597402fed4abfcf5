//! Reconciles the owned partitions with the target assignment: first revocations, then assignments, one
//! event at a time, each computed from the target of that moment.

use ottla_protocol::wire::Uuid;
use tokio::time::Instant;

use super::{ConsumerMember, ReconcileStep};
use crate::consumer::group::membership_manager::Action;
use crate::consumer::group::rebalance_queue::RebalanceEvent;
use crate::consumer::group::topic_names::TopicIdPartition;

impl ConsumerMember {
    /// Topics of the assignment whose names are unknown.
    pub(super) fn unresolved_topics(&self) -> Vec<Uuid> {
        self.topic_names.unknown(self.target.iter().flatten())
    }

    /// Queues the next event between the owned partitions and the target.
    pub(super) fn reconcile(&mut self, now: Instant) {
        let Some(target) = &self.target else { return };
        let revoked: Vec<TopicIdPartition> = self.owned.difference(target).copied().collect();
        if !revoked.is_empty() {
            tracing::info!(target: "ottla.group", group = %self.core.settings.group_id, epoch = self.epoch, revoked = revoked.len(), "revoking partitions");
            self.core.events.push(RebalanceEvent::Revoke(self.topic_names.by_name(&revoked)));
            self.pending_step = Some(ReconcileStep::Revoke(revoked));
            return;
        }
        let all: Vec<TopicIdPartition> =
            target.iter().filter(|(id, _)| self.topic_names.get(*id).is_some()).copied().collect();
        let added: Vec<TopicIdPartition> =
            all.iter().filter(|it| !self.owned.contains(it)).copied().collect();
        let unknown = self.unresolved_topics();
        if self.topic_names.begin_lookup(&unknown, now, &self.core.environment) {
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
        self.core.events.push(RebalanceEvent::Assign {
            added: self.topic_names.by_name(&added),
            all: self.topic_names.by_name(&all),
        });
        self.pending_step = Some(ReconcileStep::Assign(all));
        self.assignment_delivered = true;
    }

    /// Queues an event that gives up all owned partitions; returns false if there are none.
    pub(super) fn revoke_all(&mut self, still_member: bool) -> bool {
        if self.owned.is_empty() {
            return false;
        }
        let revoked: Vec<TopicIdPartition> = self.owned.iter().copied().collect();
        let named = self.topic_names.by_name(&revoked);
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
        self.topic_names.retain(self.target.iter().flatten().chain(&self.owned).chain(queued));
    }
}

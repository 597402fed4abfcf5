//! From what the application has to what the coordinator wants it to have: first it gives up, then it
//! gets; one step at a time, each compared with what is wanted by then.

use std::collections::BTreeSet;
use std::sync::Arc;

use ottla_protocol::wire::Uuid;
use tokio::time::Instant;

use super::{ConsumerProtocol, Partition, Step};
use crate::consumer::group::machine::Action;
use crate::consumer::group::rebalance_queue::Change;
use crate::topic_partition::TopicPartition;

impl ConsumerProtocol {
    /// Topics of the assignment whose names are not known yet.
    pub(super) fn unresolved(&self) -> Vec<Uuid> {
        let ids: BTreeSet<Uuid> = self.target.iter().flatten().map(|(id, _)| *id).collect();
        ids.into_iter().filter(|id| !self.names.contains_key(id)).collect()
    }

    /// Partitions by their topics' names; without those whose names are not known.
    fn named<'a>(&self, partitions: impl IntoIterator<Item = &'a Partition>) -> Vec<TopicPartition> {
        let name = |(id, partition): &Partition| Some((Arc::clone(self.names.get(id)?), *partition));
        let mut named: Vec<TopicPartition> = partitions.into_iter().filter_map(name).collect();
        named.sort_unstable();
        named
    }

    /// Puts down the next step from what the application has to what it was given.
    pub(super) fn reconcile(&mut self, now: Instant) {
        let Some(target) = &self.target else { return };
        let revoked: Vec<Partition> = self.owned.difference(target).copied().collect();
        if !revoked.is_empty() {
            tracing::info!(target: "ottla.group", group = %self.core.settings.group_id, epoch = self.epoch, revoked = revoked.len(), "to be given up");
            self.core.desk.put(Change::Revoke(self.named(&revoked)));
            self.pending = Some(Step::GiveUp(revoked));
            return;
        }
        let all: Vec<Partition> =
            target.iter().filter(|(id, _)| self.names.contains_key(id)).copied().collect();
        let added: Vec<Partition> = all.iter().filter(|it| !self.owned.contains(it)).copied().collect();
        let unknown = self.unresolved();
        if unknown.is_empty() {
            self.resolving.reset();
        } else if self.resolving.is_over(now) {
            self.resolving.fail(now, &self.core.environment);
            self.core.actions.push(Action::Resolve(unknown.clone()));
        }
        // An assignment of nothing is news when it is the first.
        if added.is_empty() && (self.assigned || !unknown.is_empty()) {
            if std::mem::take(&mut self.unanswered)
                && let Some(sent) = &mut self.sent
            {
                sent.owned = None;
            }
            return;
        }
        tracing::info!(target: "ottla.group", group = %self.core.settings.group_id, epoch = self.epoch, added = added.len(), all = all.len(), "assigned");
        self.core.desk.put(Change::Assign { added: self.named(&added), all: self.named(&all) });
        self.pending = Some(Step::Take(all));
        self.assigned = true;
    }

    /// Has the application let go of everything; false if it has nothing.
    pub(super) fn give_up(&mut self, still_member: bool) -> bool {
        if self.owned.is_empty() {
            return false;
        }
        let gone: Vec<Partition> = self.owned.iter().copied().collect();
        let named = self.named(&gone);
        self.core.desk.put(if still_member { Change::Revoke(named) } else { Change::Lost(named) });
        self.pending = Some(Step::GiveUp(gone));
        true
    }

    /// Forgets the names of topics that nothing is about any more. What the application is about to
    /// take may have to be given up right after.
    pub(super) fn forget_names(&mut self) {
        let taking = match &self.pending {
            Some(Step::Take(all)) => all.as_slice(),
            Some(Step::GiveUp(_)) | None => &[],
        };
        let partitions = self.target.iter().flatten().chain(&self.owned).chain(taking);
        let used: BTreeSet<Uuid> = partitions.map(|(id, _)| *id).collect();
        self.names.retain(|id, _| used.contains(id));
    }
}

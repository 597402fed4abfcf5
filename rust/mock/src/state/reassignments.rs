//! Reassignments of replicas (KIP-455).
//!
//! A reassignment adds the new replicas, waits until they are in sync, then removes the old ones. In the mock, live
//! replicas are in sync at once, unless a test holds reassignments open. Invariant: `replicas` has the replicas of
//! before and after while a reassignment is in progress.

use std::collections::BTreeSet;

use ottla_protocol::ErrorCode;

use super::{ApiError, ClusterState, NO_LEADER, Partition};

impl ClusterState {
    /// Reassigns a partition to other replicas, or cancels its reassignment without `target`.
    pub(crate) fn reassign(
        &mut self,
        (name, index): (&str, i32),
        target: Option<&[i32]>,
        may_change_factor: bool,
    ) -> Result<(), ApiError> {
        let unknown = |text: String| ApiError::new(ErrorCode::UnknownTopicOrPartition, text);
        let topic = self.topic(name);
        let topic = topic.ok_or_else(|| unknown(format!("Unable to find a topic named {name}.")))?;
        let may_be_unclean = self.allows_unclean_leaders(&topic.config);
        let partition = self.partition(name, index);
        let partition =
            partition.map_err(|_| unknown(format!("Unable to find partition {name}:{index}.")))?;
        let Some(target) = target else {
            return self.cancel_reassignment((name, index), may_be_unclean);
        };
        self.check_assignment(target)?;
        let factor = partition.factor_after_reassignment();
        if !may_change_factor && factor != target.len() {
            let text = format!("The replication factor is changed from {factor} to {}", target.len());
            return Err(ApiError::new(ErrorCode::InvalidReplicationFactor, text));
        }
        if let Ok(partition) = self.partition_mut(name, index) {
            partition.begin_reassignment(target);
        }
        self.advance_reassignments();
        Ok(())
    }

    fn cancel_reassignment(
        &mut self,
        (name, index): (&str, i32),
        may_be_unclean: bool,
    ) -> Result<(), ApiError> {
        let alive = self.alive_ids();
        let partition = self.partition_mut(name, index).map_err(|code| ApiError::new(code, ""))?;
        if !partition.is_reassigned() {
            return Err(ApiError::new(ErrorCode::NoReassignmentInProgress, ""));
        }
        let original: Vec<i32> =
            partition.replicas.iter().copied().filter(|id| !partition.adding.contains(id)).collect();
        let mut isr: Vec<i32> = partition.isr.iter().copied().filter(|id| original.contains(id)).collect();
        if isr.is_empty() {
            if !may_be_unclean {
                let text = format!(
                    "Unable to revert partition assignment for {name}:{index} because it would require an unclean \
                     leader election."
                );
                return Err(ApiError::new(ErrorCode::InvalidReplicaAssignment, text));
            }
            isr.extend(original.first());
        }
        partition.set_replicas(original, isr, &alive);
        Ok(())
    }

    /// Lets new replicas catch up, unless a test prevents it, and completes the reassignments whose new replicas are
    /// all in sync.
    pub(crate) fn advance_reassignments(&mut self) {
        let (alive, catch_up) = (self.alive_ids(), !self.holds_reassignments);
        for partition in self.partitions_mut().filter(|partition| partition.is_reassigned()) {
            if catch_up {
                partition.catch_up(&alive);
            }
            partition.complete_reassignment(&alive);
        }
    }

    /// Keeps reassignments open whose new replicas would have to catch up, or completes all.
    pub(crate) fn hold_reassignments(&mut self, hold: bool) {
        self.holds_reassignments = hold;
        self.advance_reassignments();
    }

    /// Completes a reassignment that is held open.
    pub(crate) fn complete_reassignment(&mut self, topic: &str, index: i32) -> Result<(), ApiError> {
        let alive = self.alive_ids();
        let error = |code: ErrorCode| ApiError::new(code, format!("{topic}-{index}"));
        let partition = self.partition_mut(topic, index).map_err(error)?;
        if !partition.is_reassigned() {
            return Err(error(ErrorCode::NoReassignmentInProgress));
        }
        partition.catch_up(&alive);
        partition.complete_reassignment(&alive);
        Ok(())
    }

    fn alive_ids(&self) -> BTreeSet<i32> {
        self.alive().map(|node| node.id).collect()
    }
}

impl Partition {
    pub(crate) fn is_reassigned(&self) -> bool {
        !self.adding.is_empty() || !self.removing.is_empty()
    }

    /// The number of replicas once the reassignment is complete.
    fn factor_after_reassignment(&self) -> usize {
        self.replicas.iter().filter(|id| !self.removing.contains(id)).count()
    }

    fn begin_reassignment(&mut self, target: &[i32]) {
        let difference = |from: &[i32], other: &[i32]| -> Vec<i32> {
            let ids: BTreeSet<i32> = from.iter().copied().filter(|id| !other.contains(id)).collect();
            ids.into_iter().collect()
        };
        let removing = difference(&self.replicas, target);
        let adding = difference(target, &self.replicas);
        self.replicas = target.iter().chain(&removing).copied().collect();
        // As in Kafka, an earlier reassignment that is in progress counts unless it is replaced.
        if !removing.is_empty() {
            self.removing = removing;
        }
        if !adding.is_empty() {
            self.adding = adding;
        }
    }

    /// Brings the live replicas into sync.
    fn catch_up(&mut self, alive: &BTreeSet<i32>) {
        if self.leader != NO_LEADER {
            let joining = self.adding.iter().filter(|id| alive.contains(id) && !self.isr.contains(id));
            let joining: Vec<i32> = joining.copied().collect();
            self.isr.extend(joining);
        }
    }

    fn complete_reassignment(&mut self, alive: &BTreeSet<i32>) {
        let keep = |ids: &[i32]| -> Vec<i32> {
            ids.iter().copied().filter(|id| !self.removing.contains(id)).collect()
        };
        let (replicas, isr) = (keep(&self.replicas), keep(&self.isr));
        if !isr.is_empty() && replicas.iter().all(|id| isr.contains(id)) {
            self.set_replicas(replicas, isr, alive);
        }
    }

    /// Ends a reassignment. The leader stays if it can; the epoch rises in any case if replicas are gone.
    fn set_replicas(&mut self, replicas: Vec<i32>, isr: Vec<i32>, alive: &BTreeSet<i32>) {
        let shrinks = self.replicas.iter().any(|id| !replicas.contains(id));
        let may_lead = |id: &i32| isr.contains(id) && alive.contains(id);
        let leader = if may_lead(&self.leader) {
            self.leader
        } else {
            replicas.iter().copied().find(|id| may_lead(id)).unwrap_or(NO_LEADER)
        };
        self.replicas = replicas;
        self.isr = isr;
        self.adding.clear();
        self.removing.clear();
        self.drop_removed_replicas();
        if leader != self.leader {
            self.set_leader(leader);
        } else if shrinks {
            self.begin_epoch();
        }
    }
}

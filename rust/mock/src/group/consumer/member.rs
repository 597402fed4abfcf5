//! A member of a KIP-848 group: its subscription and the reconciliation of its assignment.
//!
//! Invariant: a partition is assigned only once no other member has it or must still revoke it; a member
//! revokes partitions before its epoch advances.

use std::collections::BTreeSet;
use std::time::Duration;

use ottla_protocol::wire::Uuid;
use regex::Regex;
use tokio::time::Instant;

use super::{Partitions, TopicSizes};

/// The reconciliation state of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum MemberState {
    /// It has the target assignment of its epoch.
    #[default]
    Stable,
    /// It must revoke partitions.
    UnrevokedPartitions,
    /// It waits for partitions that other members have not revoked yet.
    UnreleasedPartitions,
}

/// A member of a KIP-848 group.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) instance_id: Option<String>,
    pub(crate) rack_id: Option<String>,
    pub(crate) client_id: String,
    pub(crate) client_host: String,
    pub(super) rebalance_timeout: Duration,
    pub(crate) subscribed_topic_names: BTreeSet<String>,
    pub(super) regex: Option<Regex>,
    pub(crate) subscribed_topic_regex: Option<String>,
    pub(super) assignor: Option<String>,
    /// -2 while a static member is absent.
    pub(crate) epoch: i32,
    pub(super) previous_epoch: i32,
    pub(crate) assigned: Partitions,
    /// Partitions that it must still revoke.
    pub(super) revoking: Partitions,
    pub(super) state: MemberState,
    pub(super) expires: Instant,
    /// The deadline for the revocation.
    pub(super) revoke_until: Option<Instant>,
}

impl Member {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            instance_id: None,
            rack_id: None,
            client_id: String::new(),
            client_host: String::new(),
            rebalance_timeout: Duration::ZERO,
            subscribed_topic_names: BTreeSet::new(),
            regex: None,
            subscribed_topic_regex: None,
            assignor: None,
            epoch: 0,
            previous_epoch: 0,
            assigned: Partitions::new(),
            revoking: Partitions::new(),
            state: MemberState::Stable,
            expires: now,
            revoke_until: None,
        }
    }

    /// The existing topics that it subscribes to.
    pub(super) fn topics<'a>(&'a self, all: &'a TopicSizes) -> impl Iterator<Item = &'a String> {
        let subscribes_to = |name: &str| {
            self.subscribed_topic_names.contains(name)
                || self.regex.as_ref().is_some_and(|regex| regex.is_match(name))
        };
        all.keys().filter(move |name| subscribes_to(name))
    }

    /// Whether it may own any of these partitions; `owned` is `None` if the heartbeat omits them.
    fn still_has(owned: Option<&Partitions>, partitions: &Partitions) -> bool {
        owned.is_none_or(|owned| !owned.is_disjoint(partitions))
    }

    /// Whether it has the target assignment of `epoch`.
    pub(super) fn is_reconciled_to(&self, epoch: i32) -> bool {
        self.state == MemberState::Stable && self.epoch == epoch
    }

    /// Takes the next step towards the target. `is_free` returns whether no member has a partition.
    pub(super) fn reconcile(
        &mut self,
        epoch: i32,
        target: &Partitions,
        owned: Option<&Partitions>,
        is_free: impl Fn(&(Uuid, i32)) -> bool,
        now: Instant,
    ) {
        if self.is_reconciled_to(epoch) {
            return;
        }
        if self.state == MemberState::UnrevokedPartitions && Self::still_has(owned, &self.revoking) {
            return;
        }
        let kept: Partitions = self.assigned.intersection(target).copied().collect();
        let revoking: Partitions = self.assigned.difference(&kept).copied().collect();
        let (given, unreleased): (Partitions, Partitions) =
            target.difference(&kept).copied().partition(|partition| is_free(partition));
        if !revoking.is_empty() && Self::still_has(owned, &revoking) {
            self.state = MemberState::UnrevokedPartitions;
            self.previous_epoch = self.epoch;
            self.revoking = revoking;
            self.assigned = kept;
            self.revoke_until = Some(now + self.rebalance_timeout);
        } else {
            self.state =
                if unreleased.is_empty() { MemberState::Stable } else { MemberState::UnreleasedPartitions };
            self.previous_epoch = self.epoch;
            self.epoch = epoch;
            self.revoking.clear();
            self.assigned = kept;
            self.assigned.extend(given);
            self.revoke_until = None;
        }
    }
}

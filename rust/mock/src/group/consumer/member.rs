//! A member of a KIP-848 group: what it subscribes to, and how far it is with its assignment.
//!
//! Invariant: a partition is given to a member only when no other member has it or is still to give
//! it up; what a member is to give up it gives up before its epoch goes on.

use std::collections::BTreeSet;
use std::time::Duration;

use ottla_protocol::wire::Uuid;
use regex::Regex;
use tokio::time::Instant;

use super::{Partitions, TopicSizes};

/// How far a member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Progress {
    /// It has what it is to have as of its epoch.
    #[default]
    Stable,
    /// It has partitions to give up.
    Unrevoked,
    /// It waits for partitions that others have not given up yet.
    Unreleased,
}

/// A member.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) instance_id: Option<String>,
    pub(crate) rack_id: Option<String>,
    pub(crate) client_id: String,
    pub(crate) client_host: String,
    pub(super) rebalance_timeout: Duration,
    pub(crate) names: BTreeSet<String>,
    pub(super) regex: Option<Regex>,
    pub(crate) regex_text: Option<String>,
    pub(super) assignor: Option<String>,
    /// -2 while a static member is away.
    pub(crate) epoch: i32,
    pub(super) previous_epoch: i32,
    pub(crate) assigned: Partitions,
    /// What it is still to give up.
    pub(super) revoking: Partitions,
    pub(super) progress: Progress,
    pub(super) expires: Instant,
    /// Until when it may take to give up what it is to.
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
            names: BTreeSet::new(),
            regex: None,
            regex_text: None,
            assignor: None,
            epoch: 0,
            previous_epoch: 0,
            assigned: Partitions::new(),
            revoking: Partitions::new(),
            progress: Progress::Stable,
            expires: now,
            revoke_until: None,
        }
    }

    /// The topics that there are of those it wants.
    pub(super) fn topics<'a>(&'a self, all: &'a TopicSizes) -> impl Iterator<Item = &'a String> {
        let wants = |name: &str| {
            self.names.contains(name) || self.regex.as_ref().is_some_and(|regex| regex.is_match(name))
        };
        all.keys().filter(move |name| wants(name))
    }

    /// Whether it has any of these partitions, as far as is known: `None` is a member that did not say.
    fn still_has(owned: Option<&Partitions>, partitions: &Partitions) -> bool {
        owned.is_none_or(|owned| !owned.is_disjoint(partitions))
    }

    /// Whether it has all that it is to have as of `epoch`.
    pub(super) fn is_reconciled_to(&self, epoch: i32) -> bool {
        self.progress == Progress::Stable && self.epoch == epoch
    }

    /// Takes the next step towards the target. `is_free` says which partitions nobody has.
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
        if self.progress == Progress::Unrevoked && Self::still_has(owned, &self.revoking) {
            return;
        }
        let kept: Partitions = self.assigned.intersection(target).copied().collect();
        let revoking: Partitions = self.assigned.difference(&kept).copied().collect();
        let (given, unreleased): (Partitions, Partitions) =
            target.difference(&kept).copied().partition(|partition| is_free(partition));
        if !revoking.is_empty() && Self::still_has(owned, &revoking) {
            self.progress = Progress::Unrevoked;
            self.previous_epoch = self.epoch;
            self.revoking = revoking;
            self.assigned = kept;
            self.revoke_until = Some(now + self.rebalance_timeout);
        } else {
            self.progress = if unreleased.is_empty() { Progress::Stable } else { Progress::Unreleased };
            self.previous_epoch = self.epoch;
            self.epoch = epoch;
            self.revoking.clear();
            self.assigned = kept;
            self.assigned.extend(given);
            self.revoke_until = None;
        }
    }
}

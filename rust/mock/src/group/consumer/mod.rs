//! A KIP-848 group, as a state machine without I/O: the coordinator assigns, members reconcile.
//!
//! `heartbeat` handles requests, `member` reconciles one member, `assignor` computes target assignments; this
//! file has the group: its epochs, its target assignment and expired deadlines.
//!
//! Invariant: the target assignment belongs to `assignment_epoch`, which follows `epoch`; a partition is
//! assigned to one member at a time.

mod assignor;
mod heartbeat;
mod member;

use std::collections::{BTreeMap, BTreeSet};

use ottla_protocol::ErrorCode;
use ottla_protocol::wire::Uuid;
use tokio::time::Instant;

use super::MemberIdentity;
use crate::config::GroupConfig;
pub(crate) use assignor::Assignor;
use assignor::{Subscriptions, TargetAssignment};
pub(crate) use heartbeat::{Heartbeat, HeartbeatError, JOIN_GROUP_MEMBER_EPOCH};
pub(crate) use member::Member;
use member::MemberState;

/// Partitions, by topic id and index.
pub(crate) type Partitions = BTreeSet<(Uuid, i32)>;
/// The id and the number of partitions of each topic, by name.
pub(crate) type TopicSizes = BTreeMap<String, (Uuid, i32)>;

/// A KIP-848 group.
#[derive(Debug)]
pub(crate) struct ConsumerGroup {
    epoch: i32,
    assignment_epoch: i32,
    assignor: Assignor,
    members: BTreeMap<String, Member>,
    targets: TargetAssignment,
    /// The subscribed topics as of the group epoch.
    topics: TopicSizes,
}

impl ConsumerGroup {
    pub(crate) fn new() -> Self {
        Self {
            epoch: 0,
            assignment_epoch: 0,
            assignor: Assignor::Uniform,
            members: BTreeMap::new(),
            targets: TargetAssignment::new(),
            topics: TopicSizes::new(),
        }
    }

    /// The name of its state in Kafka.
    pub(crate) fn state(&self) -> &'static str {
        if self.members.is_empty() {
            "Empty"
        } else if self.epoch > self.assignment_epoch {
            "Assigning"
        } else if self.members.values().all(|member| member.is_reconciled_to(self.assignment_epoch)) {
            "Stable"
        } else {
            "Reconciling"
        }
    }

    pub(crate) fn epoch(&self) -> i32 {
        self.epoch
    }

    pub(crate) fn assignment_epoch(&self) -> i32 {
        self.assignment_epoch
    }

    pub(crate) fn assignor(&self) -> Assignor {
        self.assignor
    }

    pub(crate) fn members(&self) -> &BTreeMap<String, Member> {
        &self.members
    }

    /// The target assignment of a member.
    pub(crate) fn target(&self, member_id: &str) -> Partitions {
        self.targets.get(member_id).cloned().unwrap_or_default()
    }

    pub(crate) fn subscribes_to(&self, topic: &str) -> bool {
        self.topics.contains_key(topic)
    }

    fn static_id(&self, instance_id: &str) -> Option<String> {
        let is_it = |member: &Member| member.instance_id.as_deref() == Some(instance_id);
        self.members.iter().find(|(_, member)| is_it(member)).map(|(id, _)| id.clone())
    }

    /// Checks whether a member may commit offsets (with the version of OffsetCommit) or fetch them (`None`).
    pub(crate) fn check_offsets(
        &self,
        by: MemberIdentity<'_>,
        version: Option<i16>,
    ) -> Result<(), ErrorCode> {
        if by.epoch < 0 && self.members.is_empty() {
            return Ok(());
        }
        let member = self.members.get(by.member_id).ok_or(ErrorCode::UnknownMemberId)?;
        if version.is_some_and(|version| version < MEMBER_EPOCHS) {
            return Err(ErrorCode::UnsupportedVersion);
        }
        if by.epoch == member.epoch { Ok(()) } else { Err(ErrorCode::StaleMemberEpoch) }
    }

    /// Bumps the group epoch if subscriptions or topics have changed, and computes a new target assignment.
    fn update_target_assignment(&mut self, all: &TopicSizes, subscription_changed: bool) {
        let subscribed: BTreeSet<&String> =
            self.members.values().flat_map(|member| member.topics(all)).collect();
        let topics: TopicSizes = all
            .iter()
            .filter(|(name, _)| subscribed.contains(name))
            .map(|(name, size)| (name.clone(), *size))
            .collect();
        if subscription_changed || topics != self.topics {
            self.epoch += 1;
            self.topics = topics;
        }
        if self.epoch > self.assignment_epoch {
            let ids =
                |member: &Member| member.topics(all).filter_map(|name| Some(all.get(name)?.0)).collect();
            let members: Subscriptions = self.members.iter().map(|(id, m)| (id.clone(), ids(m))).collect();
            let sizes = self.topics.values().copied().collect();
            self.assignor = self.preferred_assignor();
            self.targets = self.assignor.assign(&members, &sizes, &self.targets);
            self.assignment_epoch = self.epoch;
        }
    }

    /// The assignor that most members prefer; `uniform` by default.
    fn preferred_assignor(&self) -> Assignor {
        let mut votes = [(Assignor::Uniform, 0), (Assignor::Range, 0)];
        for name in self.members.values().filter_map(|member| member.assignor.as_deref()) {
            let vote = Assignor::named(name);
            votes
                .iter_mut()
                .filter(|(assignor, _)| Some(*assignor) == vote)
                .for_each(|(_, count)| *count += 1);
        }
        let [(first, most), (second, more)] = votes;
        if more > most { second } else { first }
    }

    fn reconcile(&mut self, id: &str, owned: Option<&Partitions>, now: Instant) {
        let Some(mut member) = self.members.remove(id) else { return };
        // Partitions that the member itself must revoke are not free, either.
        let taken: Partitions = self
            .members
            .values()
            .chain([&member])
            .flat_map(|m| m.assigned.union(&m.revoking))
            .copied()
            .collect();
        let target = self.target(id);
        member.reconcile(self.assignment_epoch, &target, owned, |p| !taken.contains(p), now);
        self.members.insert(id.to_owned(), member);
    }

    /// Removes a member and bumps the group epoch, so that others get its partitions.
    fn fence(&mut self, id: &str) {
        self.members.remove(id);
        self.targets.remove(id);
        self.epoch += 1;
        if self.members.is_empty() {
            self.assignment_epoch = self.epoch;
            self.topics.clear();
        }
    }

    /// Expires a member's session.
    pub(crate) fn expire(&mut self, id: &str) -> Result<(), ErrorCode> {
        if !self.members.contains_key(id) {
            return Err(ErrorCode::UnknownMemberId);
        }
        self.fence(id);
        Ok(())
    }

    fn deadlines(&self) -> impl Iterator<Item = (Instant, &String)> {
        let soonest =
            |member: &Member| member.revoke_until.map_or(member.expires, |at| at.min(member.expires));
        self.members.iter().map(move |(id, member)| (soonest(member), id))
    }

    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines().map(|(deadline, _)| deadline).min()
    }

    /// Handles `deadline`: a session or a revocation timed out.
    pub(crate) fn on_deadline(&mut self, deadline: Instant) {
        let expired = self.deadlines().find(|(at, _)| *at == deadline).map(|(_, id)| id.clone());
        if let Some(id) = expired {
            self.fence(&id);
        }
    }

    /// Restores the group on a new coordinator, which knows everything but the deadlines.
    pub(crate) fn reload(&mut self, config: &GroupConfig, now: Instant) {
        for member in self.members.values_mut() {
            member.expires = now + config.consumer_session_timeout;
            let revoking = member.state == MemberState::UnrevokedPartitions;
            member.revoke_until = revoking.then(|| now + member.rebalance_timeout);
        }
    }
}

/// The first version of OffsetCommit with member epochs.
const MEMBER_EPOCHS: i16 = 9;

//! A KIP-848 group, as a state machine without I/O: the coordinator assigns, members reconcile.
//!
//! `heartbeat` is all that members say, `member` the steps of one, `assignor` who is to have what; here
//! is the group: its epochs, its targets, and what happens when a member is silent for too long.
//!
//! Invariant: the targets are those of `assignment_epoch`, which follows `epoch`; a partition is given
//! to one member at a time.

mod assignor;
mod heartbeat;
mod member;

use std::collections::{BTreeMap, BTreeSet};

use ottla_protocol::ErrorCode;
use ottla_protocol::wire::Uuid;
use tokio::time::Instant;

use super::Committer;
use crate::config::GroupConfig;
pub(crate) use assignor::Assignor;
use assignor::{Subscriptions, Targets};
pub(crate) use heartbeat::{Beat, JOINS, Refused};
pub(crate) use member::Member;
use member::Progress;

/// Partitions by the ids of their topics.
pub(crate) type Partitions = BTreeSet<(Uuid, i32)>;
/// The topics that there are: id and number of partitions by name.
pub(crate) type TopicSizes = BTreeMap<String, (Uuid, i32)>;

/// A KIP-848 group.
#[derive(Debug)]
pub(crate) struct ConsumerGroup {
    epoch: i32,
    assignment_epoch: i32,
    assignor: Assignor,
    members: BTreeMap<String, Member>,
    targets: Targets,
    /// The topics that the members want, as of the group's epoch.
    topics: TopicSizes,
}

impl ConsumerGroup {
    pub(crate) fn new() -> Self {
        Self {
            epoch: 0,
            assignment_epoch: 0,
            assignor: Assignor::Uniform,
            members: BTreeMap::new(),
            targets: Targets::new(),
            topics: TopicSizes::new(),
        }
    }

    /// Its state, by Kafka's name.
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

    /// What a member is to have.
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

    /// Whether offsets may be committed (`version` is that of OffsetCommit) or fetched.
    pub(crate) fn check_offsets(&self, by: Committer<'_>, version: Option<i16>) -> Result<(), ErrorCode> {
        if by.epoch < 0 && self.members.is_empty() {
            return Ok(());
        }
        let member = self.members.get(by.member_id).ok_or(ErrorCode::UnknownMemberId)?;
        if version.is_some_and(|version| version < KNOWS_EPOCHS) {
            return Err(ErrorCode::UnsupportedVersion);
        }
        if by.epoch == member.epoch { Ok(()) } else { Err(ErrorCode::StaleMemberEpoch) }
    }

    /// Raises the group's epoch if somebody wants other topics, or the topics have changed, and gives
    /// everybody a new target.
    fn refresh(&mut self, all: &TopicSizes, subscription_changed: bool) {
        let wanted: BTreeSet<&String> = self.members.values().flat_map(|member| member.topics(all)).collect();
        let topics: TopicSizes = all
            .iter()
            .filter(|(name, _)| wanted.contains(name))
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
            self.assignor = self.choose_assignor();
            self.targets = self.assignor.assign(&members, &sizes, &self.targets);
            self.assignment_epoch = self.epoch;
        }
    }

    /// The assignor that most members want; the first one unless somebody wants another.
    fn choose_assignor(&self) -> Assignor {
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
        // What the member itself is to give up is not free for it either.
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

    /// Takes a member out; the others get what it had.
    fn fence(&mut self, id: &str) {
        self.members.remove(id);
        self.targets.remove(id);
        self.epoch += 1;
        if self.members.is_empty() {
            self.assignment_epoch = self.epoch;
            self.topics.clear();
        }
    }

    /// Ends a member's session.
    pub(crate) fn expire(&mut self, id: &str) -> Result<(), ErrorCode> {
        if !self.members.contains_key(id) {
            return Err(ErrorCode::UnknownMemberId);
        }
        self.fence(id);
        Ok(())
    }

    fn dues(&self) -> impl Iterator<Item = (Instant, &String)> {
        let soonest =
            |member: &Member| member.revoke_until.map_or(member.expires, |at| at.min(member.expires));
        self.members.iter().map(move |(id, member)| (soonest(member), id))
    }

    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.dues().map(|(due, _)| due).min()
    }

    /// Does what was to be done at `due`: a session is over, or the time for giving partitions up.
    pub(crate) fn meet_deadline(&mut self, due: Instant) {
        let late = self.dues().find(|(at, _)| *at == due).map(|(_, id)| id.clone());
        if let Some(id) = late {
            self.fence(&id);
        }
    }

    /// Another coordinator takes over: it knows everything but when it has heard of whom.
    pub(crate) fn reload(&mut self, config: &GroupConfig, now: Instant) {
        for member in self.members.values_mut() {
            member.expires = now + config.consumer_session_timeout;
            let revoking = member.progress == Progress::Unrevoked;
            member.revoke_until = revoking.then(|| now + member.rebalance_timeout);
        }
    }
}

/// The first version of OffsetCommit that knows members' epochs.
const KNOWS_EPOCHS: i16 = 9;

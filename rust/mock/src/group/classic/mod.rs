//! A classic group, as a state machine without I/O: members join, the leader assigns, members heartbeat.
//!
//! `join` handles JoinGroup, `sync` SyncGroup, `rebalance` the steps of a rebalance; this file has
//! heartbeats, leaving, commits and expired deadlines.
//!
//! Invariant: in `Stable` and `CompletingRebalance`, the group has a leader and a protocol that all members
//! support; in `Empty`, it has no members.

mod join;
mod member;
mod rebalance;
mod sync;

use std::collections::BTreeMap;
use std::time::Duration;

use ottla_protocol::ErrorCode;
use tokio::sync::oneshot::Receiver;
use tokio::time::Instant;

use super::{MemberIdentity, consumer_protocol};
pub(crate) use join::{JoinGroup, JoinRules};
pub(crate) use member::{JoinGroupResult, Member, Profile, SyncGroupResult};
use rebalance::{InitialDelay, PersistedGroup};
pub(crate) use sync::SyncGroup;

/// A result, or the receiver of a later one.
#[derive(Debug)]
pub(crate) enum Deferred<T> {
    Ready(T),
    Pending(Receiver<T>),
}

/// The state of a classic group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum State {
    #[default]
    Empty,
    /// Members must join again.
    PreparingRebalance,
    /// All members have joined and wait for the leader's assignment.
    CompletingRebalance,
    Stable,
}

impl State {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::PreparingRebalance => "PreparingRebalance",
            Self::CompletingRebalance => "CompletingRebalance",
            Self::Stable => "Stable",
        }
    }
}

/// A classic group.
#[derive(Debug, Default)]
pub(crate) struct ClassicGroup {
    state: State,
    generation: i32,
    protocol_type: Option<String>,
    protocol: Option<String>,
    leader: Option<String>,
    /// In the order in which they joined.
    members: Vec<Member>,
    /// Ids of clients that must join again, with the deadline to do so.
    pending_members: BTreeMap<String, Instant>,
    /// Set while the first generation after an empty one is prepared.
    initial_delay: Option<InitialDelay>,
    /// When the generation completes without the members that have not joined.
    join_deadline: Option<Instant>,
    /// When members that have not sent SyncGroup are removed.
    sync_deadline: Option<Instant>,
    /// What a new coordinator loads.
    persisted: PersistedGroup,
}

enum Deadline {
    Session(String),
    Pending(String),
    JoinGroup,
    SyncGroup,
}

impl ClassicGroup {
    pub(crate) fn state(&self) -> State {
        self.state
    }

    pub(crate) fn generation(&self) -> i32 {
        self.generation
    }

    pub(crate) fn protocol_type(&self) -> Option<&str> {
        self.protocol_type.as_deref()
    }

    pub(crate) fn protocol(&self) -> Option<&str> {
        self.protocol.as_deref()
    }

    pub(crate) fn leader(&self) -> Option<&str> {
        self.leader.as_deref()
    }

    pub(crate) fn members(&self) -> &[Member] {
        &self.members
    }

    /// Whether it has neither members nor pending ids.
    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty() && self.pending_members.is_empty()
    }

    fn member(&self, id: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.id == id)
    }

    fn member_mut(&mut self, id: &str) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| member.id == id)
    }

    fn static_member(&self, instance_id: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.profile.instance_id.as_deref() == Some(instance_id))
    }

    fn rebalance_timeout(&self) -> Duration {
        self.members.iter().map(|member| member.profile.rebalance_timeout).max().unwrap_or_default()
    }

    pub(crate) fn subscribes_to(&self, topic: &str) -> bool {
        let Some(protocol) = self.protocol().filter(|_| self.protocol_type() == Some("consumer")) else {
            return false;
        };
        let topics =
            |member: &Member| member.metadata(protocol).and_then(consumer_protocol::subscribed_topics);
        self.members.iter().any(|m| topics(m).is_none_or(|topics| topics.iter().any(|name| name == topic)))
    }

    /// Checks the member and instance id of a request.
    fn check_member(&self, member_id: &str, instance_id: Option<&str>) -> Result<(), ErrorCode> {
        if let Some(instance_id) = instance_id {
            let known = self.static_member(instance_id).ok_or(ErrorCode::UnknownMemberId)?;
            if known.id != member_id {
                return Err(ErrorCode::FencedInstanceId);
            }
        }
        self.member(member_id).map(|_| ()).ok_or(ErrorCode::UnknownMemberId)
    }

    fn check_generation(&self, generation: i32) -> Result<(), ErrorCode> {
        if generation == self.generation { Ok(()) } else { Err(ErrorCode::IllegalGeneration) }
    }

    pub(crate) fn heartbeat(&mut self, member: MemberIdentity<'_>, now: Instant) -> Result<(), ErrorCode> {
        self.check_member(member.member_id, member.instance_id)?;
        self.check_generation(member.epoch)?;
        let state = self.state;
        if let Some(member) = self.member_mut(member.member_id) {
            member.renew_session(now);
        }
        // Members may heartbeat while the leader assigns.
        match state {
            State::Empty => Err(ErrorCode::UnknownMemberId),
            State::PreparingRebalance => Err(ErrorCode::RebalanceInProgress),
            State::CompletingRebalance | State::Stable => Ok(()),
        }
    }

    pub(crate) fn check_commit(&mut self, by: MemberIdentity<'_>, now: Instant) -> Result<(), ErrorCode> {
        if by.epoch < 0 && self.state == State::Empty {
            return Ok(());
        }
        if by.epoch < 0 && by.member_id.is_empty() && by.instance_id.is_none() {
            return Err(ErrorCode::UnknownMemberId);
        }
        self.check_member(by.member_id, by.instance_id)?;
        self.check_generation(by.epoch)?;
        if self.state == State::CompletingRebalance {
            return Err(ErrorCode::RebalanceInProgress);
        }
        if let Some(member) = self.member_mut(by.member_id) {
            member.renew_session(now);
        }
        Ok(())
    }

    /// Removes members by id; administrators name static members by instance id alone.
    pub(crate) fn leave(
        &mut self,
        leaving: &[(&str, Option<&str>)],
        now: Instant,
    ) -> Vec<Result<(), ErrorCode>> {
        let results: Vec<_> = leaving.iter().map(|(id, instance)| self.leave_one(id, *instance)).collect();
        if results.iter().any(Result::is_ok) {
            self.after_removal(now);
        }
        results
    }

    fn leave_one(&mut self, member_id: &str, instance_id: Option<&str>) -> Result<(), ErrorCode> {
        if member_id.is_empty() {
            let known = instance_id.and_then(|instance_id| self.static_member(instance_id));
            let id = known.map(|member| member.id.clone()).ok_or(ErrorCode::UnknownMemberId)?;
            self.remove(&id);
            return Ok(());
        }
        if self.pending_members.remove(member_id).is_some() {
            return Ok(());
        }
        self.check_member(member_id, instance_id)?;
        self.remove(member_id);
        Ok(())
    }

    /// Expires a member's session.
    pub(crate) fn expire(&mut self, member_id: &str, now: Instant) -> Result<(), ErrorCode> {
        if self.pending_members.remove(member_id).is_none() {
            self.member(member_id).ok_or(ErrorCode::UnknownMemberId)?;
            self.remove(member_id);
        }
        self.after_removal(now);
        Ok(())
    }

    fn remove(&mut self, member_id: &str) {
        if let Some(at) = self.members.iter().position(|member| member.id == member_id) {
            let mut member = self.members.remove(at);
            member.complete_join(JoinGroupResult::error(ErrorCode::UnknownMemberId, ""));
            member.complete_sync(SyncGroupResult::error(ErrorCode::UnknownMemberId));
        }
        if self.leader.as_deref() == Some(member_id) {
            self.leader = self.members.first().map(|member| member.id.clone());
        }
    }

    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines().map(|(deadline, _)| deadline).min()
    }

    fn deadlines(&self) -> impl Iterator<Item = (Instant, Deadline)> {
        let sessions =
            self.members.iter().filter_map(|m| Some((m.expires?, Deadline::Session(m.id.clone()))));
        let pending_members =
            self.pending_members.iter().map(|(id, until)| (*until, Deadline::Pending(id.clone())));
        let join = self.join_deadline.map(|until| (until, Deadline::JoinGroup));
        let sync = self.sync_deadline.map(|until| (until, Deadline::SyncGroup));
        sessions.chain(pending_members).chain(join).chain(sync)
    }

    /// Handles `deadline`, which [`Self::next_deadline`] returned.
    pub(crate) fn on_deadline(&mut self, deadline: Instant) {
        let Some((_, expired)) = self.deadlines().find(|(at, _)| *at == deadline) else { return };
        match expired {
            Deadline::Session(id) => {
                if let Some(member) = self.member_mut(&id).filter(|member| member.waits_for_group()) {
                    member.expires = None;
                } else {
                    self.remove(&id);
                    self.after_removal(deadline);
                }
            }
            Deadline::Pending(id) => {
                self.pending_members.remove(&id);
                self.after_removal(deadline);
            }
            Deadline::JoinGroup => self.on_join_deadline(deadline),
            Deadline::SyncGroup => {
                self.sync_deadline = None;
                let missing: Vec<_> =
                    self.members.iter().filter(|m| m.pending_sync).map(|m| m.id.clone()).collect();
                missing.iter().for_each(|id| self.remove(id));
                self.prepare_rebalance(deadline);
            }
        }
    }
}

//! JoinGroup: new members, and members that rejoin.
//!
//! Invariant: a waiting JoinGroup is completed when the generation is complete or the member is removed.

use std::time::Duration;

use ottla_protocol::ErrorCode;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::member::{JoinGroupResult, Member, Profile, SyncGroupResult};
use super::{ClassicGroup, Deferred, State};

/// How long a new member may wait for its first generation, whatever its session timeout.
const NEW_MEMBER_JOIN_TIMEOUT: Duration = Duration::from_secs(300);

/// A JoinGroup request.
#[derive(Debug, Clone)]
pub(crate) struct JoinGroup {
    /// Empty if the client has no id yet.
    pub(crate) member_id: String,
    /// The id for a new member.
    pub(crate) new_id: String,
    pub(crate) protocol_type: String,
    pub(crate) profile: Profile,
    /// Whether a new member must join again with its id (from version 4).
    pub(crate) id_required: bool,
    /// Whether the client supports `skip_assignment` (from version 9).
    pub(crate) may_skip_assignment: bool,
}

/// The coordinator's configuration of joins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JoinRules {
    pub(crate) initial_delay: Duration,
    pub(crate) max_size: usize,
}

impl ClassicGroup {
    /// Handles a JoinGroup request.
    pub(crate) fn join(
        &mut self,
        join: JoinGroup,
        rules: JoinRules,
        now: Instant,
    ) -> Deferred<JoinGroupResult> {
        if !self.has_room_for(&join.member_id, rules.max_size) {
            self.pending_members.remove(&join.member_id);
            self.remove(&join.member_id);
            return Deferred::Ready(JoinGroupResult::error(ErrorCode::GroupMaxSizeReached, ""));
        }
        if !self.supports_protocols(&join) {
            return error(ErrorCode::InconsistentGroupProtocol, &join);
        }
        if !join.member_id.is_empty() {
            return self.rejoin(join, rules, now);
        }
        let instance_id = join.profile.instance_id.as_deref();
        let known = instance_id.and_then(|id| self.static_member(id)).map(|member| member.id.clone());
        if let Some(old) = known {
            return self.replace_static_member(&old, join, rules, now);
        }
        if instance_id.is_none() && join.id_required {
            let id = join.new_id;
            self.pending_members.insert(id.clone(), now + join.profile.session_timeout);
            return Deferred::Ready(JoinGroupResult::error(ErrorCode::MemberIdRequired, id));
        }
        let id = join.new_id.clone();
        self.add_member(id, join, rules, now)
    }

    fn has_room_for(&self, member_id: &str, max_size: usize) -> bool {
        let known = self.member(member_id);
        match self.state {
            State::Empty => true,
            State::PreparingRebalance => {
                known.is_some_and(|member| member.awaiting_join.is_some())
                    || self.members.iter().filter(|member| member.awaiting_join.is_some()).count() < max_size
            }
            State::CompletingRebalance | State::Stable => known.is_some() || self.members.len() < max_size,
        }
    }

    fn supports_protocols(&self, join: &JoinGroup) -> bool {
        let protocols = &join.profile.protocols;
        if self.members.is_empty() {
            return !join.protocol_type.is_empty() && !protocols.is_empty();
        }
        self.protocol_type() == Some(join.protocol_type.as_str())
            && protocols.iter().any(|(name, _)| self.members.iter().all(|m| m.metadata(name).is_some()))
    }

    fn rejoin(&mut self, join: JoinGroup, rules: JoinRules, now: Instant) -> Deferred<JoinGroupResult> {
        if self.pending_members.contains_key(&join.member_id) {
            let id = join.member_id.clone();
            return self.add_member(id, join, rules, now);
        }
        if let Err(code) = self.check_member(&join.member_id, join.profile.instance_id.as_deref()) {
            return error(code, &join);
        }
        let id = join.member_id.as_str();
        let is_leader = self.leader() == Some(id);
        let same = self.member(id).is_some_and(|member| member.profile.protocols == join.profile.protocols);
        match self.state {
            State::Empty => error(ErrorCode::UnknownMemberId, &join),
            // The member may have missed the response: the leader gets all members again.
            State::CompletingRebalance if same => {
                let members = if is_leader { self.joined_members() } else { Vec::new() };
                Deferred::Ready(JoinGroupResult { members, ..self.joined(id) })
            }
            State::Stable if same && !is_leader => Deferred::Ready(self.joined(id)),
            State::PreparingRebalance | State::CompletingRebalance | State::Stable => {
                let (sender, receiver) = oneshot::channel();
                if let Some(member) = self.member_mut(id) {
                    member.profile = join.profile;
                    member.awaiting_join = Some(sender);
                    member.renew_session(now);
                }
                self.prepare_or_complete_join(rules.initial_delay, now);
                Deferred::Pending(receiver)
            }
        }
    }

    fn add_member(
        &mut self,
        id: String,
        join: JoinGroup,
        rules: JoinRules,
        now: Instant,
    ) -> Deferred<JoinGroupResult> {
        if self.members.is_empty() {
            self.protocol_type = Some(join.protocol_type);
        }
        let (sender, receiver) = oneshot::channel();
        self.pending_members.remove(&id);
        let mut member = Member::new(id.clone(), join.profile);
        member.awaiting_join = Some(sender);
        member.expires = Some(now + NEW_MEMBER_JOIN_TIMEOUT);
        self.members.push(member);
        self.leader.get_or_insert(id);
        if let Some(initial_delay) = &mut self.initial_delay {
            initial_delay.new_member_added = true;
        }
        self.prepare_or_complete_join(rules.initial_delay, now);
        Deferred::Pending(receiver)
    }

    /// Gives a returning static member a new id and fences the old one.
    fn replace_static_member(
        &mut self,
        old: &str,
        join: JoinGroup,
        rules: JoinRules,
        now: Instant,
    ) -> Deferred<JoinGroupResult> {
        let (sender, receiver) = oneshot::channel();
        let (id, leader_before) = (join.new_id, self.leader.clone());
        if let Some(member) = self.member_mut(old) {
            member.complete_join(JoinGroupResult::error(ErrorCode::FencedInstanceId, old));
            member.complete_sync(SyncGroupResult::error(ErrorCode::FencedInstanceId));
            member.id.clone_from(&id);
            member.profile = join.profile;
            member.awaiting_join = Some(sender);
            member.renew_session(now);
        }
        if leader_before.as_deref() == Some(old) {
            self.leader = Some(id.clone());
        }
        match self.state {
            State::Stable if self.choose_protocol() == self.protocol => {
                let is_leader = self.leader() == Some(id.as_str());
                let joined = if join.may_skip_assignment {
                    let members = if is_leader { self.joined_members() } else { Vec::new() };
                    JoinGroupResult { skip_assignment: is_leader, members, ..self.joined(&id) }
                } else {
                    // Older clients would assign if they were named as the leader: they get the old leader
                    // id.
                    JoinGroupResult { leader: leader_before.unwrap_or_default(), ..self.joined(&id) }
                };
                if let Some(member) = self.member_mut(&id) {
                    member.complete_join(joined);
                }
                self.persist();
            }
            State::Stable | State::CompletingRebalance => self.prepare_rebalance(now),
            State::PreparingRebalance | State::Empty => {
                self.prepare_or_complete_join(rules.initial_delay, now)
            }
        }
        Deferred::Pending(receiver)
    }
}

fn error(code: ErrorCode, join: &JoinGroup) -> Deferred<JoinGroupResult> {
    Deferred::Ready(JoinGroupResult::error(code, join.member_id.clone()))
}

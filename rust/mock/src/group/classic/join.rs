//! JoinGroup: entering a group, and entering it again.
//!
//! Invariant: a member that waits here is answered when the generation is made, or when it is removed.

use std::time::Duration;

use ottla_protocol::ErrorCode;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::member::{Joined, Member, Profile, Synced};
use super::{ClassicGroup, Reply, State};

/// How long a new member may wait for its first generation, whatever its session's time-out is.
const NEW_MEMBER_JOINS_WITHIN: Duration = Duration::from_secs(300);

/// A JoinGroup.
#[derive(Debug, Clone)]
pub(crate) struct Join {
    /// Empty if the client has none yet.
    pub(crate) member_id: String,
    /// What a new member is called.
    pub(crate) new_id: String,
    pub(crate) protocol_type: String,
    pub(crate) profile: Profile,
    /// Whether a new member has to join once more with its id (from version 4 on).
    pub(crate) id_required: bool,
    /// Whether the client understands that it leads and need not assign (from version 9 on).
    pub(crate) may_skip: bool,
}

/// What the coordinator's configuration says about joining.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JoinRules {
    pub(crate) initial_delay: Duration,
    pub(crate) max_size: usize,
}

impl ClassicGroup {
    /// A member joins.
    pub(crate) fn join(&mut self, join: Join, rules: JoinRules, now: Instant) -> Reply<Joined> {
        if !self.accepts(&join.member_id, rules.max_size) {
            self.pending.remove(&join.member_id);
            self.remove(&join.member_id);
            return Reply::Now(Joined::refused(ErrorCode::GroupMaxSizeReached, ""));
        }
        if !self.supports(&join) {
            return refuse(ErrorCode::InconsistentGroupProtocol, &join);
        }
        if !join.member_id.is_empty() {
            return self.join_known(join, rules, now);
        }
        let instance_id = join.profile.instance_id.as_deref();
        let known = instance_id.and_then(|id| self.static_member(id)).map(|member| member.id.clone());
        if let Some(old) = known {
            return self.replace_static(&old, join, rules, now);
        }
        if instance_id.is_none() && join.id_required {
            let id = join.new_id;
            self.pending.insert(id.clone(), now + join.profile.session_timeout);
            return Reply::Now(Joined::refused(ErrorCode::MemberIdRequired, id));
        }
        let id = join.new_id.clone();
        self.add(id, join, rules, now)
    }

    fn accepts(&self, member_id: &str, max_size: usize) -> bool {
        let known = self.member(member_id);
        match self.state {
            State::Empty => true,
            State::Preparing => {
                known.is_some_and(|member| member.joining.is_some())
                    || self.members.iter().filter(|member| member.joining.is_some()).count() < max_size
            }
            State::Completing | State::Stable => known.is_some() || self.members.len() < max_size,
        }
    }

    fn supports(&self, join: &Join) -> bool {
        let protocols = &join.profile.protocols;
        if self.members.is_empty() {
            return !join.protocol_type.is_empty() && !protocols.is_empty();
        }
        self.protocol_type() == Some(join.protocol_type.as_str())
            && protocols.iter().any(|(name, _)| self.members.iter().all(|m| m.metadata(name).is_some()))
    }

    fn join_known(&mut self, join: Join, rules: JoinRules, now: Instant) -> Reply<Joined> {
        if self.pending.contains_key(&join.member_id) {
            let id = join.member_id.clone();
            return self.add(id, join, rules, now);
        }
        if let Err(code) = self.check_member(&join.member_id, join.profile.instance_id.as_deref()) {
            return refuse(code, &join);
        }
        let id = join.member_id.as_str();
        let is_leader = self.leader() == Some(id);
        let same = self.member(id).is_some_and(|member| member.profile.protocols == join.profile.protocols);
        match self.state {
            State::Empty => refuse(ErrorCode::UnknownMemberId, &join),
            // It may have missed the answer: the leader hears of all members again.
            State::Completing if same => {
                let members = if is_leader { self.subscriptions() } else { Vec::new() };
                Reply::Now(Joined { members, ..self.joined(id) })
            }
            State::Stable if same && !is_leader => Reply::Now(self.joined(id)),
            State::Preparing | State::Completing | State::Stable => {
                let (sender, receiver) = oneshot::channel();
                if let Some(member) = self.member_mut(id) {
                    member.profile = join.profile;
                    member.joining = Some(sender);
                    member.heard_of(now);
                }
                self.prepare_or_go_on(rules.initial_delay, now);
                Reply::Later(receiver)
            }
        }
    }

    fn add(&mut self, id: String, join: Join, rules: JoinRules, now: Instant) -> Reply<Joined> {
        if self.members.is_empty() {
            self.protocol_type = Some(join.protocol_type);
        }
        let (sender, receiver) = oneshot::channel();
        self.pending.remove(&id);
        let mut member = Member::new(id.clone(), join.profile);
        member.joining = Some(sender);
        member.expires = Some(now + NEW_MEMBER_JOINS_WITHIN);
        self.members.push(member);
        self.leader.get_or_insert(id);
        if let Some(initial) = &mut self.initial {
            initial.someone_came = true;
        }
        self.prepare_or_go_on(rules.initial_delay, now);
        Reply::Later(receiver)
    }

    /// A static member comes back under a new id; who used the old one is fenced.
    fn replace_static(&mut self, old: &str, join: Join, rules: JoinRules, now: Instant) -> Reply<Joined> {
        let (sender, receiver) = oneshot::channel();
        let (id, leader_before) = (join.new_id, self.leader.clone());
        if let Some(member) = self.member_mut(old) {
            member.answer_join(Joined::refused(ErrorCode::FencedInstanceId, old));
            member.answer_sync(Synced::refused(ErrorCode::FencedInstanceId));
            member.id.clone_from(&id);
            member.profile = join.profile;
            member.joining = Some(sender);
            member.heard_of(now);
        }
        if leader_before.as_deref() == Some(old) {
            self.leader = Some(id.clone());
        }
        match self.state {
            State::Stable if self.choose_protocol() == self.protocol => {
                let is_leader = self.leader() == Some(id.as_str());
                let joined = if join.may_skip {
                    let members = if is_leader { self.subscriptions() } else { Vec::new() };
                    Joined { skip_assignment: is_leader, members, ..self.joined(&id) }
                } else {
                    // Older clients would assign if they saw themselves lead: they see the old id.
                    Joined { leader: leader_before.unwrap_or_default(), ..self.joined(&id) }
                };
                if let Some(member) = self.member_mut(&id) {
                    member.answer_join(joined);
                }
                self.write();
            }
            State::Stable | State::Completing => self.prepare(now),
            State::Preparing | State::Empty => self.prepare_or_go_on(rules.initial_delay, now),
        }
        Reply::Later(receiver)
    }
}

fn refuse(code: ErrorCode, join: &Join) -> Reply<Joined> {
    Reply::Now(Joined::refused(code, join.member_id.clone()))
}

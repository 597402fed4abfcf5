//! A classic group, as a state machine without I/O: members join, the leader assigns, they heartbeat.
//!
//! `join` is entering and re-entering, `sync` the assignments, `rebalance` how a generation comes about;
//! here are heartbeats, leaving, commits, and what happens when a member is silent for too long.
//!
//! Invariant: in `Stable` and `CompletingRebalance` there is a leader and a protocol that all members
//! support; in `Empty` there is no member.

mod join;
mod member;
mod rebalance;
mod sync;

use std::collections::BTreeMap;
use std::time::Duration;

use ottla_protocol::ErrorCode;
use tokio::sync::oneshot::Receiver;
use tokio::time::Instant;

use super::{Committer, embedded};
pub(crate) use join::{Join, JoinRules};
pub(crate) use member::{Joined, Member, Profile, Synced};
use rebalance::{Initial, Written};
pub(crate) use sync::Sync;

/// An answer, or where it will come from.
#[derive(Debug)]
pub(crate) enum Reply<T> {
    Now(T),
    Later(Receiver<T>),
}

/// Where the group stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum State {
    #[default]
    Empty,
    /// Members are to join again.
    Preparing,
    /// All have joined; the leader is to assign.
    Completing,
    Stable,
}

impl State {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::Preparing => "PreparingRebalance",
            Self::Completing => "CompletingRebalance",
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
    /// In the order in which they came.
    members: Vec<Member>,
    /// Ids that were given to clients which have to join once more, and until when they may.
    pending: BTreeMap<String, Instant>,
    /// While the first generation after an empty one is prepared.
    initial: Option<Initial>,
    /// When the generation is made without those who have not joined.
    join_until: Option<Instant>,
    /// When those go who have not asked for their assignment.
    sync_until: Option<Instant>,
    /// What another coordinator would find.
    written: Written,
}

enum Due {
    Session(String),
    Pending(String),
    Join,
    Sync,
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

    /// Whether it has no members; those that are to join once more count.
    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty() && self.pending.is_empty()
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
        let topics = |member: &Member| member.metadata(protocol).and_then(embedded::subscribed_topics);
        self.members.iter().any(|m| topics(m).is_none_or(|topics| topics.iter().any(|name| name == topic)))
    }

    /// Whether a request comes from who it says.
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

    pub(crate) fn heartbeat(&mut self, member: Committer<'_>, now: Instant) -> Result<(), ErrorCode> {
        self.check_member(member.member_id, member.instance_id)?;
        self.check_generation(member.epoch)?;
        let state = self.state;
        if let Some(member) = self.member_mut(member.member_id) {
            member.heard_of(now);
        }
        // While the leader assigns, the members' clients may heartbeat already.
        match state {
            State::Empty => Err(ErrorCode::UnknownMemberId),
            State::Preparing => Err(ErrorCode::RebalanceInProgress),
            State::Completing | State::Stable => Ok(()),
        }
    }

    pub(crate) fn check_commit(&mut self, by: Committer<'_>, now: Instant) -> Result<(), ErrorCode> {
        if by.epoch < 0 && self.state == State::Empty {
            return Ok(());
        }
        if by.epoch < 0 && by.member_id.is_empty() && by.instance_id.is_none() {
            return Err(ErrorCode::UnknownMemberId);
        }
        self.check_member(by.member_id, by.instance_id)?;
        self.check_generation(by.epoch)?;
        if self.state == State::Completing {
            return Err(ErrorCode::RebalanceInProgress);
        }
        if let Some(member) = self.member_mut(by.member_id) {
            member.heard_of(now);
        }
        Ok(())
    }

    /// Takes members out, by id or as administrators do by instance id alone.
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
        if self.pending.remove(member_id).is_some() {
            return Ok(());
        }
        self.check_member(member_id, instance_id)?;
        self.remove(member_id);
        Ok(())
    }

    /// Ends a member's session.
    pub(crate) fn expire(&mut self, member_id: &str, now: Instant) -> Result<(), ErrorCode> {
        if self.pending.remove(member_id).is_none() {
            self.member(member_id).ok_or(ErrorCode::UnknownMemberId)?;
            self.remove(member_id);
        }
        self.after_removal(now);
        Ok(())
    }

    fn remove(&mut self, member_id: &str) {
        if let Some(at) = self.members.iter().position(|member| member.id == member_id) {
            let mut member = self.members.remove(at);
            member.answer_join(Joined::refused(ErrorCode::UnknownMemberId, ""));
            member.answer_sync(Synced::refused(ErrorCode::UnknownMemberId));
        }
        if self.leader.as_deref() == Some(member_id) {
            self.leader = self.members.first().map(|member| member.id.clone());
        }
    }

    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.dues().map(|(due, _)| due).min()
    }

    fn dues(&self) -> impl Iterator<Item = (Instant, Due)> {
        let sessions = self.members.iter().filter_map(|m| Some((m.expires?, Due::Session(m.id.clone()))));
        let pending = self.pending.iter().map(|(id, until)| (*until, Due::Pending(id.clone())));
        let join = self.join_until.map(|until| (until, Due::Join));
        let sync = self.sync_until.map(|until| (until, Due::Sync));
        sessions.chain(pending).chain(join).chain(sync)
    }

    /// Does what was to be done at `due`, the next moment of [`Self::next_due`].
    pub(crate) fn meet_deadline(&mut self, due: Instant) {
        let Some((_, what)) = self.dues().find(|(at, _)| *at == due) else { return };
        match what {
            Due::Session(id) => {
                if let Some(member) = self.member_mut(&id).filter(|member| member.is_kept_alive()) {
                    member.expires = None;
                } else {
                    self.remove(&id);
                    self.after_removal(due);
                }
            }
            Due::Pending(id) => {
                self.pending.remove(&id);
                self.after_removal(due);
            }
            Due::Join => self.end_of_joining(due),
            Due::Sync => {
                self.sync_until = None;
                let late: Vec<_> =
                    self.members.iter().filter(|m| m.owes_sync).map(|m| m.id.clone()).collect();
                late.iter().for_each(|id| self.remove(id));
                self.prepare(due);
            }
        }
    }
}

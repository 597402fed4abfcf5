//! How a generation comes about: prepare, wait for the members, elect a leader, choose a protocol.
//!
//! Invariant: a generation has only members that have joined it, and static ones that may come back.

use std::time::Duration;

use bytes::Bytes;
use ottla_protocol::ErrorCode;
use tokio::time::Instant;

use super::member::{Joined, Member, Subscription, Synced};
use super::{ClassicGroup, State};

/// A rebalance time-out of nothing must not make the clock stand still.
const ASK_AGAIN: Duration = Duration::from_millis(100);

/// The first generation after an empty one waits for more members to come.
#[derive(Debug, Clone, Copy)]
pub(super) struct Initial {
    /// For how long in one go.
    pub(super) delay: Duration,
    /// For how long more, at most.
    pub(super) remaining: Duration,
    /// Whether somebody has come meanwhile.
    pub(super) someone_came: bool,
}

/// What a coordinator has written to the log of its groups.
#[derive(Debug, Default)]
pub(super) struct Written {
    generation: i32,
    protocol_type: Option<String>,
    protocol: Option<String>,
    leader: Option<String>,
    members: Vec<Member>,
}

impl ClassicGroup {
    /// Starts a rebalance, or goes on with the one that has begun.
    pub(super) fn prepare_or_go_on(&mut self, initial_delay: Duration, now: Instant) {
        match self.state {
            State::Empty => {
                let remaining = self.rebalance_timeout().saturating_sub(initial_delay);
                self.initial = Some(Initial { delay: initial_delay, remaining, someone_came: false });
                self.join_until = Some(now + initial_delay);
                self.state = State::Preparing;
            }
            State::Completing | State::Stable => self.prepare(now),
            State::Preparing => self.go_on(now),
        }
    }

    /// Starts a rebalance of a group that has members.
    pub(super) fn prepare(&mut self, now: Instant) {
        if self.state == State::Completing {
            for member in &mut self.members {
                member.assignment = Bytes::new();
                if member.answer_sync(Synced::refused(ErrorCode::RebalanceInProgress)) {
                    member.heard_of(now);
                }
            }
        }
        self.sync_until = None;
        self.members.iter_mut().for_each(|member| member.owes_sync = false);
        self.state = State::Preparing;
        if self.all_joined() {
            self.complete(now);
        } else {
            self.join_until = Some(now + self.rebalance_timeout());
        }
    }

    /// Members or pending ids are gone.
    pub(super) fn after_removal(&mut self, now: Instant) {
        match self.state {
            State::Completing | State::Stable => self.prepare(now),
            State::Preparing if self.all_joined() => self.complete(now),
            State::Preparing | State::Empty => {}
        }
    }

    /// Makes the generation if nobody is missing; the first one waits for its time.
    pub(super) fn go_on(&mut self, now: Instant) {
        if self.initial.is_none() && self.all_joined() {
            self.complete(now);
        }
    }

    fn all_joined(&self) -> bool {
        self.pending.is_empty() && self.members.iter().all(|member| member.joining.is_some())
    }

    /// The time for joining is over.
    pub(super) fn end_of_joining(&mut self, due: Instant) {
        match &mut self.initial {
            Some(initial) if initial.someone_came && !initial.remaining.is_zero() => {
                let delay = initial.delay.min(initial.remaining);
                initial.remaining = initial.remaining.saturating_sub(initial.delay);
                initial.someone_came = false;
                self.join_until = Some(due + delay);
            }
            _ => self.complete(due),
        }
    }

    fn complete(&mut self, now: Instant) {
        self.members.retain(|member| member.joining.is_some() || member.profile.instance_id.is_some());
        if !self.elect_leader() && !self.members.is_empty() {
            // Only static members are left and none has come: their sessions will end, or they come.
            self.join_until = Some(now + self.rebalance_timeout().max(ASK_AGAIN));
            return;
        }
        self.join_until = None;
        self.initial = None;
        self.generation = self.generation.wrapping_add(1).max(1);
        if self.members.is_empty() {
            self.protocol = None;
            self.state = State::Empty;
            self.write();
            return;
        }
        self.protocol = self.choose_protocol();
        self.state = State::Completing;
        let all = self.subscriptions();
        let joined = self.joined("");
        for member in &mut self.members {
            let is_leader = self.leader.as_ref() == Some(&member.id);
            let members = if is_leader { all.clone() } else { Vec::new() };
            member.answer_join(Joined { member_id: member.id.clone(), members, ..joined.clone() });
            member.heard_of(now);
            member.is_new = false;
            member.owes_sync = true;
        }
        self.sync_until = Some(now + self.rebalance_timeout());
    }

    /// The leader stays if it has joined again; else one of those that have takes its place.
    fn elect_leader(&mut self) -> bool {
        let leads = |member: &&Member| self.leader.as_ref() == Some(&member.id);
        let has_joined = |member: &&Member| member.joining.is_some();
        let members = &self.members;
        let leader =
            members.iter().filter(leads).find(has_joined).or_else(|| members.iter().find(has_joined));
        let leader = leader.map(|member| member.id.clone());
        let found = leader.is_some();
        if found || members.is_empty() {
            self.leader = leader;
        }
        found
    }

    /// The current generation as the answer to a member's JoinGroup.
    pub(super) fn joined(&self, member_id: &str) -> Joined {
        Joined {
            error: None,
            member_id: member_id.to_owned(),
            generation: self.generation,
            protocol_type: self.protocol_type.clone(),
            protocol: self.protocol.clone(),
            leader: self.leader.clone().unwrap_or_default(),
            skip_assignment: false,
            members: Vec::new(),
        }
    }

    /// What the leader hears of all members.
    pub(super) fn subscriptions(&self) -> Vec<Subscription> {
        let protocol = self.protocol().unwrap_or_default();
        let of = |member: &Member| Subscription {
            member_id: member.id.clone(),
            instance_id: member.profile.instance_id.clone(),
            metadata: member.metadata(protocol).cloned().unwrap_or_default(),
        };
        self.members.iter().map(of).collect()
    }

    /// The protocol that most members prefer among those that all of them support.
    pub(super) fn choose_protocol(&self) -> Option<String> {
        let common = |name: &&String| self.members.iter().all(|member| member.metadata(name).is_some());
        let mut votes: Vec<(&String, usize)> = Vec::new();
        for member in &self.members {
            let Some(vote) = member.profile.protocols.iter().map(|(name, _)| name).find(common) else {
                continue;
            };
            match votes.iter_mut().find(|(name, _)| *name == vote) {
                Some((_, count)) => *count += 1,
                None => votes.push((vote, 1)),
            }
        }
        let most = votes.iter().map(|(_, count)| *count).max()?;
        votes.iter().find(|(_, count)| *count == most).map(|(name, _)| (*name).clone())
    }

    /// Writes the group down, as after each generation that has its assignment.
    pub(super) fn write(&mut self) {
        self.written = Written {
            generation: self.generation,
            protocol_type: self.protocol_type.clone(),
            protocol: self.protocol.clone(),
            leader: self.leader.clone(),
            members: self.members.iter().map(Member::stored).collect(),
        };
    }

    /// Another coordinator reads what was written; requests that wait are sent to it.
    pub(crate) fn reload(&mut self, now: Instant) {
        for member in &mut self.members {
            let id = member.id.clone();
            member.answer_join(Joined::refused(ErrorCode::NotCoordinator, id));
            member.answer_sync(Synced::refused(ErrorCode::NotCoordinator));
        }
        let written = std::mem::take(&mut self.written);
        let state = if written.members.is_empty() { State::Empty } else { State::Stable };
        *self = Self {
            state,
            generation: written.generation,
            protocol_type: written.protocol_type,
            protocol: written.protocol,
            leader: written.leader,
            members: written.members,
            ..Self::default()
        };
        self.members.iter_mut().for_each(|member| member.heard_of(now));
        self.write();
    }
}

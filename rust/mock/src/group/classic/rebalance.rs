//! The steps of a rebalance: prepare, wait for the members, elect a leader, choose a protocol.
//!
//! Invariant: a generation contains only members that have joined it, and static members that may return.

use std::time::Duration;

use bytes::Bytes;
use ottla_protocol::ErrorCode;
use tokio::time::Instant;

use super::member::{JoinGroupResult, JoinedMember, Member, SyncGroupResult};
use super::{ClassicGroup, State};

/// The minimum wait for static members: a rebalance timeout of 0 must not loop forever.
const MIN_REJOIN_WAIT: Duration = Duration::from_millis(100);

/// The initial rebalance delay, in which more members may join.
#[derive(Debug, Clone, Copy)]
pub(super) struct InitialDelay {
    /// How long it waits for the next member.
    pub(super) delay: Duration,
    /// How long it may wait beyond that.
    pub(super) remaining: Duration,
    /// Whether a member has joined in the current delay.
    pub(super) new_member_added: bool,
}

/// What the coordinator has persisted in `__consumer_offsets`.
#[derive(Debug, Default)]
pub(super) struct PersistedGroup {
    generation: i32,
    protocol_type: Option<String>,
    protocol: Option<String>,
    leader: Option<String>,
    members: Vec<Member>,
}

impl ClassicGroup {
    /// Starts a rebalance, or completes the current join phase if all members have joined.
    pub(super) fn prepare_or_complete_join(&mut self, initial_delay: Duration, now: Instant) {
        match self.state {
            State::Empty => {
                let remaining = self.rebalance_timeout().saturating_sub(initial_delay);
                self.initial_delay =
                    Some(InitialDelay { delay: initial_delay, remaining, new_member_added: false });
                self.join_deadline = Some(now + initial_delay);
                self.state = State::PreparingRebalance;
            }
            State::CompletingRebalance | State::Stable => self.prepare_rebalance(now),
            State::PreparingRebalance => self.maybe_complete_join(now),
        }
    }

    /// Starts a rebalance of a group with members.
    pub(super) fn prepare_rebalance(&mut self, now: Instant) {
        if self.state == State::CompletingRebalance {
            for member in &mut self.members {
                member.assignment = Bytes::new();
                if member.complete_sync(SyncGroupResult::error(ErrorCode::RebalanceInProgress)) {
                    member.renew_session(now);
                }
            }
        }
        self.sync_deadline = None;
        self.members.iter_mut().for_each(|member| member.pending_sync = false);
        self.state = State::PreparingRebalance;
        if self.all_joined() {
            self.complete_join_phase(now);
        } else {
            self.join_deadline = Some(now + self.rebalance_timeout());
        }
    }

    /// Reacts to the removal of members or pending ids.
    pub(super) fn after_removal(&mut self, now: Instant) {
        match self.state {
            State::CompletingRebalance | State::Stable => self.prepare_rebalance(now),
            State::PreparingRebalance if self.all_joined() => self.complete_join_phase(now),
            State::PreparingRebalance | State::Empty => {}
        }
    }

    /// Completes the join phase if all members have joined; an initial delay must pass first.
    pub(super) fn maybe_complete_join(&mut self, now: Instant) {
        if self.initial_delay.is_none() && self.all_joined() {
            self.complete_join_phase(now);
        }
    }

    fn all_joined(&self) -> bool {
        self.pending_members.is_empty() && self.members.iter().all(|member| member.awaiting_join.is_some())
    }

    /// Handles the end of the time for joining.
    pub(super) fn on_join_deadline(&mut self, deadline: Instant) {
        match &mut self.initial_delay {
            Some(initial_delay) if initial_delay.new_member_added && !initial_delay.remaining.is_zero() => {
                let delay = initial_delay.delay.min(initial_delay.remaining);
                initial_delay.remaining = initial_delay.remaining.saturating_sub(initial_delay.delay);
                initial_delay.new_member_added = false;
                self.join_deadline = Some(deadline + delay);
            }
            _ => self.complete_join_phase(deadline),
        }
    }

    fn complete_join_phase(&mut self, now: Instant) {
        self.members.retain(|member| member.awaiting_join.is_some() || member.profile.instance_id.is_some());
        if !self.elect_leader() && !self.members.is_empty() {
            // Only static members are left and none has joined: wait until one joins or its session expires.
            self.join_deadline = Some(now + self.rebalance_timeout().max(MIN_REJOIN_WAIT));
            return;
        }
        self.join_deadline = None;
        self.initial_delay = None;
        self.generation = self.generation.wrapping_add(1).max(1);
        if self.members.is_empty() {
            self.protocol = None;
            self.state = State::Empty;
            self.persist();
            return;
        }
        self.protocol = self.choose_protocol();
        self.state = State::CompletingRebalance;
        let all = self.joined_members();
        let joined = self.joined("");
        for member in &mut self.members {
            let is_leader = self.leader.as_ref() == Some(&member.id);
            let members = if is_leader { all.clone() } else { Vec::new() };
            member.complete_join(JoinGroupResult { member_id: member.id.clone(), members, ..joined.clone() });
            member.renew_session(now);
            member.is_new = false;
            member.pending_sync = true;
        }
        self.sync_deadline = Some(now + self.rebalance_timeout());
    }

    /// Keeps the leader if it has rejoined, else elects a member that has; returns whether there is a leader.
    fn elect_leader(&mut self) -> bool {
        let leads = |member: &&Member| self.leader.as_ref() == Some(&member.id);
        let has_joined = |member: &&Member| member.awaiting_join.is_some();
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

    /// The current generation as the result of a member's JoinGroup.
    pub(super) fn joined(&self, member_id: &str) -> JoinGroupResult {
        JoinGroupResult {
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

    /// All members, for the leader's response.
    pub(super) fn joined_members(&self) -> Vec<JoinedMember> {
        let protocol = self.protocol().unwrap_or_default();
        let of = |member: &Member| JoinedMember {
            member_id: member.id.clone(),
            instance_id: member.profile.instance_id.clone(),
            metadata: member.metadata(protocol).cloned().unwrap_or_default(),
        };
        self.members.iter().map(of).collect()
    }

    /// Selects the protocol that most members prefer among those that all support.
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

    /// Persists the group, as Kafka does after each assignment.
    pub(super) fn persist(&mut self) {
        self.persisted = PersistedGroup {
            generation: self.generation,
            protocol_type: self.protocol_type.clone(),
            protocol: self.protocol.clone(),
            leader: self.leader.clone(),
            members: self.members.iter().map(Member::persisted).collect(),
        };
    }

    /// Restores the persisted group on a new coordinator; waiting requests get NOT_COORDINATOR.
    pub(crate) fn reload(&mut self, now: Instant) {
        for member in &mut self.members {
            let id = member.id.clone();
            member.complete_join(JoinGroupResult::error(ErrorCode::NotCoordinator, id));
            member.complete_sync(SyncGroupResult::error(ErrorCode::NotCoordinator));
        }
        let persisted = std::mem::take(&mut self.persisted);
        let state = if persisted.members.is_empty() { State::Empty } else { State::Stable };
        *self = Self {
            state,
            generation: persisted.generation,
            protocol_type: persisted.protocol_type,
            protocol: persisted.protocol,
            leader: persisted.leader,
            members: persisted.members,
            ..Self::default()
        };
        self.members.iter_mut().for_each(|member| member.renew_session(now));
        self.persist();
    }
}

//! A member of a classic group, as a state machine without I/O: JoinGroup, SyncGroup, Heartbeat,
//! LeaveGroup, and what the application has to do in between.
//!
//! Invariants: JoinGroup goes out only when the application has nothing left to do, so that nobody
//! reads what another member is given. With an eager protocol everything was given up before, with
//! a cooperative one (KIP-429) only what moves, after the assignment and before joining again.
//! Heartbeats go out whatever the application does, until it has not polled for
//! `max.poll.interval.ms`. What was lost is told apart from what is revoked by the generation.

mod events;
mod heartbeat;
mod joining;
mod leaving;
mod strategy;

use std::collections::BTreeSet;
use std::sync::Arc;

use ottla_protocol::ErrorCode;
use tokio::time::Instant;

use self::heartbeat::Beats;
pub(super) use self::strategy::Strategy;
use super::machine::{Core, Refused};
use super::refusal::{Failure, refusal};
use super::settings::GroupSettings;
use crate::consumer::assignor::{self, LastAssignment};
use crate::consumer::group::rebalance_queue::Change;
use crate::environment::Environment;
use crate::error::Error;
use crate::retry::recovery::{Recovery, recovery};
use crate::topic_partition::TopicPartition;

/// The type of protocol that consumers speak in JoinGroup.
const PROTOCOL_TYPE: &str = "consumer";

/// Where a member is.
#[derive(Debug)]
enum Phase {
    /// Not subscribed.
    Idle,
    /// Subscribed, and to join when the application has nothing left to do.
    Outside,
    /// JoinGroup is on its way.
    Joining,
    /// This member leads the group, and its assignor is at work.
    Assigning,
    /// SyncGroup is on its way.
    Syncing,
    /// A member of the current generation, as far as it knows.
    Stable,
    /// To leave when the application has given everything up; then LeaveGroup's ticket.
    Leaving { ticket: Option<u64>, until: Instant },
    /// Has left because the application does not poll.
    Away,
    /// Not in the group, for a reason that the application is told.
    Failed(Failure),
}

/// A member of a classic group.
#[derive(Debug)]
pub struct Classic {
    core: Core,
    cooperative: bool,
    phase: Phase,
    topics: BTreeSet<Arc<str>>,
    /// The topics that the group knows that this member has subscribed to.
    joined: Option<BTreeSet<Arc<str>>>,
    /// What the application has, until it has acknowledged otherwise.
    owned: BTreeSet<TopicPartition>,
    last: LastAssignment,
    member_id: Arc<str>,
    /// -1 if there is none.
    generation: i32,
    /// The assignor that the group has agreed on.
    protocol: Option<String>,
    /// Why to join again, if there is a reason.
    rejoin: Option<&'static str>,
    /// Of JoinGroup, assigning, or SyncGroup, whichever is under way.
    ticket: u64,
    beats: Beats,
    /// What the assignment was made of, if this member made it.
    leads: Option<(Vec<Arc<str>>, assignor::Topics)>,
    /// Whether to join again after leaving.
    again: bool,
}

impl Classic {
    /// A member that has not subscribed yet. `cooperative` says that all its assignors are.
    #[must_use]
    pub fn new(settings: GroupSettings, cooperative: bool, environment: Environment) -> Self {
        Self {
            cooperative,
            phase: Phase::Idle,
            topics: BTreeSet::new(),
            joined: None,
            owned: BTreeSet::new(),
            last: LastAssignment::default(),
            member_id: "".into(),
            generation: -1,
            protocol: None,
            rejoin: None,
            ticket: 0,
            beats: Beats::new(&settings),
            leads: None,
            again: false,
            core: Core::new(settings, environment),
        }
    }

    /// Asks for another round. Who has no generation joins anew.
    fn rejoin(&mut self, why: &'static str) {
        tracing::debug!(target: "ottla.group", group = %self.core.settings.group_id, generation = self.generation, why, "to join again");
        self.rejoin = Some(why);
    }

    /// Back before JoinGroup, with the generation that there was.
    fn step_back(&mut self, why: &'static str) {
        self.phase = Phase::Outside;
        self.ticket = 0;
        self.beats.stop();
        self.rejoin(why);
    }

    /// The group has gone on without this member: what it has is lost.
    fn lose(&mut self, why: &'static str, keep_id: bool) {
        self.forget_generation(keep_id);
        self.core.desk.withdraw();
        self.step_back(why);
    }

    fn forget_generation(&mut self, keep_id: bool) {
        self.generation = -1;
        self.leads = None;
        if !keep_id {
            self.member_id = "".into();
        }
    }

    /// Not in the group, for a reason that is the application's matter.
    fn fail(&mut self, error: Error) {
        tracing::warn!(target: "ottla.group", group = %self.core.settings.group_id, %error, "this member is not in its group");
        let failure = Failure::new(error);
        if failure.lasting {
            self.forget_generation(false);
        }
        self.core.desk.withdraw();
        self.beats.stop();
        self.rejoin = None;
        self.phase = Phase::Failed(failure);
    }

    /// What a code means that any request may be answered with.
    fn refused(&mut self, now: Instant, refused: Refused) {
        let (code, message) = match refused {
            Refused::Code(code, message) => (code, message),
            Refused::Unreached(_) => {
                self.core.find_coordinator();
                return self.core.wait(now);
            }
            Refused::Hopeless(error) => return self.fail(error),
        };
        match (code, recovery(code)) {
            (ErrorCode::RebalanceInProgress, _) => self.rejoin("the group rebalances"),
            (ErrorCode::IllegalGeneration, _) => {
                self.lose("the group has moved on to another generation", true);
                self.core.again(now);
            }
            (_, Recovery::Rejoin | Recovery::AwaitEpoch) => {
                self.lose("the coordinator does not know this member any more", false);
                self.core.again(now);
            }
            (_, Recovery::FindCoordinator) => {
                self.core.find_coordinator();
                self.core.wait(now);
            }
            (_, Recovery::Backoff | Recovery::Refresh) => self.core.wait(now),
            _ => self.fail(refusal(&self.core.settings, code, message.as_deref())),
        }
    }

    /// Of the topics, what makes a difference to the assignment: racks only if this member has one.
    fn seen(&self, mut topics: assignor::Topics) -> assignor::Topics {
        if self.core.settings.rack.is_none() {
            topics.values_mut().flatten().for_each(|partition| partition.racks.clear());
        }
        topics
    }

    /// What has to be given up before the next step; `None` if there is nothing.
    fn to_give_up(&self) -> Option<Change> {
        if self.owned.is_empty() {
            return None;
        }
        if self.generation < 0 {
            return Some(Change::Lost(self.owned.iter().cloned().collect()));
        }
        let subscribed = |partition: &&TopicPartition| self.topics.contains(&partition.0);
        let keeps = self.cooperative && matches!(self.phase, Phase::Outside | Phase::Stable);
        let given: Vec<_> = self.owned.iter().filter(|p| !(keeps && subscribed(p))).cloned().collect();
        (!given.is_empty()).then_some(Change::Revoke(given))
    }

    /// Goes on to what is next, if the application has done its part.
    fn advance(&mut self, now: Instant) {
        if !self.core.desk.is_clear() {
            return;
        }
        let change = match &mut self.phase {
            Phase::Idle | Phase::Joining | Phase::Assigning | Phase::Syncing => return,
            Phase::Outside | Phase::Stable => {
                if self.rejoin.is_none() || !self.core.pause.is_over(now) {
                    return;
                }
                self.to_give_up()
            }
            Phase::Leaving { ticket: Some(_), .. } => return,
            Phase::Leaving { .. } => self.to_give_up(),
            Phase::Away => self.to_give_up(),
            Phase::Failed(failure) if failure.lasting && !self.owned.is_empty() => self.to_give_up(),
            Phase::Failed(failure) if failure.told => None,
            Phase::Failed(failure) => {
                failure.told = true;
                Some(Change::Failed(failure.error.clone()))
            }
        };
        match (change, &self.phase) {
            (Some(change), _) => self.core.desk.put(change),
            (None, Phase::Outside | Phase::Stable) => self.send_join(),
            (None, Phase::Leaving { until, .. }) => {
                let until = *until;
                self.send_leave(now, until);
            }
            (None, _) => {}
        }
    }
}

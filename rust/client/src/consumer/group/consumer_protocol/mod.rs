//! A member of a group of KIP-848, as a state machine without I/O: one request, ConsumerGroupHeartbeat,
//! and what the application has to do to get from what it has to what it was given.
//!
//! Invariants: a heartbeat carries everything when the coordinator may know something else than this
//! member believes (on joining, after a failure), so that an answer that was lost never gets a live
//! member fenced; otherwise it carries what has changed. What the application has not given up is
//! reported as owned, and what it does not have yet is not. Each new assignment is answered with what
//! is owned once there is nothing left to do for it, even if that is what was owned before: a partition
//! may have been given and taken away again before the application looked. A partition whose topic the metadata does
//! not know yet is waited for.

mod events;
mod heartbeat;
mod reconcile;
mod refused;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use ottla_protocol::wire::Uuid;
use tokio::time::{Duration, Instant};

use self::heartbeat::Sent;
use super::machine::{Core, Topics};
use super::refusal::Failure;
use super::settings::GroupSettings;
use super::timers::Pause;
use crate::consumer::group::rebalance_queue::Change;
use crate::environment::Environment;

/// Where a member is.
#[derive(Debug)]
enum Phase {
    /// Not subscribed.
    Idle,
    /// Out of the group, or thrown out: joins when the application has let go of what it lost.
    Outside,
    /// The heartbeat that joins is on its way, or will be.
    Joining,
    /// In the group.
    Member,
    /// To leave when the application has given everything up; then the last heartbeat's ticket.
    /// `known` says that the coordinator may know of it.
    Leaving { ticket: Option<u64>, until: Instant, known: bool },
    /// Has left because the application does not poll.
    Away,
    /// Not in the group, for a reason that the application is told.
    Failed(Failure),
}

/// A partition of a topic by its id: a topic that was deleted and made again is another one.
type Partition = (Uuid, i32);

/// A member of a group of KIP-848.
#[derive(Debug)]
pub struct ConsumerProtocol {
    core: Core,
    phase: Phase,
    topics: Topics,
    member_id: Arc<str>,
    /// 0 before it has joined.
    epoch: i32,
    /// What the coordinator wants this member to have; `None` before it has said so.
    target: Option<BTreeSet<Partition>>,
    /// Whether the coordinator has not heard yet that the application has done what `target` asks for.
    unanswered: bool,
    /// What the application has, until it has acknowledged otherwise.
    owned: BTreeSet<Partition>,
    /// What is on the desk, by ids.
    pending: Option<Step>,
    /// Whether the application was told of an assignment since the member joined.
    assigned: bool,
    names: HashMap<Uuid, Arc<str>>,
    /// Between asking for names.
    resolving: Pause,
    sent: Option<Sent>,
    sent_at: Instant,
    ticket: Option<u64>,
    interval: Duration,
    /// When the next heartbeat is due, if there is no news to tell before.
    due: Instant,
    /// Whether to join again after leaving.
    again: bool,
}

/// What a change on the desk is about, by ids.
#[derive(Debug)]
enum Step {
    GiveUp(Vec<Partition>),
    Take(Vec<Partition>),
}

impl ConsumerProtocol {
    /// A member that has not subscribed yet. Its id is its own choice (KIP-1082), and stays.
    #[must_use]
    pub fn new(settings: GroupSettings, environment: Environment, now: Instant) -> Self {
        Self {
            phase: Phase::Idle,
            topics: Topics::default(),
            member_id: environment.uuid().to_string().into(),
            epoch: 0,
            target: None,
            unanswered: false,
            owned: BTreeSet::new(),
            pending: None,
            assigned: false,
            names: HashMap::new(),
            resolving: Pause::new(settings.backoff),
            sent: None,
            sent_at: now,
            ticket: None,
            interval: Duration::ZERO,
            due: now,
            again: false,
            core: Core::new(settings, environment),
        }
    }

    /// Out of the group: what the application has is lost.
    fn step_out(&mut self) {
        self.epoch = 0;
        (self.target, self.sent, self.ticket) = (None, None, None);
        (self.assigned, self.unanswered) = (false, false);
        self.withdraw();
    }

    /// Takes back what the application has not seen yet.
    fn withdraw(&mut self) {
        self.core.desk.withdraw();
        if self.core.desk.is_clear() {
            self.pending = None;
        }
    }

    /// Goes on to what is next, if the application has done its part.
    fn advance(&mut self, now: Instant) {
        if !self.core.desk.is_clear() {
            return;
        }
        match &mut self.phase {
            Phase::Idle | Phase::Joining | Phase::Leaving { ticket: Some(_), .. } => {}
            Phase::Member => self.reconcile(now),
            Phase::Outside => {
                if !self.give_up(false) {
                    self.phase = Phase::Joining;
                    self.due = self.core.pause.until().unwrap_or(now);
                }
            }
            Phase::Leaving { .. } => {
                if !self.give_up(self.epoch > 0) {
                    self.send_leave(now);
                }
            }
            Phase::Away => {
                self.give_up(false);
            }
            Phase::Failed(failure) => {
                let telling = (!failure.told).then(|| failure.error.clone());
                if !self.give_up(false)
                    && let Some(error) = telling
                {
                    self.core.desk.put(Change::Failed(error));
                    if let Phase::Failed(failure) = &mut self.phase {
                        failure.told = true;
                    }
                }
            }
        }
    }

    /// Leaves when the application has not polled in time.
    fn check_polls(&mut self, now: Instant) {
        if self.must_poll() && self.core.polls.is_over(now) {
            self.core.left_behind();
            if self.epoch > 0 {
                let ask = self.leave_request();
                self.core.send(ask);
            }
            self.step_out();
            self.phase = match self.phase {
                Phase::Leaving { until, .. } => Phase::Leaving { ticket: None, until, known: false },
                _ => Phase::Away,
            };
        }
    }

    /// Whether the application has to poll. Who leaves has to as well: others wait for what it gives up.
    fn must_poll(&self) -> bool {
        match self.phase {
            Phase::Outside | Phase::Joining | Phase::Member => true,
            Phase::Leaving { ticket, .. } => ticket.is_none() && self.epoch > 0,
            _ => false,
        }
    }

    /// Whether heartbeats go out.
    fn beats(&self) -> bool {
        match self.phase {
            Phase::Joining | Phase::Member => true,
            // The member is in the group until the application has given everything up.
            Phase::Leaving { ticket, .. } => ticket.is_none() && self.epoch > 0,
            _ => false,
        }
    }
}

/// Partitions grouped by topic, as requests carry them.
fn by_topic(partitions: &BTreeSet<Partition>) -> BTreeMap<Uuid, Vec<i32>> {
    let mut topics: BTreeMap<Uuid, Vec<i32>> = BTreeMap::new();
    for (topic, partition) in partitions {
        topics.entry(*topic).or_default().push(*partition);
    }
    topics
}

//! What both protocols have in common: a member is a state machine without I/O. It is told what
//! happens and when, and says what to do; `driver.rs` does it.
//!
//! Invariant: an answer to a request that the member does not wait for any more changes nothing;
//! tickets tell them apart.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::consumer_group_heartbeat::{
    ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse,
};
use ottla_protocol::messages::heartbeat::{HeartbeatRequest, HeartbeatResponse};
use ottla_protocol::messages::join_group::{JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember};
use ottla_protocol::messages::leave_group::{LeaveGroupRequest, LeaveGroupResponse};
use ottla_protocol::messages::sync_group::{SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse};
use ottla_protocol::wire::Uuid;
use tokio::time::Instant;

use super::settings::GroupSettings;
use super::timers::{Pause, Polls};
use crate::consumer::Member;
use crate::consumer::assignor::{self, LastAssignment, MemberAssignment, MemberSubscription};
use crate::consumer::group::rebalance_queue::Desk;
use crate::environment::Environment;
use crate::error::Error;
use crate::metadata::Snapshot;
use crate::retry::recovery::{Recovery, recovery};

/// A request to the group's coordinator.
#[derive(Debug, Clone, PartialEq)]
pub enum Ask {
    /// Join a classic group. Each assignor adds its protocol to the request: what the member tells
    /// of itself, and what it was last given.
    Join {
        /// The request, still without protocols.
        request: JoinGroupRequest,
        /// What the member tells of itself.
        subscription: MemberSubscription,
        /// What it was last given.
        last: LastAssignment,
    },
    /// Get the assignment in a classic group.
    Sync(SyncGroupRequest),
    /// Be alive in a classic group.
    Heartbeat(HeartbeatRequest),
    /// Leave a classic group.
    Leave(LeaveGroupRequest),
    /// All of it in a group of KIP-848.
    ConsumerHeartbeat(ConsumerGroupHeartbeatRequest),
}

/// What came back.
#[derive(Debug, Clone)]
pub enum Answer {
    /// To [`Ask::Join`].
    Join(JoinGroupResponse),
    /// To [`Ask::Sync`].
    Sync(SyncGroupResponse),
    /// To [`Ask::Heartbeat`].
    Heartbeat(HeartbeatResponse),
    /// To [`Ask::Leave`].
    Leave(LeaveGroupResponse),
    /// To [`Ask::ConsumerHeartbeat`].
    ConsumerHeartbeat(ConsumerGroupHeartbeatResponse),
    /// The outcome of [`Action::Assign`].
    Assigned(Assigned),
    /// No answer.
    Failed(Error),
}

/// The assignment that a leader's assignor made.
#[derive(Debug, Clone, Default)]
pub struct Assigned {
    /// Each member's part.
    pub assignments: Vec<SyncGroupRequestAssignment>,
    /// The topics of all members.
    pub names: Vec<Arc<str>>,
    /// Their partitions, as they were looked at.
    pub topics: assignor::Topics,
}

/// What a member wants done.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Send this to the coordinator, and process the answer under the same ticket.
    Send {
        /// Tells the answer from others.
        ticket: u64,
        /// The request.
        ask: Box<Ask>,
    },
    /// Forget who the coordinator is; the next request looks for it.
    FindCoordinator,
    /// Assign the partitions, as the leader of a classic group.
    Assign {
        /// Tells the outcome from others.
        ticket: u64,
        /// The assignor that the group agreed on.
        protocol: String,
        /// All members with their subscriptions.
        members: Vec<JoinGroupResponseMember>,
        /// Whether the group keeps the assignment that it has (KIP-814): the leader only takes note
        /// of the topics.
        skip: bool,
    },
    /// Tell the assignor that the group agreed on what this member was given.
    Tell {
        /// The assignor.
        protocol: String,
        /// What the member was given.
        assignment: MemberAssignment,
        /// In which generation.
        generation: i32,
    },
    /// Find out which topics have these ids, and tell by [`Machine::metadata`].
    Resolve(Vec<Uuid>),
}

/// What a member has subscribed to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Topics {
    /// Topics by name.
    pub names: BTreeSet<Arc<str>>,
    /// A pattern that the brokers match (KIP-848, RE2J).
    pub regex: Option<String>,
}

/// A member of a group, of either protocol.
pub trait Machine: Send + fmt::Debug {
    /// Subscribes, or subscribes to something else.
    fn subscribe(&mut self, now: Instant, topics: Topics);
    /// Gives everything up and leaves, when the application has acknowledged that.
    fn unsubscribe(&mut self, now: Instant);
    /// Leaves now, whatever the application still has to do.
    fn leave(&mut self, now: Instant);
    /// The application polls. Says whether that changes anything: who has left for lack of it joins
    /// again, and who was refused tries again or is told again.
    fn polled(&mut self, now: Instant) -> bool;
    /// The application has done what it took from the desk.
    fn acknowledge(&mut self, now: Instant);
    /// Something else that was asked for as this member was refused.
    fn trouble(&mut self, now: Instant, sent_as: &Member, code: ErrorCode);
    /// The metadata is another.
    fn metadata(&mut self, now: Instant, snapshot: &Snapshot);
    /// What has come under a ticket.
    fn process(&mut self, now: Instant, ticket: u64, answer: Answer);
    /// What is to be done now.
    fn poll(&mut self, now: Instant) -> Vec<Action>;
    /// When to poll again, if nothing happens before.
    fn next(&self) -> Option<Instant>;
    /// Who this member is.
    fn member(&self) -> Member;
    /// Topics whose metadata it depends on.
    fn topics(&self) -> Vec<Arc<str>>;
    /// Whether it is in no group and does not want to be in one.
    fn is_idle(&self) -> bool;
    /// What the protocols share.
    fn core(&mut self) -> &mut Core;
}

/// What the protocols share.
#[derive(Debug)]
pub struct Core {
    pub(super) settings: GroupSettings,
    pub(super) environment: Environment,
    /// What the application has to do.
    pub desk: Desk,
    pub(super) polls: Polls,
    pub(super) pause: Pause,
    /// Why the member left its group without being asked to, if it did.
    pub why_left: Option<Arc<str>>,
    pub(super) actions: Vec<Action>,
    tickets: u64,
}

impl Core {
    pub(super) fn new(settings: GroupSettings, environment: Environment) -> Self {
        Self {
            desk: Desk::default(),
            polls: Polls::new(settings.max_poll_interval),
            pause: Pause::new(settings.backoff),
            why_left: None,
            actions: Vec::new(),
            tickets: 0,
            settings,
            environment,
        }
    }

    pub(super) fn ticket(&mut self) -> u64 {
        self.tickets += 1;
        self.tickets
    }

    pub(super) fn send(&mut self, ask: Ask) -> u64 {
        let ticket = self.ticket();
        self.actions.push(Action::Send { ticket, ask: Box::new(ask) });
        ticket
    }

    pub(super) fn find_coordinator(&mut self) {
        self.actions.push(Action::FindCoordinator);
    }

    pub(super) fn wait(&mut self, now: Instant) {
        self.pause.fail(now, &self.environment);
    }

    /// A request to leave was refused: says whether to send it once more, and gets ready for that. If
    /// not, there is nobody to tell any more.
    pub(super) fn leave_again(&mut self, now: Instant, refused: &Refused) -> bool {
        match refused {
            Refused::Unreached(_) => self.find_coordinator(),
            Refused::Code(code, _) => match recovery(*code) {
                Recovery::FindCoordinator => self.find_coordinator(),
                Recovery::Backoff | Recovery::Refresh => {}
                _ => return false,
            },
            Refused::Hopeless(_) => return false,
        }
        self.wait(now);
        true
    }

    pub(super) fn again(&mut self, now: Instant) {
        self.pause.again(now, &self.environment);
    }

    /// The application has not polled in time: says so, in the log and to whoever asks.
    pub(super) fn left_behind(&mut self) {
        let words = format!(
            "the application has not polled for max.poll.interval.ms ({} ms), so this member has left the group {}: it joins again with the next poll. Poll more often, take fewer records at a time, or raise max.poll.interval.ms",
            self.settings.max_poll_interval.as_millis(),
            self.settings.group_id
        );
        tracing::warn!(target: "ottla.group", group = %self.settings.group_id, "{words}");
        self.why_left = Some(words.into());
    }
}

/// Why an answer is of no use.
#[derive(Debug)]
pub(super) enum Refused {
    /// The coordinator said so, with its words.
    Code(ErrorCode, Option<String>),
    /// No coordinator was reached, or it did not answer; trying again may help.
    Unreached(Error),
    /// Neither, and trying again would not help.
    Hopeless(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        match error.code() {
            Some(code) if recovery(code) == Recovery::Application => Self::Hopeless(error),
            // There is no coordinator yet, say.
            Some(code) => Self::Code(code, None),
            None if error.is_transient() => Self::Unreached(error),
            None => Self::Hopeless(error),
        }
    }
}

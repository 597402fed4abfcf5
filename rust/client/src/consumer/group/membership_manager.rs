//! The interface and the shared parts of the group protocols: a member is a state machine without I/O. It
//! takes events and the time, and returns actions for `driver.rs` to run.
//!
//! Invariant: a response to an abandoned request changes nothing; request ids tell responses apart.

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
use ottla_protocol::messages::share_group_heartbeat::{
    ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse,
};
use ottla_protocol::messages::sync_group::{SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse};
use ottla_protocol::wire::Uuid;
use tokio::time::Instant;

use super::release_watch::Assigned;
use super::settings::GroupSettings;
use super::timers::{BackoffTimer, PollTimer};
use crate::consumer::assignor::{self, LastAssignment, MemberAssignment, MemberSubscription};
use crate::consumer::group::rebalance_queue::RebalanceQueue;
use crate::environment::Environment;
use crate::error::Error;
use crate::error::recovery::{Recovery, recovery};
use crate::group_offsets::ConsumerGroupMetadata;
use crate::metadata::Snapshot;

/// A request to the group's coordinator.
#[derive(Debug, Clone, PartialEq)]
pub enum GroupRequest {
    /// Join a classic group. Each assignor adds its protocol to the request, made from the subscription and
    /// the last assignment.
    Join {
        /// The request, without protocols.
        request: JoinGroupRequest,
        /// The member's subscription.
        subscription: MemberSubscription,
        /// The member's last assignment.
        last: LastAssignment,
    },
    /// Get the assignment in a classic group.
    Sync(SyncGroupRequest),
    /// Send a heartbeat to a classic group.
    Heartbeat(HeartbeatRequest),
    /// Leave a classic group.
    Leave(LeaveGroupRequest),
    /// Join, heartbeat or leave in a KIP-848 group.
    ConsumerHeartbeat(ConsumerGroupHeartbeatRequest),
    /// Join, heartbeat or leave in a share group (KIP-932).
    ShareHeartbeat(ShareGroupHeartbeatRequest),
}

/// A response to a [`GroupRequest`], or the outcome of [`Action::Assign`].
#[derive(Debug, Clone)]
pub enum GroupResponse {
    /// To [`GroupRequest::Join`].
    Join(JoinGroupResponse),
    /// To [`GroupRequest::Sync`].
    Sync(SyncGroupResponse),
    /// To [`GroupRequest::Heartbeat`].
    Heartbeat(HeartbeatResponse),
    /// To [`GroupRequest::Leave`].
    Leave(LeaveGroupResponse),
    /// To [`GroupRequest::ConsumerHeartbeat`].
    ConsumerHeartbeat(ConsumerGroupHeartbeatResponse),
    /// To [`GroupRequest::ShareHeartbeat`].
    ShareHeartbeat(ShareGroupHeartbeatResponse),
    /// To [`Action::Assign`].
    Assigned(LeaderAssignment),
    /// No response.
    Failed(Error),
}

impl GroupResponse {
    /// The error after which the same request is sent again, if the response is one. A heartbeat that calls
    /// for a rebalance is none.
    pub(super) fn retry_cause(&self) -> Option<Error> {
        let code = match self {
            Self::Join(response) => response.error_code,
            Self::Sync(response) => response.error_code,
            Self::Heartbeat(response) => response.error_code,
            Self::Leave(response) => response.error_code,
            Self::ConsumerHeartbeat(response) => response.error_code,
            Self::ShareHeartbeat(response) => response.error_code,
            Self::Assigned(_) => return None,
            Self::Failed(error) => return error.may_pass().then(|| error.clone()),
        };
        let code = ErrorCode::from(code);
        let recovery = recovery(code);
        (recovery.retries() || matches!(recovery, Recovery::FindCoordinator | Recovery::Passing))
            .then(|| Error::from_code(code))
    }
}

/// The assignment that the leader's assignor made.
#[derive(Debug, Clone, Default)]
pub struct LeaderAssignment {
    /// The encoded assignment of each member.
    pub assignments: Vec<SyncGroupRequestAssignment>,
    /// The topics of all members.
    pub names: Vec<Arc<str>>,
    /// The partitions of these topics that the assignor saw.
    pub topics: assignor::Topics,
}

/// An action that a member requests from its driver.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Send a request to the coordinator, and pass the response to the member.
    Send {
        /// Identifies the response.
        request_id: u64,
        /// The request.
        request: Box<GroupRequest>,
    },
    /// Forget the coordinator; the next request looks it up again.
    FindCoordinator,
    /// Assign the partitions, as the leader of a classic group.
    Assign {
        /// Identifies the outcome.
        request_id: u64,
        /// The assignor that the group chose.
        protocol: String,
        /// All members and their subscriptions.
        members: Vec<JoinGroupResponseMember>,
        /// Whether the group keeps its assignment (KIP-814), and the leader only records the topics.
        skip_assignment: bool,
    },
    /// Notify the chosen assignor of this member's assignment.
    NotifyAssignor {
        /// The assignor.
        protocol: String,
        /// The member's assignment.
        assignment: MemberAssignment,
        /// Its generation.
        generation: i32,
    },
    /// Refresh the metadata of the topics with these ids, for [`MembershipManager::update_metadata`].
    Resolve(Vec<Uuid>),
}

/// The subscription of a member.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SubscribedTopics {
    /// Topics by name.
    pub names: BTreeSet<Arc<str>>,
    /// A pattern that the brokers match (KIP-848, RE2J).
    pub regex: Option<String>,
}

/// A member of a group, of either protocol.
pub trait MembershipManager: Send + fmt::Debug {
    /// Subscribes, or changes the subscription.
    fn subscribe(&mut self, now: Instant, topics: SubscribedTopics);
    /// Gives up all partitions and leaves once the application has completed that event.
    fn unsubscribe(&mut self, now: Instant);
    /// Leaves at once, without waiting for the application.
    fn leave(&mut self, now: Instant);
    /// Handles a poll of the application. Returns whether it changes anything: a member that left because
    /// of the poll timeout rejoins, and a rejected one retries or reports its error again.
    fn on_poll(&mut self, now: Instant) -> bool;
    /// Completes the event that the application has handled.
    fn complete_event(&mut self, now: Instant);
    /// Handles the error code of another request sent under this member's identity, such as a commit.
    fn report_error(&mut self, now: Instant, sent_as: &ConsumerGroupMetadata, code: ErrorCode);
    /// Handles new metadata.
    fn update_metadata(&mut self, now: Instant, snapshot: &Snapshot);
    /// Handles the response to a request.
    fn process_response(&mut self, now: Instant, request_id: u64, response: GroupResponse);
    /// Returns the actions that are due.
    fn poll(&mut self, now: Instant) -> Vec<Action>;
    /// When to poll again, if nothing happens before.
    fn next_due(&self) -> Option<Instant>;
    /// The identity of this member.
    fn group_metadata(&self) -> ConsumerGroupMetadata;
    /// The topics whose metadata the member depends on.
    fn topics(&self) -> Vec<Arc<str>>;
    /// What the coordinator has assigned to a KIP-848 member that is in its group.
    fn assigned(&self) -> Option<Assigned<'_>> {
        None
    }
    /// Whether it is in no group and does not want to join one.
    fn is_idle(&self) -> bool;
    /// The state that both protocols have in common.
    fn core(&mut self) -> &mut Core;
}

/// The state that both protocols have in common.
#[derive(Debug)]
pub struct Core {
    pub(super) settings: GroupSettings,
    pub(super) environment: Environment,
    /// Rebalance events for the application.
    pub events: RebalanceQueue,
    pub(super) poll_timer: PollTimer,
    pub(super) backoff: BackoffTimer,
    /// Why the member left its group without being asked to.
    pub leave_reason: Option<Arc<str>>,
    pub(super) actions: Vec<Action>,
    last_request_id: u64,
}

impl Core {
    pub(super) fn new(settings: GroupSettings, environment: Environment) -> Self {
        Self {
            events: RebalanceQueue::default(),
            poll_timer: PollTimer::new(settings.max_poll_interval),
            backoff: BackoffTimer::new(settings.backoff),
            leave_reason: None,
            actions: Vec::new(),
            last_request_id: 0,
            settings,
            environment,
        }
    }

    pub(super) fn request_id(&mut self) -> u64 {
        self.last_request_id += 1;
        self.last_request_id
    }

    pub(super) fn send(&mut self, request: GroupRequest) -> u64 {
        let request_id = self.request_id();
        self.actions.push(Action::Send { request_id, request: Box::new(request) });
        request_id
    }

    pub(super) fn find_coordinator(&mut self) {
        self.actions.push(Action::FindCoordinator);
    }

    pub(super) fn back_off(&mut self, now: Instant) {
        self.backoff.fail(now, &self.environment);
    }

    /// The recovery from an error code of a request of the member.
    pub(super) fn recovery(&self, now: Instant, code: ErrorCode) -> Recovery {
        self.backoff.recovery(now, code, &self.settings.group_id)
    }

    /// Handles a rejected leave request. Returns whether to send it again; if not, the coordinator does not
    /// know the member any more.
    pub(super) fn retry_leave(&mut self, now: Instant, failure: &RequestFailure) -> bool {
        match failure {
            RequestFailure::Unreachable(_) => self.find_coordinator(),
            RequestFailure::Code(code, _) => match self.recovery(now, *code) {
                Recovery::FindCoordinator => self.find_coordinator(),
                Recovery::Backoff | Recovery::Refresh => {}
                _ => return false,
            },
            RequestFailure::Fatal(_) => return false,
        }
        self.back_off(now);
        true
    }

    pub(super) fn retry(&mut self, now: Instant) {
        self.backoff.retry(now, &self.environment);
    }

    /// Records that the application exceeded `max.poll.interval.ms`, for the log and later errors.
    pub(super) fn record_poll_timeout(&mut self) {
        let message = format!(
            "the application has not polled for max.poll.interval.ms ({} ms), so this member has left the group {}; it rejoins with the next poll. Poll more often, process fewer records per poll, or raise max.poll.interval.ms",
            self.settings.max_poll_interval.as_millis(),
            self.settings.group_id
        );
        tracing::warn!(target: "ottla.group", group = %self.settings.group_id, "{message}");
        self.leave_reason = Some(message.into());
    }
}

/// Why a request failed.
#[derive(Debug)]
pub(super) enum RequestFailure {
    /// The coordinator rejected it, with an optional message.
    Code(ErrorCode, Option<String>),
    /// No coordinator responded; a retry may succeed.
    Unreachable(Error),
    /// A retry cannot succeed.
    Fatal(Error),
}

impl From<Error> for RequestFailure {
    fn from(error: Error) -> Self {
        match error.code() {
            Some(code) if recovery(code) == Recovery::Application => Self::Fatal(error),
            // Whoever responds at its address is not the coordinator, which has rejected nothing.
            Some(code) if recovery(code) == Recovery::Rebootstrap => Self::Unreachable(error),
            // For example: the coordinator is not available yet.
            Some(code) => Self::Code(code, None),
            None if error.is_transient() => Self::Unreachable(error),
            None => Self::Fatal(error),
        }
    }
}

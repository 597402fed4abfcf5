//! A member of a share group (KIP-932), as a state machine without I/O: ShareGroupHeartbeat.
//!
//! Several members may read a partition, so nothing is given up before it is assigned elsewhere: each new
//! assignment replaces the last one, as an event, and the coordinator awaits no acknowledgement of it.
//!
//! Invariants: a heartbeat carries the subscription if the coordinator may not know it: on joining, after a
//! change and after a heartbeat without a response. A partition whose topic is not in the metadata yet is
//! assigned later.

use std::collections::BTreeSet;
use std::sync::Arc;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::share_group_heartbeat::{
    ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse,
};
use tokio::time::{Duration, Instant};

use super::membership_error::{MembershipError, share_membership_error};
use super::membership_manager::{
    Action, Core, GroupRequest, GroupResponse, MembershipManager, RequestFailure, SubscribedTopics,
};
use super::rebalance_queue::RebalanceEvent;
use super::settings::GroupSettings;
use super::timers::heartbeat_interval;
use super::topic_names::{TopicIdPartition, TopicNames};
use crate::consumer::ConsumerGroupMetadata;
use crate::environment::Environment;
use crate::error::Error;
use crate::metadata::Snapshot;
use crate::retry::recovery::{Recovery, recovery};

/// The epoch that leaves the group.
const LEAVE: i32 = -1;

/// The state of a member.
#[derive(Debug)]
enum MemberState {
    /// Not subscribed.
    Unsubscribed,
    /// The joining heartbeat is due or in flight.
    Joining,
    /// In the group.
    Joined,
    /// The leaving heartbeat is due or in flight. `known` says that the coordinator may know of the member.
    Leaving { request_id: Option<u64>, until: Instant, known: bool },
    /// Has left because of the poll timeout.
    Stale,
    /// Not in the group because of an error.
    Failed(MembershipError),
}

/// A member of a share group.
#[derive(Debug)]
pub struct ShareMember {
    core: Core,
    state: MemberState,
    topics: BTreeSet<Arc<str>>,
    member_id: Arc<str>,
    /// 0 before it has joined.
    epoch: i32,
    /// The assignment of the coordinator; `None` before the first one.
    target: Option<BTreeSet<TopicIdPartition>>,
    /// The part of it, with known names, that was reported to the application.
    reported: Option<BTreeSet<TopicIdPartition>>,
    topic_names: TopicNames,
    /// The subscription that the coordinator knows if it received the last heartbeat.
    sent_topics: Option<BTreeSet<Arc<str>>>,
    sent_at: Instant,
    request_id: Option<u64>,
    interval: Duration,
    /// When the next heartbeat is due, unless the subscription changes before.
    due: Instant,
    /// Whether to join again after leaving.
    rejoin_after_leave: bool,
}

impl ShareMember {
    /// Creates a member without a subscription. It chooses its id itself and keeps it.
    #[must_use]
    pub fn new(settings: GroupSettings, environment: Environment, now: Instant) -> Self {
        Self {
            state: MemberState::Unsubscribed,
            topics: BTreeSet::new(),
            member_id: environment.uuid().to_string().into(),
            epoch: 0,
            target: None,
            reported: None,
            topic_names: TopicNames::new(settings.backoff),
            sent_topics: None,
            sent_at: now,
            request_id: None,
            interval: Duration::ZERO,
            due: now,
            rejoin_after_leave: false,
            core: Core::new(settings, environment),
        }
    }

    /// Leaves the group locally: the assignment is lost.
    fn reset_membership(&mut self) {
        self.epoch = 0;
        (self.target, self.sent_topics, self.request_id) = (None, None, None);
        self.core.events.withdraw_pending();
        if let Some(lost) = self.reported.take().filter(|lost| !lost.is_empty()) {
            self.core.events.push(RebalanceEvent::Lost(self.topic_names.by_name(&lost)));
        }
    }

    /// Reports a changed assignment; it replaces one that the application has not seen yet.
    fn report_assignment(&mut self, now: Instant) {
        if !matches!(self.state, MemberState::Joined) {
            return;
        }
        let Some(target) = &self.target else { return };
        let unknown = self.topic_names.unknown(target);
        if self.topic_names.begin_lookup(&unknown, now, &self.core.environment) {
            self.core.actions.push(Action::Resolve(unknown.clone()));
        }
        let known: BTreeSet<TopicIdPartition> =
            target.iter().filter(|(id, _)| !unknown.contains(id)).copied().collect();
        if self.reported.as_ref() == Some(&known) {
            return;
        }
        let before = self.reported.take().unwrap_or_default();
        tracing::info!(target: "ottla.group", group = %self.core.settings.group_id, epoch = self.epoch, all = known.len(), "assigned");
        self.core.events.withdraw_pending();
        let added = self.topic_names.by_name(known.difference(&before));
        self.core.events.push(RebalanceEvent::Assign { added, all: self.topic_names.by_name(&known) });
        self.topic_names.retain(target);
        self.reported = Some(known);
    }

    /// Leaves after the poll timeout.
    fn check_poll_timer(&mut self, now: Instant) {
        if self.should_heartbeat() && self.core.poll_timer.is_expired(now) {
            self.core.record_poll_timeout();
            if self.epoch > 0 {
                let request = self.leave_request();
                self.core.send(request);
            }
            self.reset_membership();
            self.state = MemberState::Stale;
        }
    }

    fn should_heartbeat(&self) -> bool {
        matches!(self.state, MemberState::Joining | MemberState::Joined)
    }

    fn send_heartbeat_if_due(&mut self, now: Instant) {
        if !self.should_heartbeat() || self.request_id.is_some() || now < self.due() {
            return;
        }
        let settings = &self.core.settings;
        let is_full = self.epoch == 0 || self.sent_topics.is_none();
        let has_changed = is_full || self.sent_topics.as_ref() != Some(&self.topics);
        let request = ShareGroupHeartbeatRequest {
            group_id: settings.group_id.to_string(),
            member_id: self.member_id.to_string(),
            member_epoch: self.epoch,
            rack_id: settings.rack.clone().filter(|_| is_full),
            subscribed_topic_names: has_changed
                .then(|| self.topics.iter().map(ToString::to_string).collect()),
        };
        self.sent_topics = Some(self.topics.clone());
        (self.sent_at, self.due) = (now, now + self.interval);
        self.request_id = Some(self.core.send(GroupRequest::ShareHeartbeat(request)));
    }

    /// When the next heartbeat is due: at once if the subscription has changed.
    fn due(&self) -> Instant {
        let has_changed = self.sent_topics.as_ref().is_some_and(|sent| *sent != self.topics);
        if matches!(self.state, MemberState::Joined) && has_changed { self.sent_at } else { self.due }
    }

    fn leave_request(&self) -> GroupRequest {
        GroupRequest::ShareHeartbeat(ShareGroupHeartbeatRequest {
            group_id: self.core.settings.group_id.to_string(),
            member_id: self.member_id.to_string(),
            member_epoch: LEAVE,
            ..Default::default()
        })
    }

    fn process_heartbeat(&mut self, now: Instant, response: GroupResponse) {
        match success_or_failure(response) {
            Some(Ok(response)) => self.process_success(now, response),
            Some(Err(failure)) => {
                // The coordinator may or may not have processed it.
                self.sent_topics = None;
                self.handle_failure(now, failure);
            }
            None => {}
        }
    }

    fn process_success(&mut self, now: Instant, response: ShareGroupHeartbeatResponse) {
        self.core.backoff.reset();
        self.interval = heartbeat_interval(response.heartbeat_interval_ms);
        self.due = self.sent_at + self.interval;
        if !self.should_heartbeat() {
            return;
        }
        if let Some(id) = response.member_id.filter(|id| !id.is_empty() && **id != *self.member_id) {
            self.member_id = id.into();
        }
        self.epoch = response.member_epoch;
        if matches!(self.state, MemberState::Joining) {
            self.state = MemberState::Joined;
            self.core.leave_reason = None;
        }
        if let Some(assignment) = response.assignment {
            let topics = assignment.topic_partitions.into_iter();
            let partitions = topics.flat_map(|topic| {
                topic.partitions.into_iter().map(move |partition| (topic.topic_id, partition))
            });
            self.target = Some(partitions.collect());
            self.topic_names.reset_backoff();
        }
        self.report_assignment(now);
    }

    fn handle_failure(&mut self, now: Instant, failure: RequestFailure) {
        match failure {
            RequestFailure::Unreachable(error) => {
                tracing::debug!(target: "ottla.group", group = %self.core.settings.group_id, %error, "no response from the coordinator");
                self.core.find_coordinator();
                self.delay_heartbeat(now);
            }
            RequestFailure::Fatal(error) => self.fail(error),
            RequestFailure::Code(code, message) => self.handle_error_code(now, code, message.as_deref()),
        }
    }

    fn handle_error_code(&mut self, now: Instant, code: ErrorCode, message: Option<&str>) {
        match recovery(code) {
            Recovery::FindCoordinator => {
                self.core.find_coordinator();
                self.delay_heartbeat(now);
            }
            // The coordinator is the right one, and ready soon.
            Recovery::Backoff | Recovery::Refresh => self.delay_heartbeat(now),
            Recovery::Rejoin | Recovery::AwaitEpoch => {
                tracing::info!(target: "ottla.group", group = %self.core.settings.group_id, epoch = self.epoch, code = code.name(), "removed from the group");
                self.reset_membership();
                self.state = MemberState::Joining;
                self.core.retry(now);
                self.due = self.core.backoff.until().unwrap_or(now);
            }
            _ => self.fail(share_membership_error(&self.core.settings, code, message)),
        }
    }

    fn delay_heartbeat(&mut self, now: Instant) {
        self.core.back_off(now);
        self.due = self.core.backoff.until().unwrap_or(now);
    }

    /// Fails until the next poll or subscription.
    fn fail(&mut self, error: Error) {
        tracing::warn!(target: "ottla.group", group = %self.core.settings.group_id, %error, "this member cannot be in its share group");
        self.reset_membership();
        self.core.events.push(RebalanceEvent::Failed(error.clone()));
        let mut failure = MembershipError::new(error);
        failure.reported = true;
        self.state = MemberState::Failed(failure);
    }

    /// Sends the heartbeat that leaves, if the coordinator may know the member and its session has not
    /// expired.
    fn send_leave_if_due(&mut self, now: Instant) {
        let MemberState::Leaving { request_id: None, until, known } = self.state else { return };
        if !self.core.backoff.is_expired(now) {
            return;
        }
        if !known || until <= now {
            return self.left(now);
        }
        let request = self.leave_request();
        self.state = MemberState::Leaving { request_id: Some(self.core.send(request)), until, known };
    }

    fn process_leave(&mut self, now: Instant, response: GroupResponse) {
        let Some(result) = success_or_failure(response) else { return };
        let retry = result.is_err_and(|failure| self.core.retry_leave(now, &failure));
        match &mut self.state {
            MemberState::Leaving { request_id, .. } if retry => *request_id = None,
            _ => self.left(now),
        }
    }

    fn left(&mut self, now: Instant) {
        tracing::debug!(target: "ottla.group", group = %self.core.settings.group_id, "left");
        self.core.backoff.reset();
        self.state = MemberState::Unsubscribed;
        if std::mem::take(&mut self.rejoin_after_leave) {
            let names = std::mem::take(&mut self.topics);
            self.subscribe(now, SubscribedTopics { names, regex: None });
        }
    }
}

/// The outcome of a heartbeat; `None` for a response to another kind of request.
fn success_or_failure(
    response: GroupResponse,
) -> Option<Result<ShareGroupHeartbeatResponse, RequestFailure>> {
    match response {
        GroupResponse::ShareHeartbeat(response) => match ErrorCode::from(response.error_code) {
            ErrorCode::None => Some(Ok(response)),
            code => Some(Err(RequestFailure::Code(code, response.error_message))),
        },
        GroupResponse::Failed(error) => Some(Err(error.into())),
        _ => None,
    }
}

impl MembershipManager for ShareMember {
    fn subscribe(&mut self, now: Instant, topics: SubscribedTopics) {
        self.topics = topics.names;
        match self.state {
            MemberState::Unsubscribed | MemberState::Failed(_) => {
                self.state = MemberState::Joining;
                // Errors of the earlier subscription are outdated.
                self.core.events.withdraw_pending();
                self.core.backoff.reset();
                self.core.poll_timer.restart(now);
                self.due = now;
            }
            MemberState::Leaving { .. } => self.rejoin_after_leave = true,
            _ => {}
        }
    }

    fn unsubscribe(&mut self, now: Instant) {
        if matches!(self.state, MemberState::Unsubscribed | MemberState::Leaving { .. }) {
            return;
        }
        // After that its session has expired anyway: 45 s is the brokers' default, too.
        let until = now + self.core.settings.session_timeout;
        // A joining member may already be in the group.
        let known = self.should_heartbeat();
        self.reset_membership();
        self.state = MemberState::Leaving { request_id: None, until, known };
        self.core.backoff.reset();
    }

    fn leave(&mut self, now: Instant) {
        self.unsubscribe(now);
        self.rejoin_after_leave = false;
        self.core.events = Default::default();
    }

    fn on_poll(&mut self, now: Instant) -> bool {
        self.core.poll_timer.restart(now);
        match &mut self.state {
            MemberState::Stale => {
                self.core.backoff.reset();
                (self.state, self.due) = (MemberState::Joining, now);
            }
            MemberState::Failed(failure) if self.core.events.is_empty() => {
                if failure.permanent {
                    self.core.events.push(RebalanceEvent::Failed(failure.error.clone()));
                } else {
                    (self.state, self.due) = (MemberState::Joining, now);
                }
            }
            _ => return false,
        }
        true
    }

    fn complete_event(&mut self, _now: Instant) {
        self.core.events.complete();
    }

    fn report_error(&mut self, _now: Instant, _sent_as: &ConsumerGroupMetadata, _code: ErrorCode) {}

    fn update_metadata(&mut self, now: Instant, snapshot: &Snapshot) {
        let unknown = self.topic_names.unknown(self.target.iter().flatten());
        self.topic_names.learn(unknown, snapshot);
        self.report_assignment(now);
    }

    fn process_response(&mut self, now: Instant, request_id: u64, response: GroupResponse) {
        if self.request_id == Some(request_id) {
            self.request_id = None;
            self.process_heartbeat(now, response);
        } else if matches!(self.state, MemberState::Leaving { request_id: Some(pending), .. } if pending == request_id)
        {
            self.process_leave(now, response);
        }
    }

    fn poll(&mut self, now: Instant) -> Vec<Action> {
        self.check_poll_timer(now);
        self.report_assignment(now);
        self.send_leave_if_due(now);
        self.send_heartbeat_if_due(now);
        std::mem::take(&mut self.core.actions)
    }

    fn next_due(&self) -> Option<Instant> {
        let heartbeat = (self.should_heartbeat() && self.request_id.is_none()).then(|| self.due());
        let is_leaving = matches!(self.state, MemberState::Leaving { request_id: None, .. });
        let backoff = self.core.backoff.until().filter(|_| is_leaving);
        let poll_timeout = self.core.poll_timer.deadline().filter(|_| self.should_heartbeat());
        let lookup = self.topic_names.next_lookup().filter(|_| matches!(self.state, MemberState::Joined));
        [heartbeat, backoff, poll_timeout, lookup].into_iter().flatten().min()
    }

    fn group_metadata(&self) -> ConsumerGroupMetadata {
        ConsumerGroupMetadata {
            group_id: Arc::clone(&self.core.settings.group_id),
            generation: if self.epoch > 0 { self.epoch } else { -1 },
            member_id: Arc::clone(&self.member_id),
            instance_id: None,
        }
    }

    fn topics(&self) -> Vec<Arc<str>> {
        self.topic_names.with_subscribed(&self.topics, self.target.iter().flatten())
    }

    fn is_idle(&self) -> bool {
        matches!(self.state, MemberState::Unsubscribed)
    }

    fn core(&mut self) -> &mut Core {
        &mut self.core
    }
}

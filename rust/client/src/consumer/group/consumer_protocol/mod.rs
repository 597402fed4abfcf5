//! A member of a KIP-848 group, as a state machine without I/O: ConsumerGroupHeartbeat, and the rebalance
//! events that reconcile the owned partitions with the target assignment.
//!
//! Invariants: a heartbeat carries all fields if the coordinator's view may differ (on joining, after a
//! failure), so that a lost response never fences a live member; otherwise it carries changed fields. Owned
//! partitions are those that the application has been assigned and has not given up. Each new assignment is
//! acknowledged with the owned partitions once it is reconciled, even if they have not changed: a partition
//! may have been assigned and revoked again before the application polled. A partition whose topic is not
//! in the metadata yet is assigned later.

mod events;
mod failures;
mod heartbeat;
mod instance_release;
mod reconcile;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ottla_protocol::wire::Uuid;
use tokio::time::{Duration, Instant};

use self::heartbeat::SentFields;
use self::instance_release::InstanceRelease;
use super::membership_error::MembershipError;
use super::membership_manager::{Core, SubscribedTopics};
use super::settings::GroupSettings;
use super::topic_names::{TopicIdPartition, TopicNames};
use crate::consumer::group::rebalance_queue::RebalanceEvent;
use crate::environment::Environment;

/// The state of a member.
#[derive(Debug)]
enum MemberState {
    /// Not subscribed.
    Unsubscribed,
    /// Not in the group, or removed from it: joins once the application has given up lost partitions.
    Unjoined,
    /// The joining heartbeat is due or in flight.
    Joining,
    /// In the group.
    Joined,
    /// Leaves once the application has given up all partitions; then the leaving heartbeat is in flight.
    /// `known` says that the coordinator may know of the member.
    Leaving { request_id: Option<u64>, until: Instant, known: bool },
    /// Has left because of the poll timeout.
    Stale,
    /// Not in the group because of an error.
    Failed(MembershipError),
}

/// A member of a KIP-848 group.
#[derive(Debug)]
pub struct ConsumerMember {
    core: Core,
    state: MemberState,
    topics: SubscribedTopics,
    member_id: Arc<str>,
    /// 0 before it has joined.
    epoch: i32,
    /// The target assignment of the coordinator; `None` before the first one.
    target: Option<BTreeSet<TopicIdPartition>>,
    /// Whether an assignment has yet to be acknowledged.
    unacknowledged: bool,
    /// The partitions that the application owns until it completes a revocation.
    owned: BTreeSet<TopicIdPartition>,
    /// The queued event, by topic ids.
    pending_step: Option<ReconcileStep>,
    /// Whether the application was assigned partitions, or none, since the member joined.
    assignment_delivered: bool,
    topic_names: TopicNames,
    sent_fields: Option<SentFields>,
    sent_at: Instant,
    request_id: Option<u64>,
    interval: Duration,
    /// When the next heartbeat is due, unless fields change before.
    due: Instant,
    /// Whether to join again after leaving.
    rejoin_after_leave: bool,
    instance_release: InstanceRelease,
}

/// A queued event, by topic ids.
#[derive(Debug)]
enum ReconcileStep {
    Revoke(Vec<TopicIdPartition>),
    Assign(Vec<TopicIdPartition>),
}

impl ConsumerMember {
    /// Creates a member without a subscription. It chooses its id itself (KIP-1082) and keeps it.
    #[must_use]
    pub fn new(settings: GroupSettings, environment: Environment, now: Instant) -> Self {
        Self {
            state: MemberState::Unsubscribed,
            topics: SubscribedTopics::default(),
            member_id: settings.member_id.clone().unwrap_or_else(|| environment.uuid().to_string().into()),
            epoch: 0,
            target: None,
            unacknowledged: false,
            owned: BTreeSet::new(),
            pending_step: None,
            assignment_delivered: false,
            topic_names: TopicNames::new(settings.backoff),
            sent_fields: None,
            sent_at: now,
            request_id: None,
            interval: Duration::ZERO,
            due: now,
            rejoin_after_leave: false,
            instance_release: InstanceRelease::default(),
            core: Core::new(settings, environment),
        }
    }

    /// Leaves the group locally: the owned partitions are lost.
    fn reset_membership(&mut self) {
        self.epoch = 0;
        (self.target, self.sent_fields, self.request_id) = (None, None, None);
        (self.assignment_delivered, self.unacknowledged) = (false, false);
        self.withdraw();
    }

    /// Withdraws events that the application has not started.
    fn withdraw(&mut self) {
        self.core.events.withdraw_pending();
        if self.core.events.is_empty() {
            self.pending_step = None;
        }
    }

    /// Takes the next step once the application has completed all events.
    fn advance(&mut self, now: Instant) {
        if !self.core.events.is_empty() {
            return;
        }
        match &mut self.state {
            MemberState::Unsubscribed
            | MemberState::Joining
            | MemberState::Leaving { request_id: Some(_), .. } => {}
            MemberState::Joined => self.reconcile(now),
            MemberState::Unjoined => {
                if !self.revoke_all(false) {
                    self.state = MemberState::Joining;
                    self.due = self.core.backoff.until().unwrap_or(now);
                }
            }
            MemberState::Leaving { .. } => {
                if !self.revoke_all(self.epoch > 0) {
                    self.send_leave(now);
                }
            }
            MemberState::Stale => {
                self.revoke_all(false);
            }
            MemberState::Failed(failure) => {
                let unreported = (!failure.reported).then(|| failure.error.clone());
                if !self.revoke_all(false)
                    && let Some(error) = unreported
                {
                    self.core.events.push(RebalanceEvent::Failed(error));
                    if let MemberState::Failed(failure) = &mut self.state {
                        failure.reported = true;
                    }
                }
            }
        }
    }

    /// Leaves after the poll timeout.
    fn check_poll_timer(&mut self, now: Instant) {
        if self.poll_required() && self.core.poll_timer.is_expired(now) {
            self.core.record_poll_timeout();
            if self.epoch > 0 {
                let request = self.leave_request();
                self.core.send(request);
            }
            self.reset_membership();
            self.state = match self.state {
                MemberState::Leaving { until, .. } => {
                    MemberState::Leaving { request_id: None, until, known: false }
                }
                _ => MemberState::Stale,
            };
        }
    }

    /// Whether the application must poll. A leaving member must, too: others wait for its partitions.
    fn poll_required(&self) -> bool {
        match self.state {
            MemberState::Unjoined | MemberState::Joining | MemberState::Joined => true,
            MemberState::Leaving { request_id, .. } => request_id.is_none() && self.epoch > 0,
            _ => false,
        }
    }

    /// Whether the member sends heartbeats.
    fn should_heartbeat(&self) -> bool {
        match self.state {
            MemberState::Joining | MemberState::Joined => true,
            // It stays in the group until the application has given up all partitions.
            MemberState::Leaving { request_id, .. } => request_id.is_none() && self.epoch > 0,
            _ => false,
        }
    }
}

/// Groups partitions by topic for a request.
fn by_topic(partitions: &BTreeSet<TopicIdPartition>) -> BTreeMap<Uuid, Vec<i32>> {
    let mut topics: BTreeMap<Uuid, Vec<i32>> = BTreeMap::new();
    for (topic, partition) in partitions {
        topics.entry(*topic).or_default().push(*partition);
    }
    topics
}

//! A member of a share group (KIP-932), as a state machine without I/O: ShareGroupHeartbeat.
//!
//! Several members may read a partition, so nothing is given up before it is assigned elsewhere: each new
//! assignment replaces the last one, as an event, and the coordinator awaits no acknowledgement of it.
//!
//! Invariants: a heartbeat carries the subscription if the coordinator may not know it: on joining, after a
//! change and after a heartbeat without a response. A partition whose topic is not in the metadata yet is
//! assigned later.

mod events;
mod failures;
mod heartbeat;

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::time::{Duration, Instant};

use super::membership_error::MembershipError;
use super::membership_manager::{Action, Core};
use super::rebalance_queue::RebalanceEvent;
use super::settings::GroupSettings;
use super::topic_names::{TopicIdPartition, TopicNames};
use crate::environment::Environment;

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
        // An error that waits is not outdated.
        self.core.events.withdraw_assignments();
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
}

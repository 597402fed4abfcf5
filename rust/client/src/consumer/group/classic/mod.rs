//! A member of a classic group, as a state machine without I/O: JoinGroup, SyncGroup, Heartbeat, LeaveGroup
//! and the rebalance events in between.
//!
//! Invariants: JoinGroup is sent only when the application has completed all events, so that no two members
//! read the same partition. An eager protocol revokes all partitions before that; a cooperative one
//! (KIP-429) revokes only those that move, after the assignment and before rejoining. Heartbeats are
//! independent of the application until the poll timeout. Without a generation, partitions are lost rather
//! than revoked.

mod assignors;
mod events;
mod heartbeat;
mod joining;
mod leaving;

use std::collections::BTreeSet;
use std::sync::Arc;

use ottla_protocol::ErrorCode;
use tokio::time::Instant;

pub(super) use self::assignors::Assignors;
use self::heartbeat::Heartbeats;
use super::membership_error::{MembershipError, membership_error};
use super::membership_manager::{Core, RequestFailure};
use super::settings::GroupSettings;
use crate::consumer::assignor::{self, LastAssignment};
use crate::consumer::group::rebalance_queue::RebalanceEvent;
use crate::environment::Environment;
use crate::error::Error;
use crate::error::recovery::Recovery;
use crate::topic_partition::TopicPartition;

/// The protocol type of consumers in JoinGroup.
const PROTOCOL_TYPE: &str = "consumer";

/// The state of a member.
#[derive(Debug)]
enum MemberState {
    /// Not subscribed.
    Unsubscribed,
    /// Subscribed; joins once the application has completed all events.
    Unjoined,
    /// JoinGroup is in flight.
    Joining,
    /// This member leads the group and its assignor runs.
    Assigning,
    /// SyncGroup is in flight.
    Syncing,
    /// A member of the current generation, as far as it knows.
    Stable,
    /// Leaves once the application has given up all partitions; then LeaveGroup is in flight.
    Leaving { request_id: Option<u64>, until: Instant },
    /// Has left because of the poll timeout.
    Stale,
    /// Not in the group because of an error.
    Failed(MembershipError),
}

/// A member of a classic group.
#[derive(Debug)]
pub struct ClassicMember {
    core: Core,
    cooperative: bool,
    state: MemberState,
    topics: BTreeSet<Arc<str>>,
    /// The topics of the last JoinGroup request.
    joined_topics: Option<BTreeSet<Arc<str>>>,
    /// The partitions that the application owns until it completes a revocation.
    owned: BTreeSet<TopicPartition>,
    last_assignment: LastAssignment,
    member_id: Arc<str>,
    /// -1 without one.
    generation: i32,
    /// The assignor that the group chose.
    protocol: Option<String>,
    /// Why to rejoin, if there is a reason.
    rejoin_reason: Option<&'static str>,
    /// Identifies the JoinGroup, assignment or SyncGroup in progress.
    request_id: u64,
    heartbeats: Heartbeats,
    /// The topics that this member's assignment as the leader is based on.
    assignment_snapshot: Option<(Vec<Arc<str>>, assignor::Topics)>,
    /// Whether to join again after leaving.
    rejoin_after_leave: bool,
}

impl ClassicMember {
    /// Creates a member without a subscription. `cooperative` says that all its assignors are.
    #[must_use]
    pub fn new(settings: GroupSettings, cooperative: bool, environment: Environment) -> Self {
        Self {
            cooperative,
            state: MemberState::Unsubscribed,
            topics: BTreeSet::new(),
            joined_topics: None,
            owned: BTreeSet::new(),
            last_assignment: LastAssignment::default(),
            member_id: "".into(),
            generation: -1,
            protocol: None,
            rejoin_reason: None,
            request_id: 0,
            heartbeats: Heartbeats::new(&settings),
            assignment_snapshot: None,
            rejoin_after_leave: false,
            core: Core::new(settings, environment),
        }
    }

    /// Requests another rebalance. A member without a generation joins as a new member.
    fn request_rejoin(&mut self, reason: &'static str) {
        tracing::debug!(target: "ottla.group", group = %self.core.settings.group_id, generation = self.generation, why = reason, "rejoining the group");
        self.rejoin_reason = Some(reason);
    }

    /// Returns to the state before JoinGroup, and keeps the generation.
    fn reset_to_unjoined(&mut self, reason: &'static str) {
        self.state = MemberState::Unjoined;
        self.request_id = 0;
        self.heartbeats.stop();
        self.request_rejoin(reason);
    }

    /// Handles a removal from the group: the partitions are lost.
    fn lose_partitions(&mut self, reason: &'static str, keep_id: bool) {
        self.reset_generation(keep_id);
        self.core.events.withdraw_pending();
        self.reset_to_unjoined(reason);
    }

    fn reset_generation(&mut self, keep_id: bool) {
        self.generation = -1;
        self.assignment_snapshot = None;
        if !keep_id {
            self.member_id = "".into();
        }
    }

    /// Fails until the next poll or subscription.
    fn fail(&mut self, error: Error) {
        tracing::warn!(target: "ottla.group", group = %self.core.settings.group_id, %error, "this member cannot be in its group");
        let failure = MembershipError::new(error);
        if failure.permanent {
            self.reset_generation(false);
        }
        self.core.events.withdraw_pending();
        self.heartbeats.stop();
        self.rejoin_reason = None;
        self.state = MemberState::Failed(failure);
    }

    /// Handles a failure that any request may have.
    fn handle_failure(&mut self, now: Instant, failure: RequestFailure) {
        let (code, message) = match failure {
            RequestFailure::Code(code, message) => (code, message),
            RequestFailure::Unreachable(_) => {
                self.core.find_coordinator();
                return self.core.back_off(now);
            }
            RequestFailure::Fatal(error) => return self.fail(error),
        };
        match (code, self.core.recovery(now, code)) {
            (ErrorCode::RebalanceInProgress, _) => self.request_rejoin("the group is rebalancing"),
            (ErrorCode::IllegalGeneration, _) => {
                self.lose_partitions("the generation is outdated", true);
                self.core.retry(now);
            }
            (_, Recovery::Rejoin | Recovery::AwaitEpoch) => {
                self.lose_partitions("the coordinator does not know this member", false);
                self.core.retry(now);
            }
            (_, Recovery::FindCoordinator) => {
                self.core.find_coordinator();
                self.core.back_off(now);
            }
            (_, Recovery::Backoff | Recovery::Refresh) => self.core.back_off(now),
            _ => self.fail(membership_error(&self.core.settings, code, message.as_deref())),
        }
    }

    /// The part of the topics that affects the assignment: racks only if this member has one.
    fn assignment_inputs(&self, mut topics: assignor::Topics) -> assignor::Topics {
        if self.core.settings.rack.is_none() {
            topics.values_mut().flatten().for_each(|partition| partition.racks.clear());
        }
        topics
    }

    /// The event that gives up partitions before the next step; `None` if there is nothing to give up.
    fn next_revocation(&self) -> Option<RebalanceEvent> {
        if self.owned.is_empty() {
            return None;
        }
        if self.generation < 0 {
            return Some(RebalanceEvent::Lost(self.owned.iter().cloned().collect()));
        }
        let subscribed = |partition: &&TopicPartition| self.topics.contains(&partition.0);
        let keeps_owned =
            self.cooperative && matches!(self.state, MemberState::Unjoined | MemberState::Stable);
        let revoked: Vec<_> =
            self.owned.iter().filter(|p| !(keeps_owned && subscribed(p))).cloned().collect();
        (!revoked.is_empty()).then_some(RebalanceEvent::Revoke(revoked))
    }

    /// Takes the next step once the application has completed all events.
    fn advance(&mut self, now: Instant) {
        if !self.core.events.is_empty() {
            return;
        }
        let event = match &mut self.state {
            MemberState::Unsubscribed
            | MemberState::Joining
            | MemberState::Assigning
            | MemberState::Syncing => return,
            MemberState::Unjoined | MemberState::Stable => {
                if self.rejoin_reason.is_none() || !self.core.backoff.is_expired(now) {
                    return;
                }
                self.next_revocation()
            }
            MemberState::Leaving { request_id: Some(_), .. } => return,
            MemberState::Leaving { .. } => self.next_revocation(),
            MemberState::Stale => self.next_revocation(),
            MemberState::Failed(failure) if failure.permanent && !self.owned.is_empty() => {
                self.next_revocation()
            }
            MemberState::Failed(failure) if failure.reported => None,
            MemberState::Failed(failure) => {
                failure.reported = true;
                Some(RebalanceEvent::Failed(failure.error.clone()))
            }
        };
        match (event, &self.state) {
            (Some(event), _) => self.core.events.push(event),
            (None, MemberState::Unjoined | MemberState::Stable) => self.send_join(),
            (None, MemberState::Leaving { until, .. }) => {
                let until = *until;
                self.send_leave(now, until);
            }
            (None, _) => {}
        }
    }
}

//! Joins a classic group: JoinGroup, the assignment by the leader, SyncGroup, and the resulting events.

use std::collections::BTreeSet;
use std::sync::Arc;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::join_group::{JoinGroupRequest, JoinGroupResponse};
use ottla_protocol::messages::sync_group::{SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse};
use tokio::time::Instant;

use super::{ClassicMember, MemberState, PROTOCOL_TYPE};
use crate::consumer::assignor::{LastAssignment, MemberSubscription, decode_assignment};
use crate::consumer::group::membership_error::membership_error;
use crate::consumer::group::membership_manager::{
    Action, GroupRequest, GroupResponse, LeaderAssignment, RequestFailure,
};
use crate::consumer::group::rebalance_queue::RebalanceEvent;
use crate::consumer::group::settings::millis;
use crate::error::Kind;
use crate::topic_partition::TopicPartition;

impl ClassicMember {
    pub(super) fn send_join(&mut self) {
        let settings = &self.core.settings;
        let reason = self.rejoin_reason.take().unwrap_or_default();
        let request = JoinGroupRequest {
            group_id: settings.group_id.to_string(),
            session_timeout_ms: millis(settings.session_timeout),
            rebalance_timeout_ms: settings.rebalance_timeout_ms(),
            member_id: self.member_id.to_string(),
            group_instance_id: settings.instance_id.as_deref().map(ToOwned::to_owned),
            protocol_type: PROTOCOL_TYPE.to_owned(),
            protocols: Vec::new(),
            reason: (!reason.is_empty()).then(|| reason.to_owned()),
        };
        let subscription = MemberSubscription {
            member_id: Arc::clone(&self.member_id),
            instance_id: settings.instance_id.clone(),
            topics: self.topics.iter().cloned().collect(),
            owned: self.owned.iter().cloned().collect(),
            generation: self.generation,
            rack: settings.rack.as_deref().map(Into::into),
            user_data: None,
        };
        self.joined_topics = Some(self.topics.clone());
        self.heartbeats.stop();
        self.assignment_snapshot = None;
        self.state = MemberState::Joining;
        self.request_id =
            self.core.send(GroupRequest::Join { request, subscription, last: self.last_assignment.clone() });
    }

    /// Handles the response or outcome that the join waits for.
    pub(super) fn process_joining(&mut self, now: Instant, response: GroupResponse) {
        match (&self.state, response) {
            (MemberState::Joining, GroupResponse::Join(response)) => self.process_join(now, response),
            (MemberState::Assigning, GroupResponse::Assigned(assigned)) => self.process_assigned(assigned),
            (MemberState::Syncing, GroupResponse::Sync(response)) => self.process_sync(now, response),
            (MemberState::Assigning, GroupResponse::Failed(error)) => {
                self.fail(error.prefixed("this member leads the group, and its assignor failed"));
            }
            (MemberState::Joining | MemberState::Syncing, GroupResponse::Failed(error)) => {
                self.reset_to_unjoined("the coordinator did not respond");
                self.handle_failure(now, error.into());
            }
            _ => {}
        }
    }

    fn process_join(&mut self, now: Instant, response: JoinGroupResponse) {
        match ErrorCode::from(response.error_code) {
            ErrorCode::None => self.joined_group(now, response),
            ErrorCode::MemberIdRequired if !response.member_id.is_empty() => {
                // The first response assigns the member id (KIP-394). Repeated ones are retried with
                // backoff.
                self.member_id = response.member_id.into();
                self.reset_to_unjoined("joining with the member id from the coordinator");
                self.core.retry(now);
            }
            code => {
                self.reset_to_unjoined("the coordinator rejected JoinGroup");
                if code == ErrorCode::RebalanceInProgress {
                    self.core.retry(now);
                }
                self.handle_failure(now, RequestFailure::Code(code, None));
            }
        }
    }

    fn joined_group(&mut self, now: Instant, response: JoinGroupResponse) {
        let wrong_type = response.protocol_type.as_deref().is_some_and(|it| it != PROTOCOL_TYPE);
        let Some(protocol) = response.protocol_name.filter(|name| !wrong_type && !name.is_empty()) else {
            return self.fail(membership_error(
                &self.core.settings,
                ErrorCode::InconsistentGroupProtocol,
                None,
            ));
        };
        self.generation = response.generation_id;
        self.member_id = response.member_id.into();
        self.core.leave_reason = None;
        self.protocol = Some(protocol.clone());
        self.heartbeats.start(now);
        let leads = *self.member_id == *response.leader;
        tracing::debug!(target: "ottla.group", group = %self.core.settings.group_id, generation = self.generation, member = %self.member_id, %protocol, leads, "joined");
        if leads {
            self.state = MemberState::Assigning;
            self.request_id = self.core.request_id();
            self.core.actions.push(Action::Assign {
                request_id: self.request_id,
                protocol,
                members: response.members,
                skip_assignment: response.skip_assignment,
            });
        } else {
            self.send_sync(Vec::new());
        }
    }

    fn process_assigned(&mut self, assigned: LeaderAssignment) {
        self.assignment_snapshot = Some((assigned.names, self.assignment_inputs(assigned.topics)));
        self.send_sync(assigned.assignments);
    }

    fn send_sync(&mut self, assignments: Vec<SyncGroupRequestAssignment>) {
        let settings = &self.core.settings;
        let request = SyncGroupRequest {
            group_id: settings.group_id.to_string(),
            generation_id: self.generation,
            member_id: self.member_id.to_string(),
            group_instance_id: settings.instance_id.as_deref().map(ToOwned::to_owned),
            protocol_type: Some(PROTOCOL_TYPE.to_owned()),
            protocol_name: self.protocol.clone(),
            assignments,
        };
        self.state = MemberState::Syncing;
        self.request_id = self.core.send(GroupRequest::Sync(request));
    }

    fn process_sync(&mut self, now: Instant, response: SyncGroupResponse) {
        let code = ErrorCode::from(response.error_code);
        if code != ErrorCode::None {
            self.reset_to_unjoined("the coordinator rejected SyncGroup");
            return self.handle_failure(now, RequestFailure::Code(code, None));
        }
        let matches = |own: &str, group: Option<&str>| group.is_none_or(|group| group == own);
        if !matches(PROTOCOL_TYPE, response.protocol_type.as_deref())
            || !matches(self.protocol.as_deref().unwrap_or_default(), response.protocol_name.as_deref())
        {
            return self.fail(membership_error(
                &self.core.settings,
                ErrorCode::InconsistentGroupProtocol,
                None,
            ));
        }
        let assignment = match decode_assignment(response.assignment) {
            Ok(assignment) => assignment,
            Err(error) => {
                let message = "the assignment from the group's leader is malformed";
                return self.fail(error.prefixed(message).as_kind(Kind::Protocol));
            }
        };
        self.state = MemberState::Stable;
        self.request_id = 0;
        self.core.backoff.reset();
        if let Some((topic, _)) = assignment.partitions.iter().find(|(topic, _)| !self.topics.contains(topic))
        {
            tracing::info!(target: "ottla.group", group = %self.core.settings.group_id, %topic, "assigned a topic that is no longer subscribed");
            return self.request_rejoin("assigned a topic that is not subscribed");
        }
        self.last_assignment =
            LastAssignment { partitions: assignment.partitions.clone(), generation: Some(self.generation) };
        self.queue_assignment(&assignment.partitions);
        if let Some(protocol) = self.protocol.clone() {
            self.core.actions.push(Action::NotifyAssignor {
                protocol,
                assignment,
                generation: self.generation,
            });
        }
    }

    /// Queues what the application gives up and gets.
    fn queue_assignment(&mut self, assigned: &[TopicPartition]) {
        let all: BTreeSet<TopicPartition> = assigned.iter().cloned().collect();
        let revoked: Vec<TopicPartition> = self.owned.difference(&all).cloned().collect();
        let added: Vec<TopicPartition> = all.difference(&self.owned).cloned().collect();
        tracing::info!(target: "ottla.group", group = %self.core.settings.group_id, generation = self.generation, added = added.len(), revoked = revoked.len(), all = all.len(), "assigned");
        if !revoked.is_empty() {
            // Other members get the partitions in the next rebalance, which this member triggers by
            // rejoining.
            self.core.events.push(RebalanceEvent::Revoke(revoked));
            self.request_rejoin("revoked partitions for other members");
        }
        self.core.events.push(RebalanceEvent::Assign { added, all: all.into_iter().collect() });
    }
}

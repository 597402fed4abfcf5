//! Joining: JoinGroup, the leader's assignment, SyncGroup, and what comes out of it.

use std::collections::BTreeSet;
use std::sync::Arc;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::join_group::{JoinGroupRequest, JoinGroupResponse};
use ottla_protocol::messages::sync_group::{SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse};
use tokio::time::Instant;

use super::{Classic, PROTOCOL_TYPE, Phase};
use crate::consumer::assignor::{LastAssignment, MemberSubscription, decode_assignment};
use crate::consumer::group::machine::{Action, Answer, Ask, Assigned, Refused};
use crate::consumer::group::rebalance_queue::Change;
use crate::consumer::group::refusal::refusal;
use crate::consumer::group::settings::millis;
use crate::error::Kind;
use crate::topic_partition::TopicPartition;

impl Classic {
    pub(super) fn send_join(&mut self) {
        let settings = &self.core.settings;
        let why = self.rejoin.take().unwrap_or_default();
        let request = JoinGroupRequest {
            group_id: settings.group_id.to_string(),
            session_timeout_ms: millis(settings.session_timeout),
            rebalance_timeout_ms: settings.rebalance_timeout_ms(),
            member_id: self.member_id.to_string(),
            group_instance_id: settings.instance_id.as_deref().map(ToOwned::to_owned),
            protocol_type: PROTOCOL_TYPE.to_owned(),
            protocols: Vec::new(),
            reason: (!why.is_empty()).then(|| why.to_owned()),
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
        self.joined = Some(self.topics.clone());
        self.beats.stop();
        self.leads = None;
        self.phase = Phase::Joining;
        self.ticket = self.core.send(Ask::Join { request, subscription, last: self.last.clone() });
    }

    /// The answer to what is under way.
    pub(super) fn process_joining(&mut self, now: Instant, answer: Answer) {
        match (&self.phase, answer) {
            (Phase::Joining, Answer::Join(response)) => self.process_join(now, response),
            (Phase::Assigning, Answer::Assigned(assigned)) => self.process_assigned(assigned),
            (Phase::Syncing, Answer::Sync(response)) => self.process_sync(now, response),
            (Phase::Assigning, Answer::Failed(error)) => {
                self.fail(error.prefixed("the assignor of this member, which leads the group, has failed"));
            }
            (Phase::Joining | Phase::Syncing, Answer::Failed(error)) => {
                self.step_back("the coordinator did not answer");
                self.refused(now, error.into());
            }
            _ => {}
        }
    }

    fn process_join(&mut self, now: Instant, response: JoinGroupResponse) {
        match ErrorCode::from(response.error_code) {
            ErrorCode::None => self.joined_group(now, response),
            ErrorCode::MemberIdRequired if !response.member_id.is_empty() => {
                // The first answer only gives the id (KIP-394); a coordinator that never has enough
                // of it is not asked without a pause.
                self.member_id = response.member_id.into();
                self.step_back("with the id that the coordinator gave");
                self.core.again(now);
            }
            code => {
                self.step_back("the coordinator refused");
                if code == ErrorCode::RebalanceInProgress {
                    self.core.again(now);
                }
                self.refused(now, Refused::Code(code, None));
            }
        }
    }

    fn joined_group(&mut self, now: Instant, response: JoinGroupResponse) {
        let wrong_type = response.protocol_type.as_deref().is_some_and(|it| it != PROTOCOL_TYPE);
        let Some(protocol) = response.protocol_name.filter(|name| !wrong_type && !name.is_empty()) else {
            return self.fail(refusal(&self.core.settings, ErrorCode::InconsistentGroupProtocol, None));
        };
        self.generation = response.generation_id;
        self.member_id = response.member_id.into();
        self.core.why_left = None;
        self.protocol = Some(protocol.clone());
        self.beats.start(now);
        let leads = *self.member_id == *response.leader;
        tracing::debug!(target: "ottla.group", group = %self.core.settings.group_id, generation = self.generation, member = %self.member_id, %protocol, leads, "joined");
        if leads {
            self.phase = Phase::Assigning;
            self.ticket = self.core.ticket();
            self.core.actions.push(Action::Assign {
                ticket: self.ticket,
                protocol,
                members: response.members,
                skip: response.skip_assignment,
            });
        } else {
            self.send_sync(Vec::new());
        }
    }

    fn process_assigned(&mut self, assigned: Assigned) {
        self.leads = Some((assigned.names, self.seen(assigned.topics)));
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
        self.phase = Phase::Syncing;
        self.ticket = self.core.send(Ask::Sync(request));
    }

    fn process_sync(&mut self, now: Instant, response: SyncGroupResponse) {
        let code = ErrorCode::from(response.error_code);
        if code != ErrorCode::None {
            self.step_back("the coordinator refused to sync");
            return self.refused(now, Refused::Code(code, None));
        }
        let agreed = |mine: &str, theirs: Option<&str>| theirs.is_none_or(|theirs| theirs == mine);
        if !agreed(PROTOCOL_TYPE, response.protocol_type.as_deref())
            || !agreed(self.protocol.as_deref().unwrap_or_default(), response.protocol_name.as_deref())
        {
            return self.fail(refusal(&self.core.settings, ErrorCode::InconsistentGroupProtocol, None));
        }
        let assignment = match decode_assignment(response.assignment) {
            Ok(assignment) => assignment,
            Err(error) => {
                let words = "the group's leader gave this member an assignment that cannot be read";
                return self.fail(error.prefixed(words).as_kind(Kind::Protocol));
            }
        };
        self.phase = Phase::Stable;
        self.ticket = 0;
        self.core.pause.reset();
        if let Some((topic, _)) = assignment.partitions.iter().find(|(topic, _)| !self.topics.contains(topic))
        {
            tracing::info!(target: "ottla.group", group = %self.core.settings.group_id, %topic, "assigned, but not subscribed to any more");
            return self.rejoin("assigned a topic that it has not subscribed to");
        }
        self.last =
            LastAssignment { partitions: assignment.partitions.clone(), generation: Some(self.generation) };
        self.take_up(&assignment.partitions);
        if let Some(protocol) = self.protocol.clone() {
            self.core.actions.push(Action::Tell { protocol, assignment, generation: self.generation });
        }
    }

    /// Puts down what the application has to give up, and what it gets.
    fn take_up(&mut self, assigned: &[TopicPartition]) {
        let all: BTreeSet<TopicPartition> = assigned.iter().cloned().collect();
        let revoked: Vec<TopicPartition> = self.owned.difference(&all).cloned().collect();
        let added: Vec<TopicPartition> = all.difference(&self.owned).cloned().collect();
        tracing::info!(target: "ottla.group", group = %self.core.settings.group_id, generation = self.generation, added = added.len(), revoked = revoked.len(), all = all.len(), "assigned");
        if !revoked.is_empty() {
            // Others get it in the next round, which they only hear of by this member's joining.
            self.core.desk.put(Change::Revoke(revoked));
            self.rejoin("partitions were given up, for others to get");
        }
        self.core.desk.put(Change::Assign { added, all: all.into_iter().collect() });
    }
}

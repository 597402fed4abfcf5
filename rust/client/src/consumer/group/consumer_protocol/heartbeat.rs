//! ConsumerGroupHeartbeat: building requests and processing responses.

use std::collections::BTreeSet;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::consumer_group_heartbeat::{
    ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, TopicPartitions,
};
use tokio::time::Instant;

use super::{ConsumerMember, MemberState, by_topic};
use crate::consumer::group::membership_manager::{
    GroupRequest, GroupResponse, RequestFailure, SubscribedTopics,
};
use crate::consumer::group::timers::heartbeat_interval;
use crate::consumer::group::topic_names::TopicIdPartition;

/// The epochs that leave the group; a static member leaves temporarily.
const LEAVE: i32 = -1;
const LEAVE_STATIC: i32 = -2;

/// The fields that the coordinator knows if it received the last heartbeat.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SentFields {
    /// `None` if they must be sent although unchanged: the coordinator awaits the acknowledgement of an
    /// assignment.
    pub(super) owned: Option<BTreeSet<TopicIdPartition>>,
    topics: SubscribedTopics,
}

impl ConsumerMember {
    /// Sends a heartbeat if one is due and none is in flight.
    pub(super) fn send_heartbeat_if_due(&mut self, now: Instant) {
        if !self.should_heartbeat() || self.request_id.is_some() || now < self.due() {
            return;
        }
        let request = self.build_request();
        let owned = if self.epoch > 0 { self.owned.clone() } else { BTreeSet::new() };
        self.sent_fields = Some(SentFields { owned: Some(owned), topics: self.topics.clone() });
        (self.sent_at, self.due) = (now, now + self.interval);
        self.request_id = Some(self.core.send(GroupRequest::ConsumerHeartbeat(request)));
    }

    /// When the next heartbeat is due: at once if the owned partitions or the subscription have changed.
    pub(super) fn due(&self) -> Instant {
        let has_changed =
            |sent: &SentFields| sent.owned.as_ref() != Some(&self.owned) || sent.topics != self.topics;
        match self.state {
            MemberState::Joined if self.sent_fields.as_ref().is_some_and(has_changed) => self.sent_at,
            _ => self.due,
        }
    }

    /// Sends all fields if the coordinator may be out of date, else only changed ones.
    fn build_request(&self) -> ConsumerGroupHeartbeatRequest {
        let settings = &self.core.settings;
        let joins = self.epoch == 0;
        let sent = self.sent_fields.as_ref().filter(|_| !joins);
        let full = sent.is_none();
        let names = || self.topics.names.iter().map(ToString::to_string).collect();
        let names_changed = sent.is_none_or(|sent| sent.topics.names != self.topics.names);
        let regex = match (sent, &self.topics.regex) {
            (None, regex) => regex.clone(),
            (Some(sent), regex) if sent.topics.regex == *regex => None,
            // An empty pattern removes it.
            (Some(_), regex) => Some(regex.clone().unwrap_or_default()),
        };
        let owned = || {
            let topics = by_topic(&self.owned).into_iter();
            topics.map(|(topic_id, partitions)| TopicPartitions { topic_id, partitions }).collect()
        };
        // By the protocol, a joining member owns nothing.
        let topic_partitions = match sent {
            _ if joins => Some(Vec::new()),
            Some(sent) if sent.owned.as_ref() == Some(&self.owned) => None,
            _ => Some(owned()),
        };
        ConsumerGroupHeartbeatRequest {
            group_id: settings.group_id.to_string(),
            member_id: self.member_id.to_string(),
            member_epoch: self.epoch,
            instance_id: settings.instance_id.as_deref().map(ToOwned::to_owned),
            rack_id: settings.rack.clone().filter(|_| full),
            rebalance_timeout_ms: if full { settings.rebalance_timeout_ms() } else { -1 },
            subscribed_topic_names: names_changed.then(names),
            subscribed_topic_regex: regex,
            server_assignor: settings.remote_assignor.clone().filter(|_| full),
            topic_partitions,
        }
    }

    /// The heartbeat that leaves the group.
    pub(super) fn leave_request(&self) -> GroupRequest {
        let settings = &self.core.settings;
        GroupRequest::ConsumerHeartbeat(ConsumerGroupHeartbeatRequest {
            group_id: settings.group_id.to_string(),
            member_id: self.member_id.to_string(),
            member_epoch: if settings.instance_id.is_some() { LEAVE_STATIC } else { LEAVE },
            instance_id: settings.instance_id.as_deref().map(ToOwned::to_owned),
            ..Default::default()
        })
    }

    pub(super) fn process_heartbeat(&mut self, now: Instant, response: GroupResponse) {
        let Some(response) = self.take_release(now, response) else { return };
        let failure = match response {
            GroupResponse::ConsumerHeartbeat(response) => match ErrorCode::from(response.error_code) {
                ErrorCode::None => return self.process_success(response),
                code => RequestFailure::Code(code, response.error_message),
            },
            GroupResponse::Failed(error) => error.into(),
            _ => return,
        };
        // The coordinator may or may not have processed it.
        self.sent_fields = None;
        self.handle_failure(now, failure);
    }

    fn process_success(&mut self, response: ConsumerGroupHeartbeatResponse) {
        self.core.backoff.reset();
        self.interval = heartbeat_interval(response.heartbeat_interval_ms);
        self.due = self.sent_at + self.interval;
        if let MemberState::Leaving { request_id, .. } = self.state {
            // Until it leaves, the next heartbeat and the last commits need the epoch; a new assignment
            // does not matter.
            if request_id.is_none() && self.epoch > 0 {
                self.epoch = response.member_epoch;
            }
            return;
        }
        if let Some(id) = response.member_id.filter(|id| !id.is_empty() && **id != *self.member_id) {
            self.member_id = id.into();
        }
        if self.epoch != response.member_epoch {
            tracing::debug!(target: "ottla.group", group = %self.core.settings.group_id, member = %self.member_id, epoch = response.member_epoch, "member epoch");
        }
        self.epoch = response.member_epoch;
        if matches!(self.state, MemberState::Joining) {
            self.state = MemberState::Joined;
            self.end_release();
            self.core.leave_reason = None;
        }
        if let Some(assignment) = response.assignment {
            let topics = assignment.topic_partitions.into_iter();
            let partitions = topics.flat_map(|topic| {
                topic.partitions.into_iter().map(move |partition| (topic.topic_id, partition))
            });
            let target: BTreeSet<TopicIdPartition> = partitions.collect();
            // The first assignment revokes nothing that others wait for.
            self.unacknowledged |= self.target.as_ref().is_some_and(|before| *before != target);
            self.target = Some(target);
            self.topic_names.reset_backoff();
            self.forget_unused_names();
        }
    }
}

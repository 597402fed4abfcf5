//! ShareGroupHeartbeat: building requests and processing responses.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::share_group_heartbeat::{
    ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse,
};
use tokio::time::Instant;

use super::{MemberState, ShareMember};
use crate::consumer::group::membership_manager::{GroupRequest, GroupResponse, RequestFailure};
use crate::consumer::group::timers::heartbeat_interval;

/// The epoch that leaves the group.
const LEAVE: i32 = -1;

impl ShareMember {
    pub(super) fn send_heartbeat_if_due(&mut self, now: Instant) {
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
    pub(super) fn due(&self) -> Instant {
        let has_changed = self.sent_topics.as_ref().is_some_and(|sent| *sent != self.topics);
        if matches!(self.state, MemberState::Joined) && has_changed { self.sent_at } else { self.due }
    }

    pub(super) fn leave_request(&self) -> GroupRequest {
        GroupRequest::ShareHeartbeat(ShareGroupHeartbeatRequest {
            group_id: self.core.settings.group_id.to_string(),
            member_id: self.member_id.to_string(),
            member_epoch: LEAVE,
            ..Default::default()
        })
    }

    pub(super) fn process_heartbeat(&mut self, now: Instant, response: GroupResponse) {
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
}

/// The outcome of a heartbeat; `None` for a response to another kind of request.
pub(super) fn success_or_failure(
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

//! Leaves a classic group: LeaveGroup once the application has given up its partitions. A static member
//! sends nothing, so that it gets its partitions back if it returns in time (KIP-345).

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::leave_group::{LeaveGroupRequest, MemberIdentity};
use tokio::time::Instant;

use super::{ClassicMember, MemberState};
use crate::consumer::group::membership_manager::{
    GroupRequest, GroupResponse, MembershipManager, RequestFailure, SubscribedTopics,
};

impl ClassicMember {
    pub(super) fn start_leaving(&mut self, now: Instant) {
        self.rejoin_after_leave = false;
        if matches!(self.state, MemberState::Unsubscribed | MemberState::Leaving { .. }) {
            return;
        }
        self.core.events.withdraw_pending();
        (self.rejoin_reason, self.request_id) = (None, 0);
        // After that its session has expired anyway.
        let until = now + self.core.settings.session_timeout;
        self.state = MemberState::Leaving { request_id: None, until };
        self.core.backoff.reset();
    }

    pub(super) fn leave_now(&mut self, now: Instant) {
        self.start_leaving(now);
        self.owned.clear();
        self.core.events = Default::default();
    }

    /// The LeaveGroup request; `None` for a static member or one that the coordinator does not know.
    pub(super) fn leave_request(&self, reason: &str) -> Option<LeaveGroupRequest> {
        let settings = &self.core.settings;
        let member_id = (!self.member_id.is_empty()).then(|| self.member_id.to_string())?;
        if settings.instance_id.is_some() {
            return None;
        }
        let member = MemberIdentity {
            member_id: member_id.clone(),
            group_instance_id: None,
            reason: Some(reason.to_owned()),
        };
        Some(LeaveGroupRequest { group_id: settings.group_id.to_string(), member_id, members: vec![member] })
    }

    pub(super) fn send_leave(&mut self, now: Instant, until: Instant) {
        if !self.core.backoff.is_expired(now) {
            return;
        }
        match self.leave_request("the consumer is unsubscribed or closed").filter(|_| now < until) {
            Some(request) => {
                self.heartbeats.stop();
                let request_id = Some(self.core.send(GroupRequest::Leave(request)));
                self.state = MemberState::Leaving { request_id, until };
            }
            None => self.left(now),
        }
    }

    pub(super) fn process_leave(&mut self, now: Instant, response: GroupResponse) {
        let failure = match response {
            GroupResponse::Leave(response) => {
                let member_error = response.members.first().map_or(0, |member| member.error_code);
                let code = if response.error_code == 0 { member_error } else { response.error_code };
                match ErrorCode::from(code) {
                    ErrorCode::None => return self.left(now),
                    code => RequestFailure::Code(code, None),
                }
            }
            GroupResponse::Failed(error) => error.into(),
            _ => return,
        };
        if !self.core.retry_leave(now, &failure) {
            return self.left(now);
        }
        if let MemberState::Leaving { request_id, .. } = &mut self.state {
            *request_id = None;
        }
    }

    fn left(&mut self, now: Instant) {
        tracing::debug!(target: "ottla.group", group = %self.core.settings.group_id, "left");
        self.reset_generation(false);
        self.joined_topics = None;
        self.heartbeats.stop();
        self.core.backoff.reset();
        self.state = MemberState::Unsubscribed;
        if std::mem::take(&mut self.rejoin_after_leave) {
            let names = std::mem::take(&mut self.topics);
            self.subscribe(now, SubscribedTopics { names, regex: None });
        }
    }
}

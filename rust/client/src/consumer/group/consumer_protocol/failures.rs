//! How a KIP-848 member handles errors, and how it leaves.

use ottla_protocol::ErrorCode;
use tokio::time::Instant;

use super::{ConsumerMember, MemberState};
use crate::consumer::group::membership_error::{MembershipError, membership_error};
use crate::consumer::group::membership_manager::{GroupResponse, MembershipManager, RequestFailure};
use crate::error::Error;
use crate::error::recovery::Recovery;

impl ConsumerMember {
    pub(super) fn handle_failure(&mut self, now: Instant, failure: RequestFailure) {
        match failure {
            RequestFailure::Code(code, message) => self.handle_error_code(now, code, message),
            RequestFailure::Unreachable(error) => {
                tracing::debug!(target: "ottla.group", group = %self.core.settings.group_id, %error, "no response from the coordinator");
                self.core.find_coordinator();
                self.delay_heartbeat(now);
            }
            RequestFailure::Fatal(error) => self.fail(error),
        }
    }

    pub(super) fn handle_error_code(&mut self, now: Instant, code: ErrorCode, message: Option<String>) {
        if code == ErrorCode::UnreleasedInstanceId && self.release_instance(now) {
            return;
        }
        match self.core.recovery(now, code) {
            Recovery::FindCoordinator => {
                self.core.find_coordinator();
                self.delay_heartbeat(now);
            }
            // The coordinator is the right one, and ready soon.
            Recovery::Backoff | Recovery::Refresh => self.delay_heartbeat(now),
            Recovery::Rejoin | Recovery::AwaitEpoch => {
                tracing::info!(target: "ottla.group", group = %self.core.settings.group_id, epoch = self.epoch, code = code.name(), "removed from the group");
                self.reset_membership();
                if !matches!(self.state, MemberState::Leaving { .. }) {
                    self.state = MemberState::Unjoined;
                    self.core.retry(now);
                }
            }
            _ => self.fail(membership_error(&self.core.settings, code, message.as_deref())),
        }
    }

    pub(super) fn delay_heartbeat(&mut self, now: Instant) {
        self.core.back_off(now);
        self.due = self.core.backoff.until().unwrap_or(now);
    }

    /// Fails until the next poll or subscription.
    pub(super) fn fail(&mut self, error: Error) {
        self.end_release();
        tracing::warn!(target: "ottla.group", group = %self.core.settings.group_id, %error, "this member cannot be in its group");
        self.reset_membership();
        if !matches!(self.state, MemberState::Leaving { .. }) {
            self.state = MemberState::Failed(MembershipError::new(error));
        }
    }

    /// Sends the heartbeat that leaves, if the coordinator may know the member and its session has not
    /// expired.
    pub(super) fn send_leave(&mut self, now: Instant) {
        let MemberState::Leaving { until, known, .. } = self.state else { return };
        if !self.core.backoff.is_expired(now) {
            return;
        }
        if !known || until <= now {
            return self.left(now);
        }
        let request = self.leave_request();
        let request_id = Some(self.core.send(request));
        self.state = MemberState::Leaving { request_id, until, known };
    }

    pub(super) fn process_leave(&mut self, now: Instant, response: GroupResponse) {
        let failure = match response {
            GroupResponse::ConsumerHeartbeat(response) => match ErrorCode::from(response.error_code) {
                ErrorCode::None => return self.left(now),
                code => RequestFailure::Code(code, response.error_message),
            },
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
        self.reset_membership();
        self.core.backoff.reset();
        self.state = MemberState::Unsubscribed;
        if std::mem::take(&mut self.rejoin_after_leave) {
            let topics = std::mem::take(&mut self.topics);
            self.subscribe(now, topics);
        }
    }
}

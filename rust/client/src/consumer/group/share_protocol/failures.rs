//! How a member of a share group handles errors, and how it leaves.

use ottla_protocol::ErrorCode;
use tokio::time::Instant;

use super::heartbeat::success_or_failure;
use super::{MemberState, ShareMember};
use crate::consumer::group::membership_error::{MembershipError, share_membership_error};
use crate::consumer::group::membership_manager::{
    GroupResponse, MembershipManager, RequestFailure, SubscribedTopics,
};
use crate::consumer::group::rebalance_queue::RebalanceEvent;
use crate::error::Error;
use crate::error::recovery::Recovery;

impl ShareMember {
    pub(super) fn handle_failure(&mut self, now: Instant, failure: RequestFailure) {
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
    pub(super) fn send_leave_if_due(&mut self, now: Instant) {
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

    pub(super) fn process_leave(&mut self, now: Instant, response: GroupResponse) {
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

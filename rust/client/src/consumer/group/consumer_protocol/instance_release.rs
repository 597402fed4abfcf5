//! A static member that joins while its `group.instance.id` is still held: most likely by itself.
//!
//! A coordinator refuses to admit an instance id that a member holds, even that very member, whose earlier join
//! succeeded although its response was lost. Only the response to a release distinguishes the two cases: the
//! coordinator refuses to release what another member holds.
//!
//! Invariants: one release for each join; what another member holds is an error at once. If a released id is
//! still held, the join is repeated for a session timeout at most.

use ottla_protocol::ErrorCode;
use tokio::time::Instant;

use super::{ConsumerMember, MemberState};
use crate::consumer::group::membership_error::membership_error;
use crate::consumer::group::membership_manager::{GroupResponse, RequestFailure};

/// The release of an instance id.
#[derive(Debug, Default)]
pub(super) struct InstanceRelease {
    /// Whether the request in flight is a release.
    in_flight: bool,
    /// Whether the id was released since the member last was in the group.
    tried: bool,
    /// Since when it has been held in spite of that.
    held_since: Option<Instant>,
}

impl ConsumerMember {
    /// Handles the refusal of a join because its instance id is held. Returns whether the join is repeated.
    pub(super) fn release_instance(&mut self, now: Instant) -> bool {
        if !matches!(self.state, MemberState::Joining) {
            return false;
        }
        let settings = &self.core.settings;
        let (group, instance) = (&settings.group_id, settings.instance_id.as_deref().unwrap_or_default());
        if !std::mem::replace(&mut self.instance_release.tried, true) {
            tracing::info!(target: "ottla.group", %group, instance, "group.instance.id is held, perhaps by an earlier join of this member whose response was lost: releasing it");
            let request = self.leave_request();
            self.request_id = Some(self.core.send(request));
            self.instance_release.in_flight = true;
            return true;
        }
        let session = settings.session_timeout;
        let is_new = self.instance_release.held_since.is_none();
        let since = *self.instance_release.held_since.get_or_insert(now);
        if now.saturating_duration_since(since) >= session {
            return false;
        }
        if is_new {
            let seconds = session.as_secs();
            tracing::warn!(target: "ottla.group", %group, instance, "an earlier join of this member, whose response was lost, still holds its group.instance.id, until the member's session expires: after {seconds} s by default (group.consumer.session.timeout.ms of the brokers). The join is repeated until then");
        }
        self.delay_heartbeat(now);
        true
    }

    /// Forgets the releases, once the member is in the group or its join has failed.
    pub(super) fn end_release(&mut self) {
        self.instance_release = InstanceRelease::default();
    }

    /// Takes the response of a release; returns that to a heartbeat.
    pub(super) fn take_release(&mut self, now: Instant, response: GroupResponse) -> Option<GroupResponse> {
        if !std::mem::take(&mut self.instance_release.in_flight) {
            return Some(response);
        }
        if !matches!(self.state, MemberState::Joining) {
            return None;
        }
        let failure = match response {
            GroupResponse::ConsumerHeartbeat(response) => match ErrorCode::from(response.error_code) {
                // Nobody holds it any more.
                ErrorCode::None | ErrorCode::UnknownMemberId => {
                    self.due = now;
                    return None;
                }
                ErrorCode::FencedInstanceId => {
                    let code = ErrorCode::UnreleasedInstanceId;
                    let message = response.error_message;
                    self.fail(membership_error(&self.core.settings, code, message.as_deref()));
                    return None;
                }
                code => RequestFailure::Code(code, response.error_message),
            },
            GroupResponse::Failed(error) => error.into(),
            _ => return None,
        };
        self.handle_failure(now, failure);
        None
    }
}

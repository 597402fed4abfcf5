//! Heartbeats of a classic member: sent while it has a generation, independently of the application, until
//! the poll timeout.
//!
//! Invariant: a response counts only for the generation of its request. Joining stops the heartbeats, and
//! later responses are ignored.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::heartbeat::HeartbeatRequest;
use tokio::time::{Duration, Instant};

use super::{ClassicMember, MemberState};
use crate::consumer::group::membership_error::membership_error;
use crate::consumer::group::membership_manager::{GroupRequest, GroupResponse, RequestFailure};
use crate::consumer::group::settings::GroupSettings;
use crate::consumer::group::timers::BackoffTimer;
use crate::error::recovery::Recovery;

/// The heartbeats of one generation.
#[derive(Debug)]
pub(super) struct Heartbeats {
    interval: Duration,
    session: Duration,
    backoff: BackoffTimer,
    active: Option<ActiveHeartbeats>,
}

#[derive(Debug)]
struct ActiveHeartbeats {
    due: Instant,
    /// When the coordinator last confirmed the session.
    last_success: Instant,
    request_id: Option<u64>,
}

impl Heartbeats {
    pub(super) fn new(settings: &GroupSettings) -> Self {
        Self {
            interval: settings.heartbeat_interval,
            session: settings.session_timeout,
            backoff: BackoffTimer::new(settings.backoff),
            active: None,
        }
    }

    pub(super) fn start(&mut self, now: Instant) {
        self.backoff.reset();
        self.active =
            Some(ActiveHeartbeats { due: now + self.interval, last_success: now, request_id: None });
    }

    pub(super) fn stop(&mut self) {
        self.active = None;
    }

    pub(super) fn is_pending(&self, request_id: u64) -> bool {
        self.active.as_ref().is_some_and(|active| active.request_id == Some(request_id))
    }

    pub(super) fn next_due(&self) -> Option<Instant> {
        let active = self.active.as_ref()?;
        let session = active.last_success + self.session;
        Some(if active.request_id.is_none() { active.due.min(session) } else { session })
    }
}

impl ClassicMember {
    /// Sends a heartbeat if one is due.
    pub(super) fn send_heartbeat_if_due(&mut self, now: Instant) {
        let Some(active) = &mut self.heartbeats.active else { return };
        if active.request_id.is_some() || active.due > now {
            return;
        }
        let settings = &self.core.settings;
        let request = HeartbeatRequest {
            group_id: settings.group_id.to_string(),
            generation_id: self.generation,
            member_id: self.member_id.to_string(),
            group_instance_id: settings.instance_id.as_deref().map(ToOwned::to_owned),
        };
        active.due = now + self.heartbeats.interval;
        active.request_id = Some(self.core.send(GroupRequest::Heartbeat(request)));
    }

    pub(super) fn process_heartbeat(&mut self, now: Instant, response: GroupResponse) {
        let Some(active) = &mut self.heartbeats.active else { return };
        active.request_id = None;
        let failure = match response {
            GroupResponse::Heartbeat(response) => match ErrorCode::from(response.error_code) {
                ErrorCode::None => {
                    active.last_success = now;
                    return self.heartbeats.backoff.reset();
                }
                code => RequestFailure::Code(code, None),
            },
            GroupResponse::Failed(error) => error.into(),
            _ => return,
        };
        let recovery = match &failure {
            RequestFailure::Unreachable(_) => Recovery::FindCoordinator,
            RequestFailure::Code(code, _) => {
                self.heartbeats.backoff.recovery(now, *code, &self.core.settings.group_id)
            }
            RequestFailure::Fatal(_) => Recovery::Application,
        };
        let find_coordinator = match (recovery, &failure) {
            (Recovery::FindCoordinator, _) => true,
            // The coordinator is the right one, and ready soon.
            (Recovery::Backoff | Recovery::Refresh, _) => false,
            (_, RequestFailure::Code(ErrorCode::RebalanceInProgress, _)) => {
                active.last_success = now;
                // Only in a stable group: during a rebalance the SyncGroup response reports it.
                if matches!(self.state, MemberState::Stable) && self.rejoin_reason.is_none() {
                    self.request_rejoin("the group is rebalancing");
                }
                return;
            }
            _ if matches!(self.state, MemberState::Leaving { .. }) => {
                // It leaves anyway, but has lost its partitions.
                self.reset_generation(false);
                self.core.events.withdraw_pending();
                return self.heartbeats.stop();
            }
            (Recovery::Passing, RequestFailure::Code(code, message)) => {
                let error = membership_error(&self.core.settings, *code, message.as_deref());
                return self.fail(error);
            }
            _ => return self.handle_failure(now, failure),
        };
        self.heartbeats.backoff.fail(now, &self.core.environment);
        active.due = self.heartbeats.backoff.until().unwrap_or(now).min(now + self.heartbeats.interval);
        if find_coordinator {
            self.core.find_coordinator();
        }
    }

    /// Looks up the coordinator again after `session.timeout.ms` without a successful heartbeat.
    pub(super) fn suspect_coordinator(&mut self, now: Instant) {
        let Some(active) = &mut self.heartbeats.active else { return };
        if active.last_success + self.heartbeats.session <= now {
            tracing::info!(target: "ottla.group", group = %self.core.settings.group_id, "no successful heartbeat for session.timeout.ms: looking up the coordinator");
            *active = ActiveHeartbeats { due: now, last_success: now, request_id: None };
            self.core.find_coordinator();
        }
    }

    /// Whether the application must poll: not while JoinGroup is in flight or nothing is owned. The
    /// coordinator answers JoinGroup within the rebalance timeout, `max.poll.interval.ms`, and a member
    /// that has not polled by then leaves at once. A leaving member must poll as well, since others wait
    /// for its partitions.
    pub(super) fn poll_required(&self) -> bool {
        match self.state {
            MemberState::Unjoined | MemberState::Assigning | MemberState::Syncing | MemberState::Stable => {
                true
            }
            MemberState::Leaving { request_id, .. } => request_id.is_none() && self.generation >= 0,
            _ => false,
        }
    }

    /// Leaves after the poll timeout.
    pub(super) fn check_poll_timer(&mut self, now: Instant) {
        if self.poll_required() && self.core.poll_timer.is_expired(now) {
            self.core.record_poll_timeout();
            if let Some(request) = self.leave_request("consumer poll timeout has expired.") {
                self.core.send(GroupRequest::Leave(request));
            }
            self.reset_generation(false);
            self.core.events.withdraw_pending();
            self.heartbeats.stop();
            (self.rejoin_reason, self.request_id) = (None, 0);
            if !matches!(self.state, MemberState::Leaving { .. }) {
                self.state = MemberState::Stale;
            }
        }
    }
}

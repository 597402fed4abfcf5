//! Heartbeats: sent from when the member has a generation, whatever the application does, until it
//! has not polled for `max.poll.interval.ms`.
//!
//! Invariant: an answer counts only for the generation that it was asked for in: joining anew stops
//! the heartbeats, and what comes late is nobody's.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::heartbeat::HeartbeatRequest;
use tokio::time::{Duration, Instant};

use super::{Classic, Phase};
use crate::consumer::group::machine::{Answer, Ask, Refused};
use crate::consumer::group::settings::GroupSettings;
use crate::consumer::group::timers::Pause;
use crate::retry::recovery::{Recovery, recovery};

/// The heartbeats of one generation.
#[derive(Debug)]
pub(super) struct Beats {
    interval: Duration,
    session: Duration,
    pause: Pause,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    due: Instant,
    /// When the coordinator last said that all is well.
    heard: Instant,
    ticket: Option<u64>,
}

impl Beats {
    pub(super) fn new(settings: &GroupSettings) -> Self {
        Self {
            interval: settings.heartbeat_interval,
            session: settings.session_timeout,
            pause: Pause::new(settings.backoff),
            running: None,
        }
    }

    pub(super) fn start(&mut self, now: Instant) {
        self.pause.reset();
        self.running = Some(Running { due: now + self.interval, heard: now, ticket: None });
    }

    pub(super) fn stop(&mut self) {
        self.running = None;
    }

    pub(super) fn is_mine(&self, ticket: u64) -> bool {
        self.running.as_ref().is_some_and(|running| running.ticket == Some(ticket))
    }

    pub(super) fn next(&self) -> Option<Instant> {
        let running = self.running.as_ref()?;
        let session = running.heard + self.session;
        Some(if running.ticket.is_none() { running.due.min(session) } else { session })
    }
}

impl Classic {
    /// Sends a heartbeat if one is due.
    pub(super) fn beat(&mut self, now: Instant) {
        let Some(running) = &mut self.beats.running else { return };
        if running.ticket.is_some() || running.due > now {
            return;
        }
        let settings = &self.core.settings;
        let request = HeartbeatRequest {
            group_id: settings.group_id.to_string(),
            generation_id: self.generation,
            member_id: self.member_id.to_string(),
            group_instance_id: settings.instance_id.as_deref().map(ToOwned::to_owned),
        };
        running.due = now + self.beats.interval;
        running.ticket = Some(self.core.send(Ask::Heartbeat(request)));
    }

    pub(super) fn process_heartbeat(&mut self, now: Instant, answer: Answer) {
        let Some(running) = &mut self.beats.running else { return };
        running.ticket = None;
        let refused = match answer {
            Answer::Heartbeat(response) => match ErrorCode::from(response.error_code) {
                ErrorCode::None => {
                    running.heard = now;
                    return self.beats.pause.reset();
                }
                code => Refused::Code(code, None),
            },
            Answer::Failed(error) => error.into(),
            _ => return,
        };
        let recovery = match &refused {
            Refused::Unreached(_) => Recovery::FindCoordinator,
            Refused::Code(code, _) => recovery(*code),
            Refused::Hopeless(_) => Recovery::Application,
        };
        let again = match (recovery, &refused) {
            (Recovery::FindCoordinator, _) => true,
            // The coordinator is the right one, and will be ready soon.
            (Recovery::Backoff | Recovery::Refresh, _) => false,
            (_, Refused::Code(ErrorCode::RebalanceInProgress, _)) => {
                running.heard = now;
                // Not news while the group is being made; SyncGroup's answer tells then.
                if matches!(self.phase, Phase::Stable) && self.rejoin.is_none() {
                    self.rejoin("the group rebalances");
                }
                return;
            }
            _ if matches!(self.phase, Phase::Leaving { .. }) => {
                // It leaves anyway, but has lost what it was to give up.
                self.forget_generation(false);
                self.core.desk.withdraw();
                return self.beats.stop();
            }
            _ => return self.refused(now, refused),
        };
        self.beats.pause.fail(now, &self.core.environment);
        running.due = self.beats.pause.until().unwrap_or(now).min(now + self.beats.interval);
        if again {
            self.core.find_coordinator();
        }
    }

    /// Looks for another coordinator when this one has said nothing for `session.timeout.ms`.
    pub(super) fn check_session(&mut self, now: Instant) {
        let Some(running) = &mut self.beats.running else { return };
        if running.heard + self.beats.session <= now {
            tracing::info!(target: "ottla.group", group = %self.core.settings.group_id, "the coordinator was not heard of for session.timeout.ms");
            *running = Running { due: now, heard: now, ticket: None };
            self.core.find_coordinator();
        }
    }

    /// Whether the application has to poll: not while others are waited for, or nothing is left. The
    /// coordinator answers JoinGroup within the rebalance timeout, which is `max.poll.interval.ms`,
    /// and who has not polled by then leaves at once. Who leaves has to poll as well: others wait for
    /// what it gives up.
    pub(super) fn must_poll(&self) -> bool {
        match self.phase {
            Phase::Outside | Phase::Assigning | Phase::Syncing | Phase::Stable => true,
            Phase::Leaving { ticket, .. } => ticket.is_none() && self.generation >= 0,
            _ => false,
        }
    }

    /// Leaves when the application has not polled in time.
    pub(super) fn check_polls(&mut self, now: Instant) {
        if self.must_poll() && self.core.polls.is_over(now) {
            self.core.left_behind();
            if let Some(request) = self.leave_request("consumer poll timeout has expired.") {
                self.core.send(Ask::Leave(request));
            }
            self.forget_generation(false);
            self.core.desk.withdraw();
            self.beats.stop();
            (self.rejoin, self.ticket) = (None, 0);
            if !matches!(self.phase, Phase::Leaving { .. }) {
                self.phase = Phase::Away;
            }
        }
    }
}

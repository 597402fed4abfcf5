//! The poll timer and the backoff timer of a member; callers pass the time.

use ottla_protocol::ErrorCode;
use tokio::time::{Duration, Instant};

use crate::environment::Environment;
use crate::error::recovery::{PASSES_WITHIN, Recovery, recovery};
use crate::retry::backoff::Backoff;

/// The bounds of the heartbeat interval that a coordinator sets.
const HEARTBEAT_INTERVALS: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(3_600));

/// The heartbeat interval that a coordinator has set.
pub(super) fn heartbeat_interval(millis: i32) -> Duration {
    let interval = Duration::from_millis(u64::try_from(millis).unwrap_or(0));
    interval.clamp(HEARTBEAT_INTERVALS.0, HEARTBEAT_INTERVALS.1)
}

/// Enforces `max.poll.interval.ms` between polls. It is stopped during a poll.
#[derive(Debug)]
pub(super) struct PollTimer {
    interval: Duration,
    last_poll: Option<Instant>,
    /// How many polls the application is in.
    active_polls: usize,
}

impl PollTimer {
    pub(super) fn new(interval: Duration) -> Self {
        Self { interval, last_poll: None, active_polls: 0 }
    }

    pub(super) fn enter(&mut self) {
        self.active_polls += 1;
    }

    pub(super) fn exit(&mut self, now: Instant) {
        self.active_polls = self.active_polls.saturating_sub(1);
        self.last_poll = Some(now);
    }

    /// Restarts the interval.
    pub(super) fn restart(&mut self, now: Instant) {
        self.last_poll = Some(now);
    }

    /// When the next poll is overdue.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.last_poll.filter(|_| self.active_polls == 0).map(|last| last + self.interval)
    }

    pub(super) fn is_expired(&self, now: Instant) -> bool {
        self.deadline().is_some_and(|deadline| deadline <= now)
    }
}

/// An exponential backoff after consecutive failures.
#[derive(Debug)]
pub(super) struct BackoffTimer {
    backoff: Backoff,
    failures: u32,
    /// When the first of them happened.
    since: Option<Instant>,
    until: Option<Instant>,
}

impl BackoffTimer {
    pub(super) fn new(backoff: Backoff) -> Self {
        Self { backoff, failures: 0, since: None, until: None }
    }

    /// Backs off after a failure.
    pub(super) fn fail(&mut self, now: Instant, environment: &Environment) {
        self.failures = self.failures.saturating_add(1);
        self.since.get_or_insert(now);
        self.until = Some(now + self.backoff.after(self.failures, environment.random()));
    }

    /// Retries after a response that demands it: at once the first time, then with backoff.
    pub(super) fn retry(&mut self, now: Instant, environment: &Environment) {
        match self.failures {
            0 => (self.failures, self.since, self.until) = (1, Some(now), None),
            _ => self.fail(now, environment),
        }
    }

    /// Resets the backoff after a success.
    pub(super) fn reset(&mut self) {
        (self.failures, self.since, self.until) = (0, None, None);
    }

    /// The recovery from an error code. One that may pass is like that of a loading coordinator while it has
    /// not lasted; the first one in a row is a warning.
    pub(super) fn recovery(&self, now: Instant, code: ErrorCode, group: &str) -> Recovery {
        let since = self.since.unwrap_or(now);
        match recovery(code) {
            Recovery::Passing if now.saturating_duration_since(since) < PASSES_WITHIN => {
                if self.failures == 0 {
                    tracing::warn!(target: "ottla.group", %group, code = code.name(), "the group's coordinator met an unexpected error, and is asked again");
                }
                Recovery::Backoff
            }
            recovery => recovery,
        }
    }

    pub(super) fn is_expired(&self, now: Instant) -> bool {
        self.until.is_none_or(|until| until <= now)
    }

    pub(super) fn until(&self) -> Option<Instant> {
        self.until
    }
}

//! The clocks of a member: since when the application has not polled, and how long to wait after
//! failures. The time is given.

use tokio::time::{Duration, Instant};

use crate::environment::Environment;
use crate::retry::backoff::Backoff;

/// `max.poll.interval.ms`, counted from the last poll. It stands still while the application waits
/// in a poll.
#[derive(Debug)]
pub(super) struct Polls {
    interval: Duration,
    last: Option<Instant>,
    /// How many polls the application is in.
    inside: usize,
}

impl Polls {
    pub(super) fn new(interval: Duration) -> Self {
        Self { interval, last: None, inside: 0 }
    }

    pub(super) fn enter(&mut self) {
        self.inside += 1;
    }

    pub(super) fn exit(&mut self, now: Instant) {
        self.inside = self.inside.saturating_sub(1);
        self.last = Some(now);
    }

    /// Counts from now.
    pub(super) fn restart(&mut self, now: Instant) {
        self.last = Some(now);
    }

    /// When the application must have polled.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.last.filter(|_| self.inside == 0).map(|last| last + self.interval)
    }

    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.deadline().is_some_and(|deadline| deadline <= now)
    }
}

/// The wait after failures: longer with each in a row.
#[derive(Debug)]
pub(super) struct Pause {
    backoff: Backoff,
    failures: u32,
    until: Option<Instant>,
}

impl Pause {
    pub(super) fn new(backoff: Backoff) -> Self {
        Self { backoff, failures: 0, until: None }
    }

    /// After a failure: wait.
    pub(super) fn fail(&mut self, now: Instant, environment: &Environment) {
        self.failures = self.failures.saturating_add(1);
        self.until = Some(now + self.backoff.after(self.failures, environment.random()));
    }

    /// After an answer that asks for another try: the first one comes at once, but whoever is never
    /// content is not asked without a pause.
    pub(super) fn again(&mut self, now: Instant, environment: &Environment) {
        match self.failures {
            0 => (self.failures, self.until) = (1, None),
            _ => self.fail(now, environment),
        }
    }

    /// Something went well.
    pub(super) fn reset(&mut self) {
        (self.failures, self.until) = (0, None);
    }

    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.until.is_none_or(|until| until <= now)
    }

    pub(super) fn until(&self) -> Option<Instant> {
        self.until
    }
}

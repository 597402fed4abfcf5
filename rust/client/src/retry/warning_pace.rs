//! How often one lasting condition is reported: at once when it is due, then at growing intervals.
//!
//! Invariant: the interval is reset only after the condition has not occurred for [`FORGOTTEN_AFTER`], so a condition
//! that comes and goes is not reported without bound.

use tokio::time::{Duration, Instant};

/// The time between the first two warnings; it doubles with each warning.
const FIRST_INTERVAL: Duration = Duration::from_secs(10);
const MAX_INTERVAL: Duration = Duration::from_secs(300);
/// A condition that has not been seen for this long counts as new.
pub(crate) const FORGOTTEN_AFTER: Duration = Duration::from_secs(120);

/// When a condition was last seen, and when it is reported again.
#[derive(Debug)]
pub(crate) struct WarningPace {
    seen: Instant,
    next: Instant,
    interval: Duration,
}

impl WarningPace {
    pub(crate) fn new(now: Instant) -> Self {
        Self { seen: now, next: now, interval: FIRST_INTERVAL }
    }

    /// Whether the condition has not been seen for long.
    pub(crate) fn is_forgotten(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.seen) >= FORGOTTEN_AFTER
    }

    /// When the next warning may be given, if the condition lasts.
    pub(crate) fn next(&self) -> Instant {
        self.next
    }

    /// Records that the condition was seen.
    pub(crate) fn see(&mut self, now: Instant) {
        if self.is_forgotten(now) {
            (self.next, self.interval) = (now, FIRST_INTERVAL);
        }
        self.seen = now;
    }

    /// Records that the condition was seen. Returns whether to warn now.
    pub(crate) fn is_next(&mut self, now: Instant) -> bool {
        self.see(now);
        if now < self.next {
            return false;
        }
        self.next = now + self.interval;
        self.interval = (self.interval * 2).min(MAX_INTERVAL);
        true
    }
}

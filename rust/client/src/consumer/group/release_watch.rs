//! A KIP-848 member that waits for partitions which other members have not released: when to describe the
//! group, and whether to warn. No I/O; the driver passes the time, the member's assignment and descriptions.
//!
//! A coordinator never tells a member which partitions it still waits for, so the group is described once
//! after each join, and again while the member has no partitions or waits for some.
//!
//! Invariants: one description is in flight at most, and there is a pause between two. A warning rests on a
//! description; a member without a target, as in a group with more members than partitions, causes none.

use std::collections::BTreeSet;

use tokio::time::{Duration, Instant};

use super::topic_names::TopicIdPartition;
use crate::retry::warning_pace::WarningPace;

/// How long after a join the group is described: two seconds must not pass in silence.
const DESCRIBED_AFTER: Duration = Duration::from_millis(1_500);
/// The minimum time between two descriptions.
const PAUSE: Duration = Duration::from_secs(5);
/// How often a description that fails is repeated.
const MAX_FAILURES: u32 = 3;

/// The assignment of a member of a KIP-848 group, as the coordinator has sent it.
#[derive(Debug, Clone, Copy)]
pub struct Assigned<'a> {
    /// The member's epoch.
    pub(super) epoch: i32,
    /// The assigned partitions; `None` before the first assignment.
    pub(super) partitions: Option<&'a BTreeSet<TopicIdPartition>>,
}

impl Assigned<'_> {
    fn has(&self, partition: &TopicIdPartition) -> bool {
        self.partitions.is_some_and(|partitions| partitions.contains(partition))
    }

    fn is_empty(&self) -> bool {
        self.partitions.is_none_or(BTreeSet::is_empty)
    }
}

/// What the driver does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WatchStep {
    /// Describe the group.
    Describe,
    /// Warn: the member has been waiting for the partitions of the description for this long.
    Warn(Duration),
    /// Log that the wait that was reported is over, after this long.
    Over(Duration),
    /// Log that the member has no partitions, and that nothing is known about the reason.
    Unknown,
}

/// The watch of one member.
#[derive(Debug)]
pub(super) struct ReleaseWatch {
    /// The epoch that was seen last; `None` while the member is not in its group.
    epoch: Option<i32>,
    /// Since when partitions may be missing.
    since: Instant,
    describe_at: Option<Instant>,
    is_describing: bool,
    described: Option<Instant>,
    failures: u32,
    /// The partitions that a warning was about.
    missing: BTreeSet<TopicIdPartition>,
    pace: WarningPace,
}

impl ReleaseWatch {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            epoch: None,
            since: now,
            describe_at: None,
            is_describing: false,
            described: None,
            failures: 0,
            missing: BTreeSet::new(),
            pace: WarningPace::new(now),
        }
    }

    /// Compares the assignment with the last one; `None` if the member is not in a group.
    pub(super) fn poll(&mut self, now: Instant, assigned: Option<Assigned<'_>>) -> Option<WatchStep> {
        let Some(assigned) = assigned else {
            (self.epoch, self.describe_at) = (None, None);
            self.missing.clear();
            return None;
        };
        let before = self.epoch.replace(assigned.epoch);
        let is_waiting = !self.missing.is_empty();
        if before.is_none() || (before != self.epoch && (is_waiting || assigned.is_empty())) {
            if !is_waiting {
                (self.since, self.failures) = (now, 0);
            }
            self.describe_by(now + DESCRIBED_AFTER);
        }
        if is_waiting && self.missing.iter().all(|partition| assigned.has(partition)) {
            return self.end(now);
        }
        let is_due = !self.is_describing && self.describe_at.is_some_and(|at| at <= now);
        is_due.then(|| {
            (self.is_describing, self.described, self.describe_at) = (true, Some(now), None);
            WatchStep::Describe
        })
    }

    /// Handles a description: the partitions that the coordinator will assign to the member once other members
    /// have released them, or `None` if the group could not be described.
    pub(super) fn process_description(
        &mut self,
        now: Instant,
        missing: Option<BTreeSet<TopicIdPartition>>,
        assigned: Option<Assigned<'_>>,
    ) -> Option<WatchStep> {
        self.is_describing = false;
        // It may have left, or received partitions, meanwhile.
        let assigned = assigned?;
        let Some(mut missing) = missing else {
            self.failures += 1;
            if self.failures < MAX_FAILURES {
                self.describe_by(now);
            }
            let is_unknown = self.failures == 1 && assigned.is_empty() && self.missing.is_empty();
            return is_unknown.then_some(WatchStep::Unknown);
        };
        missing.retain(|partition| !assigned.has(partition));
        if missing.is_empty() {
            return self.end(now);
        }
        self.missing = missing;
        let warns = self.pace.is_next(now);
        self.describe_by(self.pace.next());
        warns.then(|| WatchStep::Warn(now.saturating_duration_since(self.since)))
    }

    /// When to poll again.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.describe_at.filter(|_| !self.is_describing)
    }

    fn describe_by(&mut self, at: Instant) {
        let at = self.described.map_or(at, |described| at.max(described + PAUSE));
        self.describe_at = Some(self.describe_at.map_or(at, |before| before.min(at)));
    }

    fn end(&mut self, now: Instant) -> Option<WatchStep> {
        let was_waiting = !self.missing.is_empty();
        self.missing.clear();
        self.describe_at = None;
        was_waiting.then(|| WatchStep::Over(now.saturating_duration_since(self.since)))
    }
}

#[cfg(test)]
mod tests;

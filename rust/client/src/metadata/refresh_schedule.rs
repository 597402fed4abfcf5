//! When the next refresh of the metadata is due: callers state what they need, and this decides the time.
//! No I/O; callers pass the time and the random number.
//!
//! Invariants: two refreshes are never due without a pause in between, whatever the configuration. The
//! next attempt uses up all needs that were stated before it started, even if it fails: nobody's old need
//! keeps an idle client busy.

use tokio::time::{Duration, Instant};

use crate::retry::backoff::Backoff;

/// Minimum time until a refresh by age or after a lost connection.
const MIN_BACKGROUND_PAUSE: Duration = Duration::from_millis(100);
/// Minimum time until a requested refresh.
const MIN_PAUSE: Duration = Duration::from_millis(10);

/// Why a caller needs a refresh, with the generation of the metadata that it saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RefreshNeed {
    /// The metadata is wrong, for example about a leader.
    Stale(u64),
    /// The metadata lacks something: a topic does not exist yet, or a partition has no leader.
    Missing(u64),
}

/// The pace of refreshes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// `retry.backoff.ms` and `retry.backoff.max.ms`.
    pub(crate) backoff: Backoff,
    /// The age at which metadata is refreshed without a need.
    pub(crate) max_age: Duration,
}

/// The next refresh.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NextRefresh {
    pub(crate) due: Instant,
    /// Whether a caller needs it. Otherwise the metadata is old, or a connection was lost.
    pub(crate) requested: bool,
}

/// The purpose of the next refresh.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Needs {
    stale: Option<u64>,
    missing: Option<u64>,
    /// Topics or a pattern that no request has asked for yet.
    newly_tracked: bool,
    /// The brokers may create the missing topics.
    create: bool,
    /// When the refresh after a lost connection is due.
    lost: Option<Instant>,
}

impl Needs {
    fn merge(&mut self, other: Self) {
        self.stale = self.stale.max(other.stale);
        self.missing = self.missing.max(other.missing);
        self.newly_tracked |= other.newly_tracked;
        self.create |= other.create;
        self.lost = [self.lost, other.lost].into_iter().flatten().min();
    }
}

/// The pending needs and the course of the last refreshes.
#[derive(Debug, Default)]
pub(super) struct RefreshSchedule {
    pending: Needs,
    /// The needs that the refresh in flight serves.
    in_flight: Option<Needs>,
    /// The generation of the last response.
    generation: u64,
    /// When the last refresh ended.
    ended: Option<Instant>,
    /// Consecutive failed refreshes.
    failures: u32,
    /// Consecutive refreshes for something that was missing.
    unanswered: u32,
    /// Whether the last refresh was for newly tracked topics.
    was_newly_tracked: bool,
}

impl RefreshSchedule {
    /// Adds a need, unless a response has arrived since the caller looked. `newly_tracked` says that no
    /// request has asked for its topics yet. Returns whether the pending needs have changed.
    pub(super) fn request(&mut self, need: RefreshNeed, newly_tracked: bool, create: bool) -> bool {
        let (RefreshNeed::Stale(generation) | RefreshNeed::Missing(generation)) = need;
        let is_current = generation >= self.generation;
        let generation = is_current.then_some(generation);
        let (stale, missing) = match need {
            RefreshNeed::Stale(_) => (generation, None),
            RefreshNeed::Missing(_) => (None, generation),
        };
        let create = create && (is_current || newly_tracked);
        let before = self.pending;
        self.pending.merge(Needs { stale, missing, newly_tracked, create, lost: None });
        self.pending != before
    }

    /// Adds the need of a refresh after a pause, since the lost broker may lead nothing any more.
    pub(super) fn connection_lost(&mut self, now: Instant, pace: &Pace) {
        let due = now + pace.backoff.first.max(MIN_BACKGROUND_PAUSE);
        self.pending.merge(Needs { lost: Some(due), ..Needs::default() });
    }

    /// Records that a refresh starts, which serves the pending needs. Returns whether the brokers may
    /// create missing topics.
    pub(super) fn start(&mut self, now: Instant) -> bool {
        let mut needs = std::mem::take(&mut self.pending);
        // A refresh right after the loss comes before the cluster has elected other leaders.
        self.pending.lost = needs.lost.take_if(|due| *due > now);
        self.unanswered = match needs {
            Needs { missing: None, .. } => 0,
            Needs { newly_tracked: true, .. } => 1,
            _ => self.unanswered.saturating_add(1),
        };
        self.was_newly_tracked = needs.newly_tracked;
        self.in_flight = Some(needs);
        needs.create
    }

    /// Records the response to the refresh. Needs stated meanwhile remain unless it is newer than they
    /// are.
    pub(super) fn succeed(&mut self, now: Instant, generation: u64) {
        self.failures = 0;
        self.end(now);
        self.generation = generation;
        let needs = &mut self.pending;
        needs.stale = needs.stale.filter(|stale| *stale >= generation);
        needs.missing = needs.missing.filter(|missing| *missing >= generation);
        needs.create &= needs.missing.is_some() || needs.newly_tracked;
    }

    /// Records that the refresh failed.
    pub(super) fn fail(&mut self, now: Instant) {
        self.failures = self.failures.saturating_add(1);
        self.end(now);
    }

    fn end(&mut self, now: Instant) {
        self.in_flight = None;
        self.ended = Some(now);
    }

    /// Records that the caller gave up its refresh before it ended: the needs are pending again.
    pub(super) fn cancel(&mut self) {
        if let Some(needs) = self.in_flight.take() {
            self.pending.merge(needs);
        }
    }

    /// The next refresh; `None` while one is in flight, and before the first one without a need. The
    /// random number, in `0.0..1.0`, must stay the same until a refresh has ended.
    pub(super) fn next(&self, now: Instant, pace: &Pace, random: f64) -> Option<NextRefresh> {
        if self.in_flight.is_some() {
            return None;
        }
        let Needs { stale, missing, newly_tracked, lost, .. } = self.pending;
        let ended = self.ended.unwrap_or(now);
        let backoff = |attempts: u32| match self.ended {
            Some(ended) => ended + pace.backoff.after(attempts, random).max(MIN_PAUSE),
            None => now,
        };
        // A topic may be dropped and tracked again and again.
        let new = if self.was_newly_tracked { ended + MIN_PAUSE } else { ended };
        let requested = [
            stale.map(|_| backoff(1)),
            missing.map(|_| backoff(self.unanswered.max(1))),
            newly_tracked.then_some(new),
        ];
        let lost = lost.map(|due| due.max(ended + MIN_PAUSE));
        let age = self.ended.map(|ended| ended + pace.max_age.max(MIN_BACKGROUND_PAUSE));
        let requested = requested.into_iter().flatten().min().map(|due| (due, true));
        let background = [lost, age].into_iter().flatten().min().map(|due| (due, false));
        let (due, requested) = [requested, background].into_iter().flatten().min_by_key(|(due, _)| *due)?;
        let not_before = if self.failures > 0 { backoff(self.failures) } else { due };
        Some(NextRefresh { due: due.max(not_before), requested })
    }
}

#[cfg(test)]
mod tests;

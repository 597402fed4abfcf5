//! The refreshes of one client: at most one is in flight, and everyone sees how the last one ended.
//!
//! Invariants: an outcome is published after the snapshot was replaced, for every refresh that ends,
//! whoever performed it. A refresh that is abandoned ends without an outcome, and its needs stay.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{MutexGuard, Notify, watch};
use tokio::time::Instant;

use super::refresh_schedule::{NextRefresh, Pace, RefreshNeed, RefreshSchedule};
use crate::error::{Error, Kind};

/// How the last refresh ended.
#[derive(Debug, Clone, Default)]
pub(crate) struct RefreshOutcome {
    /// The number of the refresh: they are counted as they start, from 1.
    pub(crate) number: u64,
    /// Why it failed.
    pub(crate) error: Option<Error>,
    /// The generation of the last response.
    pub(crate) generation: u64,
    /// The number of the last refresh whose response included all topics.
    pub(crate) all_topics: u64,
}

#[derive(Debug, Default)]
struct Course {
    schedule: RefreshSchedule,
    /// The number of the last refresh that has started.
    started: u64,
}

/// The state of a client's refreshes.
#[derive(Debug, Default)]
pub(super) struct RefreshState {
    course: Mutex<Course>,
    /// Notified when the next refresh may be due at another time.
    changed: Arc<Notify>,
    outcome: watch::Sender<RefreshOutcome>,
    /// Held during a refresh.
    in_flight: tokio::sync::Mutex<()>,
}

/// A refresh in flight.
#[derive(Debug)]
pub(crate) struct RefreshAttempt<'a> {
    state: &'a RefreshState,
    number: u64,
    /// Whether the brokers may create missing topics.
    pub(crate) create: bool,
    ended: bool,
    _in_flight: MutexGuard<'a, ()>,
}

impl RefreshState {
    /// States a need. Returns the number of the last refresh that has started: later ones serve the need.
    pub(super) fn request(&self, need: RefreshNeed, newly_tracked: bool, create: bool) -> u64 {
        let mut course = self.course.lock();
        let changed = course.schedule.request(need, newly_tracked, create);
        let started = course.started;
        drop(course);
        if changed {
            self.changed.notify_one();
        }
        started
    }

    pub(super) fn connection_lost(&self, pace: &Pace) {
        self.course.lock().schedule.connection_lost(Instant::now(), pace);
    }

    pub(super) fn next(&self, pace: &Pace, random: f64) -> Option<NextRefresh> {
        self.course.lock().schedule.next(Instant::now(), pace, random)
    }

    pub(super) fn changed(&self) -> Arc<Notify> {
        Arc::clone(&self.changed)
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<RefreshOutcome> {
        self.outcome.subscribe()
    }

    /// The number of the last refresh that has ended.
    pub(super) fn last(&self) -> u64 {
        self.outcome.borrow().number
    }

    /// The error of the last refresh, if that ended after `number`.
    pub(super) fn failure_after(&self, number: u64) -> Option<Error> {
        let outcome = self.outcome.borrow();
        outcome.error.clone().filter(|_| outcome.number > number)
    }

    /// Waits until no refresh is in flight, and prevents one until the result is dropped.
    pub(super) async fn lock(&self) -> MutexGuard<'_, ()> {
        self.in_flight.lock().await
    }

    /// Starts a refresh. It serves the needs that were stated before, so its request must be built after.
    pub(super) fn start<'a>(&'a self, in_flight: MutexGuard<'a, ()>) -> RefreshAttempt<'a> {
        let mut course = self.course.lock();
        course.started += 1;
        let create = course.schedule.start(Instant::now());
        RefreshAttempt { state: self, number: course.started, create, ended: false, _in_flight: in_flight }
    }
}

impl RefreshAttempt<'_> {
    /// Publishes that the response was merged, as this generation.
    pub(crate) fn succeed(mut self, generation: u64, all_topics: bool) {
        self.state.course.lock().schedule.succeed(Instant::now(), generation);
        self.end(|outcome| {
            (outcome.error, outcome.generation) = (None, generation);
            if all_topics {
                outcome.all_topics = outcome.number;
            }
        });
    }

    /// Publishes that the refresh failed.
    pub(crate) fn fail(mut self, error: Error) {
        self.set_failed(error);
    }

    fn set_failed(&mut self, error: Error) {
        self.state.course.lock().schedule.fail(Instant::now());
        self.end(|outcome| outcome.error = Some(error));
    }

    fn end(&mut self, change: impl FnOnce(&mut RefreshOutcome)) {
        self.ended = true;
        self.state.outcome.send_modify(|outcome| {
            outcome.number = self.number;
            change(outcome);
        });
        self.state.changed.notify_one();
    }
}

impl Drop for RefreshAttempt<'_> {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        if std::thread::panicking() {
            // Otherwise its needs would cause the same panic again and again.
            self.set_failed(Error::new(Kind::Internal, "a refresh of the metadata panicked"));
            return;
        }
        self.state.course.lock().schedule.cancel();
        self.state.changed.notify_one();
    }
}

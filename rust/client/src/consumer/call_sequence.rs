//! The order of the steps of a call: poll → rebalance callbacks → records, and what closing does.
//!
//! Blocking, asyncio and Rust callers run the same sequence; they differ only in how they wait and in how
//! they call the application. A state machine without I/O, which takes the time as an argument.
//!
//! Invariants: a poll ends with its first error. Closing completes all steps whatever fails, and then returns
//! the first error. No rebalance is handled while another call may be in a callback.

use tokio::time::Instant;

use crate::consumer::group::RebalanceEvent;
use crate::error::{Error, Kind};

/// What the caller does next. It reports the result with [`CallSequence::advance`].
#[derive(Debug, Clone)]
pub enum Step {
    /// Acquire the lock of polling, until the deadline. Nothing: another call still holds it.
    AcquirePollLock,
    /// Call the callbacks of completed commits.
    CommitCallbacks,
    /// Wait for the target. Nothing: the timeout passed.
    Wait,
    /// Take the result. Nothing: there was none, so wait again.
    Take,
    /// Begin to close: wait for commits in flight, commit, and give up the partitions.
    BeginClose,
    /// Take the next rebalance event of a membership that ends. Something: wait for one in progress first.
    NextRebalance,
    /// Prepare this rebalance, call the application's callback and finish the rebalance. Nothing: there is
    /// no callback for it.
    Rebalance(RebalanceEvent),
    /// Leave the group and close.
    EndClose,
    /// Return.
    Done,
}

/// The result of a step that did not fail.
#[derive(Debug)]
pub enum Progress {
    /// There was nothing to do or to take, or the wait timed out.
    Nothing,
    /// The step was done.
    Something,
    /// A rebalance began.
    Rebalance(RebalanceEvent),
}

/// The steps of one call.
#[derive(Debug)]
pub struct CallSequence<E> {
    step: Step,
    /// Set for a membership that ends, by `unsubscribe` or `close`.
    ending: Option<Ending<E>>,
}

#[derive(Debug)]
struct Ending<E> {
    deadline: Instant,
    closes: bool,
    /// Whether the call holds the lock of polling.
    is_locked: bool,
    has_begun: bool,
    error: Option<E>,
}

impl<E: From<Error>> CallSequence<E> {
    /// A poll.
    #[must_use]
    pub fn poll() -> Self {
        Self { step: Step::CommitCallbacks, ending: None }
    }

    /// The rebalances after [`crate::consumer::Consumer::unsubscribe`], until the deadline. The caller
    /// holds the lock of polling.
    #[must_use]
    pub fn unsubscribe(deadline: Instant) -> Self {
        let ending = Ending { deadline, closes: false, is_locked: true, has_begun: true, error: None };
        Self { step: Step::NextRebalance, ending: Some(ending) }
    }

    /// Closing, until the deadline.
    #[must_use]
    pub fn close(deadline: Instant) -> Self {
        let ending = Ending { deadline, closes: true, is_locked: false, has_begun: false, error: None };
        Self { step: Step::AcquirePollLock, ending: Some(ending) }
    }

    /// Closing, until the deadline, by a signal handler that interrupts a poll on the same thread. The poll
    /// goes on, and ends, when the handler returns. `is_locked` says that the poll handles no rebalance.
    #[must_use]
    pub fn close_in_handler(deadline: Instant, is_locked: bool) -> Self {
        let ending = Ending { deadline, closes: true, is_locked, has_begun: false, error: None };
        Self { step: Step::CommitCallbacks, ending: Some(ending) }
    }

    /// What to do next.
    #[must_use]
    pub fn step(&self) -> &Step {
        &self.step
    }

    /// Until when all steps must end, unless the call is a poll.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.ending.as_ref().map(|ending| ending.deadline)
    }

    /// Whether closing has acquired the lock of polling.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        self.ending.as_ref().is_some_and(|ending| ending.is_locked)
    }

    /// Records the result of the current step, and moves to the next one. Returns the error of a poll.
    pub fn advance(&mut self, result: Result<Progress, E>, now: Instant) -> Result<(), E> {
        match &mut self.ending {
            None => self.step = next_of_poll(&self.step, result?),
            Some(ending) => {
                let is_late = now >= ending.deadline;
                let progress = result.unwrap_or_else(|error| {
                    ending.error.get_or_insert(error);
                    Progress::Something
                });
                self.step = ending.next(&self.step, progress, is_late);
            }
        }
        Ok(())
    }

    /// The first error of the steps of a call that is done.
    pub fn finish(self) -> Result<(), E> {
        match self.ending.and_then(|ending| ending.error) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

fn next_of_poll(step: &Step, progress: Progress) -> Step {
    match (step, progress) {
        (_, Progress::Rebalance(event)) => Step::Rebalance(event),
        (Step::CommitCallbacks, _) => Step::Wait,
        (Step::Wait, Progress::Something) => Step::Take,
        // The taken records became stale meanwhile.
        (Step::Take, Progress::Nothing) | (Step::Rebalance(_), _) => Step::CommitCallbacks,
        _ => Step::Done,
    }
}

impl<E: From<Error>> Ending<E> {
    fn next(&mut self, step: &Step, progress: Progress, is_late: bool) -> Step {
        match (step, progress) {
            (_, Progress::Rebalance(event)) => Step::Rebalance(event),
            (Step::AcquirePollLock, progress) => {
                self.is_locked = matches!(progress, Progress::Something);
                Step::CommitCallbacks
            }
            (Step::CommitCallbacks, progress) => {
                self.check_callback(&progress, is_late, "a callback of a commit");
                if std::mem::replace(&mut self.has_begun, true) { Step::Done } else { Step::BeginClose }
            }
            (Step::Rebalance(_), progress) | (Step::NextRebalance, progress @ Progress::Something) => {
                self.check_callback(&progress, is_late, "a callback of the last rebalance");
                self.next_rebalance(is_late)
            }
            // Without the lock another call is still in a callback, and closing does not wait for it.
            (Step::BeginClose, _) => self.next_rebalance(is_late || !self.is_locked),
            (Step::NextRebalance, _) if self.closes => Step::EndClose,
            (Step::EndClose, _) => Step::CommitCallbacks,
            _ => Step::Done,
        }
    }

    fn next_rebalance(&self, is_over: bool) -> Step {
        match (is_over, self.closes) {
            (false, _) => Step::NextRebalance,
            (true, true) => Step::EndClose,
            (true, false) => Step::Done,
        }
    }

    /// Records that a callback ended after the deadline.
    fn check_callback(&mut self, progress: &Progress, is_late: bool, callback: &str) {
        if is_late && self.closes && matches!(progress, Progress::Something) {
            let late = || Error::new(Kind::Timeout, format!("{callback} did not end in time"));
            self.error.get_or_insert_with(|| late().into());
        }
    }
}

#[cfg(test)]
mod tests;

//! The steps of a call that the core runs: the same for the blocking and the asyncio consumer. Their order is
//! the core's `CallSequence`.
//!
//! Invariant: nothing here waits for the GIL or calls Python.

use ottla_client::consumer::{PollOutcome, PollTarget, Progress, Step, TimeKeeper};
use ottla_client::{Error, Result};
use pyo3::prelude::*;
use tokio::time::{Duration, Instant};

use crate::consumer::consumer_handle::ConsumerHandle;
use crate::convert::errors;

/// An error of the core or of a callback, as an exception.
pub(super) struct CallError(pub(super) PyErr);

impl From<Error> for CallError {
    fn from(error: Error) -> Self {
        Self(Python::attach(|py| errors::raise(py, &error)))
    }
}

impl From<PyErr> for CallError {
    fn from(error: PyErr) -> Self {
        Self(error)
    }
}

/// What a poll waits for, and until when.
pub(crate) struct PollArgs {
    pub(super) target: PollTarget,
    pub(super) deadline: Instant,
    pub(super) keeper: TimeKeeper,
}

/// Whether a step was done, as its progress.
pub(super) fn progress(is_done: bool) -> Progress {
    if is_done { Progress::Something } else { Progress::Nothing }
}

/// Runs a step, one that neither calls nor creates Python objects. `deadline` is that of the call.
pub(super) async fn run_step(
    handle: &ConsumerHandle,
    step: &Step,
    poll: Option<&PollArgs>,
    deadline: Option<Instant>,
) -> Result<Progress> {
    let deadline = deadline.unwrap_or_else(Instant::now);
    let left = || -> Duration { deadline.saturating_duration_since(Instant::now()) };
    match (step, poll) {
        (Step::Wait, Some(PollArgs { target, deadline, keeper })) => {
            Ok(match handle.core.wait_for(target, *deadline, *keeper).await? {
                PollOutcome::Ready => Progress::Something,
                PollOutcome::TimedOut => Progress::Nothing,
                PollOutcome::Rebalance(event) => Progress::Rebalance(event),
            })
        }
        (Step::AcquirePollLock, _) => Ok(progress(handle.poll_lock.acquire_by(deadline).await)),
        (Step::BeginClose, _) => {
            handle.begin_close(left()).await;
            Ok(Progress::Something)
        }
        (Step::EndClose, _) => handle.end_close(left()).await.map(|()| Progress::Something),
        _ => Ok(Progress::Nothing),
    }
}

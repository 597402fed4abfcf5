//! Futures of asyncio that have got an error: whether the program has looked at it.
//!
//! Invariant: at most [`MAX`] of them are kept, until the producer is closed; of others that nobody looks at,
//! asyncio itself says so when they are collected.

use ottla_client::Error;
use ottla_client::producer::UnobservedFailure;
use parking_lot::Mutex;
use pyo3::intern;
use pyo3::prelude::*;

const MAX: usize = 10_000;

struct Failed {
    future: Py<PyAny>,
    error: Error,
    reported: bool,
}

impl Failed {
    fn failure(&self) -> UnobservedFailure {
        UnobservedFailure { error: self.error.clone(), count: 1 }
    }
}

#[derive(Default)]
pub(crate) struct FailedFutures(Mutex<Vec<Failed>>);

impl FailedFutures {
    pub(crate) fn push(&self, future: Py<PyAny>, error: Error) {
        let mut failed = self.0.lock();
        if failed.len() < MAX {
            failed.push(Failed { future, error, reported: false });
        }
    }

    /// Logs failures that nobody has looked at, once each; on the loop's thread.
    pub(crate) fn warn(&self, py: Python<'_>) {
        let mut failed = self.take(py);
        let unreported = failed.iter().filter(|failed| !failed.reported).map(Failed::failure);
        UnobservedFailure::grouped(unreported).iter().for_each(UnobservedFailure::warn);
        failed.iter_mut().for_each(|failed| failed.reported = true);
        self.0.lock().extend(failed);
    }

    /// Takes out all that nobody has looked at: the first, and how many there are. asyncio says nothing of
    /// them any more.
    pub(crate) fn take_all(&self, py: Python<'_>) -> Option<UnobservedFailure> {
        let failed = self.take(py);
        UnobservedFailure::total(failed.into_iter().map(|failed| {
            // An attribute of asyncio's own futures; others have nothing to be told.
            let _ = failed.future.setattr(py, intern!(py, "_log_traceback"), false);
            failed.failure()
        }))
    }

    /// Takes out those that nobody has looked at, and drops the others. Without the lock, since this calls
    /// Python.
    fn take(&self, py: Python<'_>) -> Vec<Failed> {
        let mut failed = std::mem::take(&mut *self.0.lock());
        failed.retain(|failed| {
            let unseen = failed.future.getattr(py, intern!(py, "_log_traceback"));
            unseen.and_then(|unseen| unseen.is_truthy(py)).unwrap_or(false)
        });
        failed
    }
}

//! asyncio futures that failed, until the application retrieves their errors.
//!
//! Invariant: at most [`MAX`] futures are kept, until the producer is closed. asyncio reports the
//! errors of all others itself, when it collects their futures.

use ottla_client::Error;
use ottla_client::producer::UnobservedFailure;
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::{PyVisit, intern};

use crate::garbage::{Traverse, Visited};

const MAX: usize = 10_000;

struct FailedFuture {
    future: Py<PyAny>,
    error: Error,
    is_reported: bool,
}

impl FailedFuture {
    fn failure(&self) -> UnobservedFailure {
        UnobservedFailure { error: self.error.clone(), count: 1 }
    }
}

/// Only threads with the GIL take the lock.
#[derive(Default)]
pub(crate) struct FailedFutures(Mutex<Vec<FailedFuture>>);

impl FailedFutures {
    pub(crate) fn push(&self, future: Py<PyAny>, error: Error) {
        let mut failed = self.0.lock();
        if failed.len() < MAX {
            failed.push(FailedFuture { future, error, is_reported: false });
        }
    }

    /// Logs each failure that was not retrieved, once; must be called on the loop's thread.
    pub(crate) fn warn(&self, py: Python<'_>) {
        let mut failed = self.take_unretrieved(py);
        let unreported = failed.iter().filter(|failed| !failed.is_reported).map(FailedFuture::failure);
        UnobservedFailure::grouped(unreported).iter().for_each(UnobservedFailure::warn);
        failed.iter_mut().for_each(|failed| failed.is_reported = true);
        self.0.lock().extend(failed);
    }

    /// Removes all failures that were not retrieved, and returns the first and their number. asyncio no
    /// longer reports them.
    pub(crate) fn take_all(&self, py: Python<'_>) -> Option<UnobservedFailure> {
        let failed = self.take_unretrieved(py);
        UnobservedFailure::total(failed.into_iter().map(|failed| {
            // Only asyncio's own futures have this attribute; others report nothing.
            let _ = failed.future.setattr(py, intern!(py, "_log_traceback"), false);
            failed.failure()
        }))
    }

    /// Removes all failures, and returns those that were not retrieved. Works outside of the lock, since it
    /// calls Python.
    fn take_unretrieved(&self, py: Python<'_>) -> Vec<FailedFuture> {
        let mut failed = std::mem::take(&mut *self.0.lock());
        failed.retain(|failed| {
            let unretrieved = failed.future.getattr(py, intern!(py, "_log_traceback"));
            unretrieved.and_then(|unretrieved| unretrieved.is_truthy(py)).unwrap_or(false)
        });
        failed
    }
}

impl Traverse for FailedFutures {
    fn traverse(&self, visit: &PyVisit<'_>) -> Visited {
        let Some(failed) = self.0.try_lock() else { return Ok(()) };
        failed.iter().try_for_each(|failed| failed.future.traverse(visit))
    }
}

//! The process's runtime, and waiting on it without the GIL.
//!
//! Invariants: the runtime belongs to a process id; a forked child, in which its threads do not
//! exist, never touches it and makes its own. What was made before the fork refuses with a clear
//! error and is leaked rather than torn down. Every wait lets other Python threads run and looks
//! for signals, so that Ctrl-C ends it within 100 ms.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use pyo3::prelude::*;
use tokio::runtime::Runtime;

use crate::errors;

/// How often a wait looks for signals.
const SIGNAL_CHECK: Duration = Duration::from_millis(50);

struct OfProcess {
    pid: u32,
    runtime: Arc<Runtime>,
}

static CURRENT: ArcSwapOption<OfProcess> = ArcSwapOption::const_empty();

/// The runtime of this process, made at its first use.
pub(crate) fn runtime() -> PyResult<Arc<Runtime>> {
    let pid = std::process::id();
    let current = CURRENT.load_full();
    if let Some(current) = &current
        && current.pid == pid
    {
        return Ok(Arc::clone(&current.runtime));
    }
    let made = tokio::runtime::Builder::new_multi_thread()
        // A client waits more than it computes, and Spark runs a worker process per core.
        .worker_threads(2)
        .max_blocking_threads(8)
        .thread_name("ottla")
        .enable_all()
        .build()?;
    let made = Arc::new(OfProcess { pid, runtime: Arc::new(made) });
    let before = CURRENT.compare_and_swap(&current, Some(Arc::clone(&made)));
    match (&*before, &current) {
        // Another thread was quicker.
        (Some(winner), _) if winner.pid == pid => Ok(Arc::clone(&winner.runtime)),
        _ => {
            // The parent's runtime: its threads are not here to be joined.
            std::mem::forget(current);
            Ok(Arc::clone(&made.runtime))
        }
    }
}

/// Something that belongs to the process in which it was made.
pub(crate) struct Owned<T> {
    pid: u32,
    value: Option<T>,
}

impl<T> Owned<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { pid: std::process::id(), value: Some(value) }
    }

    /// The value, unless this is a forked child or it was taken.
    pub(crate) fn get(&self) -> PyResult<&T> {
        self.check()?;
        self.value.as_ref().ok_or_else(|| errors::closed("this object was closed"))
    }

    /// As [`Owned::get`], to change it.
    pub(crate) fn get_mut(&mut self) -> PyResult<&mut T> {
        self.check()?;
        self.value.as_mut().ok_or_else(|| errors::closed("this object was closed"))
    }

    fn check(&self) -> PyResult<()> {
        if self.pid == std::process::id() {
            return Ok(());
        }
        Err(errors::closed(&format!(
            "this object was made in process {}, and this is process {}, forked from it: make a new one here",
            self.pid,
            std::process::id()
        )))
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        // Tearing down the parent's state would wait for threads that this process has not got.
        if self.pid != std::process::id() {
            std::mem::forget(self.value.take());
        }
    }
}

/// Waits for a future: without the GIL, and looking for signals.
pub(crate) fn wait<F: Future + Send>(py: Python<'_>, future: F) -> PyResult<F::Output>
where
    F::Output: Send,
{
    let runtime = runtime()?;
    py.detach(|| {
        runtime.block_on(async {
            tokio::pin!(future);
            loop {
                tokio::select! {
                    biased;
                    output = &mut future => return Ok(output),
                    () = tokio::time::sleep(SIGNAL_CHECK) => Python::attach(|py| py.check_signals())?,
                }
            }
        })
    })
}

/// As [`wait`], for results of the client.
pub(crate) fn wait_for<T: Send>(
    py: Python<'_>,
    future: impl Future<Output = ottla_client::Result<T>> + Send,
) -> PyResult<T> {
    wait(py, future)?.map_err(|error| errors::raise(py, &error))
}

/// A time-out in seconds, as Python gives it.
pub(crate) fn seconds(timeout: Option<f64>, default: Duration) -> PyResult<Duration> {
    match timeout {
        None => Ok(default),
        Some(seconds) => Duration::try_from_secs_f64(seconds).map_err(|_| {
            pyo3::exceptions::PyValueError::new_err(format!(
                "timeout is {seconds}: expected seconds, 0 or more"
            ))
        }),
    }
}

//! Native asyncio futures for the results of the core's tasks.
//!
//! - `event_loop`: callbacks that run on a loop's thread; `failed_futures`: errors that were not retrieved.
//!
//! Invariants: no thread of the core ever waits for the GIL: results are queued for the loop, which
//! completes its futures on its own thread. Cancelling a future aborts its task and drops `make_value`
//! uncalled, so that nothing is taken for it. Every future completes, even if its task panics. A loop that waits for
//! a future runs now and then, so that Ctrl-C is not lost.

mod event_loop;
pub(crate) mod failed_futures;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use ottla_client::{Error, Kind, Result};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tokio::task::AbortHandle;

pub(crate) use self::event_loop::{LoopCache, LoopQueue, running_loop_queue};
use self::event_loop::{queue_of, running_loop};
use crate::convert::errors;
use crate::logging;
use crate::runtime::{ProcessLocal, runtime};

/// An asyncio future, as a method returns it.
pub(crate) type FutureResult<'py> = PyResult<Bound<'py, PyAny>>;

/// Makes the value of a future, on the loop's thread.
type MakeValue = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

/// How often a loop runs that waits for a future. asyncio notices a signal that arrives just before the loop waits, or
/// on another thread, only when the loop runs again; without this, that may be never.
const SIGNAL_CHECK: Duration = Duration::from_millis(500);

/// Starts `work` and returns an asyncio future of the running loop, for the value that `make_value`
/// makes of the result.
pub(crate) fn start<'py, T: Send + 'static>(
    py: Python<'py>,
    work: impl Future<Output = Result<T>> + Send + 'static,
    make_value: impl FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
) -> PyResult<Bound<'py, PyAny>> {
    start_work(
        py,
        Box::pin(async move {
            let result = work.await;
            Box::new(move |py: Python<'_>| match result {
                Ok(value) => make_value(py, value),
                Err(error) => Err(errors::raise(py, &error)),
            }) as MakeValue
        }),
    )
}

/// Starts work of any type. The task has one type, so the runtime's code for it is compiled once.
fn start_work<'py>(
    py: Python<'py>,
    work: Pin<Box<dyn Future<Output = MakeValue> + Send>>,
) -> PyResult<Bound<'py, PyAny>> {
    logging::refresh_levels(py);
    let (mut completer, future) = FutureCompleter::new(py)?;
    let task = runtime()?.spawn(async move {
        let make_value = waking(completer.loop_queue(), work).await;
        completer.complete_with(make_value);
    });
    let abort = AbortOnCancel(ProcessLocal::new(task.abort_handle()));
    future.call_method1("add_done_callback", (abort,))?;
    Ok(future)
}

/// Lets the loop run now and then until `work` is done, unless it does anyway: for one of a thousand futures is enough.
async fn waking<T>(loop_queue: &LoopQueue, mut work: impl Future<Output = T> + Unpin) -> T {
    loop {
        let runs = loop_queue.runs();
        tokio::select! {
            biased;
            output = &mut work => return output,
            () = tokio::time::sleep(SIGNAL_CHECK) => {
                if loop_queue.runs() == runs {
                    loop_queue.call_soon(|_| ());
                }
            }
        }
    }
}

/// A done callback that aborts the task of a cancelled future.
#[pyclass(frozen, module = "ottla._core")]
struct AbortOnCancel(ProcessLocal<AbortHandle>);

#[pymethods]
impl AbortOnCancel {
    fn __call__(&self, future: &Bound<'_, PyAny>) -> PyResult<()> {
        if future.call_method0("cancelled")?.is_truthy()? {
            self.0.get()?.abort();
        }
        Ok(())
    }
}

/// Completes an asyncio future once, from any thread and without the GIL. Dropping it fails the future.
pub(crate) struct FutureCompleter {
    future: Option<Py<PyAny>>,
    loop_queue: Arc<LoopQueue>,
}

impl FutureCompleter {
    /// Creates a future of the running loop, and its completer.
    pub(crate) fn new(py: Python<'_>) -> PyResult<(Self, Bound<'_, PyAny>)> {
        let running = running_loop(py)?;
        let loop_queue = queue_of(&running)?;
        let future = running.call_method0(intern!(py, "create_future"))?;
        Ok((Self::of(future.clone().unbind(), loop_queue), future))
    }

    /// A completer of an existing future, which belongs to the loop with this queue.
    pub(crate) fn of(future: Py<PyAny>, loop_queue: Arc<LoopQueue>) -> Self {
        Self { future: Some(future), loop_queue }
    }

    /// The queue of the future's loop.
    pub(crate) fn loop_queue(&self) -> &Arc<LoopQueue> {
        &self.loop_queue
    }

    /// Returns the future and its loop's queue; the caller must complete the future.
    pub(crate) fn into_parts(mut self) -> Option<(Py<PyAny>, Arc<LoopQueue>)> {
        self.future.take().map(|future| (future, Arc::clone(&self.loop_queue)))
    }

    /// Completes the future with what `make_value` returns or raises on the loop's thread. A cancelled
    /// future does not call it.
    pub(crate) fn complete(
        mut self,
        make_value: impl FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send + 'static,
    ) {
        self.complete_with(Box::new(make_value));
    }

    fn complete_with(&mut self, make_value: MakeValue) {
        if let Some(future) = self.future.take() {
            self.loop_queue.call_soon(move |py| {
                // Not called for a cancelled future: what it takes would be lost.
                let future = future.bind(py);
                if !is_done(future) {
                    complete(future, make_value(py));
                }
            });
        }
    }
}

impl Drop for FutureCompleter {
    fn drop(&mut self) {
        self.complete_with(Box::new(|py| {
            let message = "the task of this future ended without a result";
            Err(errors::raise(py, &Error::new(Kind::Closed, message)))
        }));
    }
}

/// Sets the result of a future that is not cancelled.
pub(crate) fn complete(future: &Bound<'_, PyAny>, result: PyResult<Py<PyAny>>) {
    let py = future.py();
    let completed = match result {
        Ok(value) => future.call_method1(intern!(py, "set_result"), (value,)),
        Err(error) => future.call_method1(intern!(py, "set_exception"), (error.into_value(py),)),
    };
    if let Err(error) = completed
        && !is_done(future)
    {
        error.write_unraisable(py, Some(future));
    }
}

pub(crate) fn is_done(future: &Bound<'_, PyAny>) -> bool {
    let done = future.call_method0(intern!(future.py(), "done")).and_then(|done| done.is_truthy());
    done.unwrap_or(false)
}

/// Reports an error that no caller can receive to the running loop's exception handler.
pub(crate) fn report_to_loop(py: Python<'_>, message: &str, error: PyErr) {
    let reported = running_loop(py).and_then(|running| {
        let context = PyDict::new(py);
        context.set_item("message", message)?;
        context.set_item("exception", error.value(py))?;
        running.call_method1(intern!(py, "call_exception_handler"), (context,))
    });
    if reported.is_err() {
        error.write_unraisable(py, None);
    }
}

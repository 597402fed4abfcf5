//! Native asyncio futures of what the engine's tasks give.
//!
//! Invariants: no thread of the engine ever waits for the GIL. What is settled goes into the mailbox
//! of the event loop that asked, and a byte on a socket wakes the loop, which fills the futures on
//! its own thread: one byte for however many there are. A future that was cancelled ends its task,
//! and what the task had got hold of is not handed out: its `give` is dropped uncalled. Every future
//! is settled, also if its task panics.

use std::future::Future;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use ottla_client::{Error, Kind, Result};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyWeakrefReference;
use tokio::task::AbortHandle;

use crate::runtime::{Owned, runtime};
use crate::{errors, logging};

/// Makes the value that a future gets, on the loop's thread.
type Give = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

static GET_RUNNING_LOOP: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
/// The bridge of each event loop, both held weakly: the loop itself holds the bridge until it is
/// closed, and what is settled later goes with the tasks that settle it.
static BRIDGES: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Starts `work` and returns an asyncio future of the running loop, which gets what `give` makes of
/// its result.
pub(crate) fn start<'py, T: Send + 'static>(
    py: Python<'py>,
    work: impl Future<Output = Result<T>> + Send + 'static,
    give: impl FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
) -> PyResult<Bound<'py, PyAny>> {
    logging::look_at_levels(py);
    let (promise, future) = Promise::new(py)?;
    let task = runtime()?.spawn(async move {
        let result = work.await;
        promise.settle(move |py| match result {
            Ok(value) => give(py, value),
            Err(error) => Err(errors::raise(py, &error)),
        });
    });
    let cancel = Cancel(Owned::new(task.abort_handle()));
    future.call_method1("add_done_callback", (cancel,))?;
    Ok(future)
}

/// Ends the task of a future that was cancelled.
#[pyclass(frozen, module = "ottla._core")]
struct Cancel(Owned<AbortHandle>);

#[pymethods]
impl Cancel {
    fn __call__(&self, future: &Bound<'_, PyAny>) -> PyResult<()> {
        if future.call_method0("cancelled")?.is_truthy()? {
            self.0.get()?.abort();
        }
        Ok(())
    }
}

/// The engine's side of a future: it is settled once, from any thread and without the GIL.
pub(crate) struct Promise {
    future: Option<Py<PyAny>>,
    mailbox: Arc<Mailbox>,
}

impl Promise {
    /// A promise and its future, which belongs to the running loop.
    pub(crate) fn new(py: Python<'_>) -> PyResult<(Self, Bound<'_, PyAny>)> {
        let running = GET_RUNNING_LOOP.import(py, "asyncio", "get_running_loop")?.call0()?;
        let mailbox = mailbox_of(&running)?;
        let future = running.call_method0("create_future")?;
        Ok((Self { future: Some(future.clone().unbind()), mailbox }, future))
    }

    /// Has the loop's thread call `give` and fill the future with what it returns or raises, unless
    /// the future was cancelled.
    pub(crate) fn settle(mut self, give: impl FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send + 'static) {
        self.post(Box::new(give));
    }

    fn post(&mut self, give: Give) {
        if let Some(future) = self.future.take() {
            self.mailbox.post(Settled { future, give });
        }
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        self.post(Box::new(|py| {
            let words = "the task that was to give the result has ended without one";
            Err(errors::raise(py, &Error::new(Kind::Closed, words)))
        }));
    }
}

struct Settled {
    future: Py<PyAny>,
    give: Give,
}

/// What waits for the loop: no more than the futures that it has made.
struct Mailbox {
    settled: Mutex<Vec<Settled>>,
    bell: UnixStream,
}

impl Mailbox {
    fn post(&self, settled: Settled) {
        let mut waiting = self.settled.lock();
        waiting.push(settled);
        if waiting.len() == 1 {
            // Never blocks, and there is room: no more than one byte is under way, and one being
            // read. A loop that is closed does not hear it, and nobody awaits its futures.
            while matches!((&self.bell).write(&[0]), Err(error) if error.kind() == ErrorKind::Interrupted) {}
        }
    }
}

/// What a loop calls when its mailbox has something.
#[pyclass(frozen, weakref, module = "ottla._core")]
struct Bridge {
    mailbox: Arc<Mailbox>,
    ear: UnixStream,
    pid: u32,
}

#[pymethods]
impl Bridge {
    fn __call__(&self, py: Python<'_>) {
        // The byte first: what is posted after it was read rings again.
        let mut bytes = [0; 16];
        while matches!((&self.ear).read(&mut bytes), Err(error) if error.kind() == ErrorKind::Interrupted) {}
        let settled = std::mem::take(&mut *self.mailbox.settled.lock());
        for Settled { future, give } in settled {
            let future = future.into_bound(py);
            if let Err(error) = fill(&future, give) {
                error.write_unraisable(py, Some(&future));
            }
        }
    }
}

fn fill(future: &Bound<'_, PyAny>, give: Give) -> PyResult<()> {
    if future.call_method0("done")?.is_truthy()? {
        return Ok(());
    }
    let py = future.py();
    match give(py) {
        Ok(value) => future.call_method1("set_result", (value,)),
        Err(error) => future.call_method1("set_exception", (error.into_value(py),)),
    }
    .map(drop)
}

/// The mailbox of a loop, which looks into it from now on.
fn mailbox_of(event_loop: &Bound<'_, PyAny>) -> PyResult<Arc<Mailbox>> {
    let py = event_loop.py();
    let bridges = BRIDGES
        .get_or_try_init(py, || -> PyResult<_> {
            Ok(py.import("weakref")?.call_method0("WeakKeyDictionary")?.unbind())
        })?
        .bind(py);
    let known = bridges.call_method1("get", (event_loop,))?;
    let known = if known.is_none() { known } else { known.call0()? };
    if let Ok(bridge) = known.cast::<Bridge>()
        // One that was made before a fork would ring in the other process.
        && bridge.get().pid == std::process::id()
    {
        return Ok(Arc::clone(&bridge.get().mailbox));
    }
    let (ear, bell) = UnixStream::pair()?;
    ear.set_nonblocking(true)?;
    bell.set_nonblocking(true)?;
    let mailbox = Arc::new(Mailbox { settled: Mutex::default(), bell });
    let descriptor = ear.as_raw_fd();
    let bridge = Bridge { mailbox: Arc::clone(&mailbox), ear, pid: std::process::id() };
    let bridge = Bound::new(py, bridge)?;
    event_loop.call_method1("add_reader", (descriptor, &bridge))?;
    bridges.set_item(event_loop, PyWeakrefReference::new(&bridge)?)?;
    Ok(mailbox)
}

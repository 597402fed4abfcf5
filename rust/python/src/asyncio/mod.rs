//! Native asyncio futures of what the engine's tasks give.
//!
//! Invariants: no thread of the engine ever waits for the GIL. What is settled goes into the mailbox
//! of the event loop that asked, and a byte on a socket wakes the loop, which fills the futures on
//! its own thread: one byte for however many there are. A future that was cancelled ends its task,
//! and what the task had got hold of is not handed out: its `give` is dropped uncalled. Every future
//! is settled, also if its task panics.

pub(crate) mod failed_futures;

use std::future::Future;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use ottla_client::{Error, Kind, Result};
use parking_lot::Mutex;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyWeakrefReference};
use pyo3::{PyTraverseError, PyVisit};
use tokio::task::AbortHandle;

use crate::convert::errors;
use crate::logging;
use crate::runtime::{Owned, pid, runtime};

/// Makes the value that a future gets, on the loop's thread.
type Give = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

/// What the loop's thread is to do.
type Job = Box<dyn FnOnce(Python<'_>) + Send>;

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
        let running = running(py)?;
        let mailbox = mailbox_of(&running)?;
        let future = running.call_method0(intern!(py, "create_future"))?;
        Ok((Self::of(future.clone().unbind(), mailbox), future))
    }

    /// The promise of a future of the loop that has this mailbox.
    pub(crate) fn of(future: Py<PyAny>, mailbox: Arc<Mailbox>) -> Self {
        Self { future: Some(future), mailbox }
    }

    /// Where the loop looks for what it is to do.
    pub(crate) fn mailbox(&self) -> &Arc<Mailbox> {
        &self.mailbox
    }

    /// Parts it into what it was made of: whoever calls this settles the future.
    pub(crate) fn into_parts(mut self) -> Option<(Py<PyAny>, Arc<Mailbox>)> {
        self.future.take().map(|future| (future, Arc::clone(&self.mailbox)))
    }

    /// Has the loop's thread call `give` and fill the future with what it returns or raises, unless
    /// the future was cancelled.
    pub(crate) fn settle(mut self, give: impl FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send + 'static) {
        self.post(Box::new(give));
    }

    fn post(&mut self, give: Give) {
        if let Some(future) = self.future.take() {
            self.mailbox.post(move |py| {
                // One that was cancelled by now gets nothing, so that nothing is lost with it.
                let future = future.bind(py);
                if !is_done(future) {
                    settle(future, give(py));
                }
            });
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

/// What waits for the loop: no more than the futures that it has made.
pub(crate) struct Mailbox {
    jobs: Mutex<Vec<Job>>,
    bell: UnixStream,
}

impl Mailbox {
    /// Has the loop's thread do something, soon; from any thread and without the GIL.
    pub(crate) fn post(&self, job: impl FnOnce(Python<'_>) + Send + 'static) {
        let mut waiting = self.jobs.lock();
        waiting.push(Box::new(job));
        if waiting.len() == 1 {
            // Never blocks, and there is room: no more than one byte is under way, and one being
            // read. A loop that is closed does not hear it, and nobody awaits its futures.
            while matches!((&self.bell).write(&[0]), Err(error) if error.kind() == ErrorKind::Interrupted) {}
        }
    }
}

/// What a loop calls when its mailbox has something.
#[pyclass(frozen, weakref, module = "ottla._core")]
pub(crate) struct Bridge {
    mailbox: Arc<Mailbox>,
    ear: UnixStream,
    pid: u32,
    event_loop: Py<PyAny>,
    /// asyncio's class of futures and the keywords for one of this loop, if that is all that the loop's
    /// own `create_future` would use.
    plain: Option<(Py<PyAny>, Py<PyDict>)>,
}

impl Bridge {
    pub(crate) fn mailbox(&self) -> &Arc<Mailbox> {
        &self.mailbox
    }

    /// A future of the loop.
    fn future<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.plain {
            Some((class, keywords)) => class.bind(py).call((), Some(keywords.bind(py))),
            None => self.event_loop.bind(py).call_method0(intern!(py, "create_future")),
        }
    }
}

#[pymethods]
impl Bridge {
    /// The loop holds this, and this the loop: a circle that is gone when the loop is closed, and that
    /// Python's collector is to see if it never is.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.event_loop)?;
        match &self.plain {
            Some((class, keywords)) => visit.call(class).and_then(|()| visit.call(keywords)),
            None => Ok(()),
        }
    }

    fn __call__(&self, py: Python<'_>) {
        // The byte first: what is posted after it was read rings again.
        let mut bytes = [0; 16];
        while matches!((&self.ear).read(&mut bytes), Err(error) if error.kind() == ErrorKind::Interrupted) {}
        let jobs = std::mem::take(&mut *self.mailbox.jobs.lock());
        jobs.into_iter().for_each(|job| job(py));
    }
}

/// Fills a future, unless it is done: cancelled, that is.
pub(crate) fn settle(future: &Bound<'_, PyAny>, result: PyResult<Py<PyAny>>) {
    let py = future.py();
    let filled = match result {
        Ok(value) => future.call_method1(intern!(py, "set_result"), (value,)),
        Err(error) => future.call_method1(intern!(py, "set_exception"), (error.into_value(py),)),
    };
    if let Err(error) = filled
        && !is_done(future)
    {
        error.write_unraisable(py, Some(future));
    }
}

pub(crate) fn is_done(future: &Bound<'_, PyAny>) -> bool {
    let done = future.call_method0(intern!(future.py(), "done")).and_then(|done| done.is_truthy());
    done.unwrap_or(false)
}

/// Tells the running loop's exception handler of what has no caller to be raised to.
pub(crate) fn report_to_loop(py: Python<'_>, what: &str, error: PyErr) {
    let told = running(py).and_then(|running| {
        let context = PyDict::new(py);
        context.set_item("message", what)?;
        context.set_item("exception", error.value(py))?;
        running.call_method1(intern!(py, "call_exception_handler"), (context,))
    });
    if told.is_err() {
        error.write_unraisable(py, None);
    }
}

/// The loop that this thread is running.
fn running(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    GET_RUNNING_LOOP.import(py, "asyncio", "get_running_loop")?.call0()
}

/// The mailbox of the running loop.
pub(crate) fn mailbox(py: Python<'_>) -> PyResult<Arc<Mailbox>> {
    mailbox_of(&running(py)?)
}

/// The loop that was asked last, for those who ask often. Held weakly.
#[derive(Default)]
pub(crate) struct LastLoop(Mutex<Option<Py<PyWeakrefReference>>>);

impl LastLoop {
    /// A future of the running loop, and the bridge of that loop.
    pub(crate) fn future<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, Bridge>)> {
        let running = running(py)?;
        // Taken out first: whatever Python does with it must not find the lock taken.
        let last = self.0.lock().as_ref().map(|last| last.clone_ref(py));
        let last = last.and_then(|last| last.bind(py).upgrade()?.cast_into::<Bridge>().ok());
        let bridge = match last {
            Some(last) if last.get().event_loop.is(&running) && last.get().pid == pid() => last,
            _ => {
                let bridge = bridge_of(&running)?;
                let before = self.0.lock().replace(PyWeakrefReference::new(&bridge)?.unbind());
                drop(before);
                bridge
            }
        };
        Ok((bridge.get().future(py)?, bridge))
    }
}

/// The mailbox of a loop, which looks into it from now on.
fn mailbox_of(event_loop: &Bound<'_, PyAny>) -> PyResult<Arc<Mailbox>> {
    Ok(Arc::clone(&bridge_of(event_loop)?.get().mailbox))
}

/// The bridge to a loop, which the loop holds from now on.
fn bridge_of<'py>(event_loop: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Bridge>> {
    let py = event_loop.py();
    let bridges = BRIDGES
        .get_or_try_init(py, || -> PyResult<_> {
            Ok(py.import("weakref")?.call_method0("WeakKeyDictionary")?.unbind())
        })?
        .bind(py);
    let known = bridges.call_method1("get", (event_loop,))?;
    let known = if known.is_none() { known } else { known.call0()? };
    if let Ok(bridge) = known.cast_into::<Bridge>()
        // One that was made before a fork would ring in the other process.
        && bridge.get().pid == pid()
    {
        return Ok(bridge);
    }
    let (ear, bell) = UnixStream::pair()?;
    ear.set_nonblocking(true)?;
    bell.set_nonblocking(true)?;
    let mailbox = Arc::new(Mailbox { jobs: Mutex::default(), bell });
    let descriptor = ear.as_raw_fd();
    let (plain, event_loop_too) = (plain_futures(event_loop)?, event_loop.clone().unbind());
    let bridge = Bridge { mailbox, ear, pid: pid(), event_loop: event_loop_too, plain };
    let bridge = Bound::new(py, bridge)?;
    event_loop.call_method1("add_reader", (descriptor, &bridge))?;
    bridges.set_item(event_loop, PyWeakrefReference::new(&bridge)?)?;
    Ok(bridge)
}

/// asyncio's class of futures and its keywords, unless the loop makes its futures in a way of its own.
fn plain_futures(event_loop: &Bound<'_, PyAny>) -> PyResult<Option<(Py<PyAny>, Py<PyDict>)>> {
    let py = event_loop.py();
    let asyncio = py.import("asyncio")?;
    let create = event_loop.getattr(intern!(py, "create_future"))?;
    let ordinary = asyncio.getattr("BaseEventLoop")?.getattr(intern!(py, "create_future"))?;
    if !create.getattr_opt("__func__")?.is_some_and(|own| own.is(&ordinary)) {
        return Ok(None);
    }
    let keywords = PyDict::new(py);
    keywords.set_item("loop", event_loop)?;
    Ok(Some((asyncio.getattr("Future")?.unbind(), keywords.unbind())))
}

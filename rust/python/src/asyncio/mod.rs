//! Native asyncio futures of what the engine's tasks make_value.
//!
//! Invariants: no thread of the engine ever waits for the GIL. What is settled goes into the loop_queue
//! of the event loop that asked, and a byte on a socket wakes the loop, which fills the futures on
//! its own thread: one byte for however many there are. A future that was cancelled ends its task,
//! and what the task had got hold of is not handed out: its `make_value` is dropped uncalled. Every future
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
use crate::runtime::{ProcessLocal, pid, runtime};

/// Makes the value that a future gets, on the loop's thread.
type MakeValue = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

/// What the loop's thread is to do.
type LoopCallback = Box<dyn FnOnce(Python<'_>) + Send>;

static GET_RUNNING_LOOP: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
/// The loop_handle of each event loop, both held weakly: the loop itself holds the loop_handle until it is
/// closed, and what is settled later goes with the tasks that complete it.
static LOOP_HANDLES: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Starts `work` and returns an asyncio future of the running loop, which gets what `make_value` makes of
/// its result.
pub(crate) fn start<'py, T: Send + 'static>(
    py: Python<'py>,
    work: impl Future<Output = Result<T>> + Send + 'static,
    make_value: impl FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
) -> PyResult<Bound<'py, PyAny>> {
    logging::refresh_levels(py);
    let (completer, future) = FutureCompleter::new(py)?;
    let task = runtime()?.spawn(async move {
        let result = work.await;
        completer.complete(move |py| match result {
            Ok(value) => make_value(py, value),
            Err(error) => Err(errors::raise(py, &error)),
        });
    });
    let abort = AbortOnCancel(ProcessLocal::new(task.abort_handle()));
    future.call_method1("add_done_callback", (abort,))?;
    Ok(future)
}

/// Ends the task of a future that was cancelled.
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

/// The engine's side of a future: it is settled once, from any thread and without the GIL.
pub(crate) struct FutureCompleter {
    future: Option<Py<PyAny>>,
    loop_queue: Arc<LoopQueue>,
}

impl FutureCompleter {
    /// A completer and its future, which belongs to the running loop.
    pub(crate) fn new(py: Python<'_>) -> PyResult<(Self, Bound<'_, PyAny>)> {
        let running = running_loop(py)?;
        let loop_queue = queue_of(&running)?;
        let future = running.call_method0(intern!(py, "create_future"))?;
        Ok((Self::of(future.clone().unbind(), loop_queue), future))
    }

    /// The completer of a future of the loop that has this loop_queue.
    pub(crate) fn of(future: Py<PyAny>, loop_queue: Arc<LoopQueue>) -> Self {
        Self { future: Some(future), loop_queue }
    }

    /// Where the loop looks for what it is to do.
    pub(crate) fn loop_queue(&self) -> &Arc<LoopQueue> {
        &self.loop_queue
    }

    /// Parts it into what it was made of: whoever calls this settles the future.
    pub(crate) fn into_parts(mut self) -> Option<(Py<PyAny>, Arc<LoopQueue>)> {
        self.future.take().map(|future| (future, Arc::clone(&self.loop_queue)))
    }

    /// Has the loop's thread call `make_value` and fill the future with what it returns or raises, unless
    /// the future was cancelled.
    pub(crate) fn complete(
        mut self,
        make_value: impl FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send + 'static,
    ) {
        self.complete_with(Box::new(make_value));
    }

    fn complete_with(&mut self, make_value: MakeValue) {
        if let Some(future) = self.future.take() {
            self.loop_queue.call_soon(move |py| {
                // One that was cancelled by now gets nothing, so that nothing is lost with it.
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
            let message = "the task that was to make_value the result has ended without one";
            Err(errors::raise(py, &Error::new(Kind::Closed, message)))
        }));
    }
}

/// What waits for the loop: no more than the futures that it has made.
pub(crate) struct LoopQueue {
    callbacks: Mutex<Vec<LoopCallback>>,
    wake_tx: UnixStream,
}

impl LoopQueue {
    /// Has the loop's thread do something, soon; from any thread and without the GIL.
    pub(crate) fn call_soon(&self, callback: impl FnOnce(Python<'_>) + Send + 'static) {
        let mut waiting = self.callbacks.lock();
        waiting.push(Box::new(callback));
        if waiting.len() == 1 {
            // Never blocks, and there is room: no more than one byte is under way, and one being
            // read. A loop that is closed does not hear it, and nobody awaits its futures.
            while matches!((&self.wake_tx).write(&[0]), Err(error) if error.kind() == ErrorKind::Interrupted)
            {
            }
        }
    }
}

/// What a loop calls when its loop_queue has something.
#[pyclass(frozen, weakref, module = "ottla._core")]
pub(crate) struct LoopHandle {
    loop_queue: Arc<LoopQueue>,
    wake_rx: UnixStream,
    pid: u32,
    event_loop: Py<PyAny>,
    /// asyncio's class of futures and the keywords for one of this loop, if that is all that the loop's
    /// own `create_future` would use.
    future_class: Option<(Py<PyAny>, Py<PyDict>)>,
}

impl LoopHandle {
    pub(crate) fn loop_queue(&self) -> &Arc<LoopQueue> {
        &self.loop_queue
    }

    /// A future of the loop.
    fn future<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.future_class {
            Some((class, keywords)) => class.bind(py).call((), Some(keywords.bind(py))),
            None => self.event_loop.bind(py).call_method0(intern!(py, "create_future")),
        }
    }
}

#[pymethods]
impl LoopHandle {
    /// The loop holds this, and this the loop: a circle that is gone when the loop is closed, and that
    /// Python's collector is to see if it never is.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.event_loop)?;
        match &self.future_class {
            Some((class, keywords)) => visit.call(class).and_then(|()| visit.call(keywords)),
            None => Ok(()),
        }
    }

    fn __call__(&self, py: Python<'_>) {
        // The byte first: what is posted after it was read rings again.
        let mut bytes = [0; 16];
        while matches!((&self.wake_rx).read(&mut bytes), Err(error) if error.kind() == ErrorKind::Interrupted)
        {
        }
        let callbacks = std::mem::take(&mut *self.loop_queue.callbacks.lock());
        callbacks.into_iter().for_each(|callback| callback(py));
    }
}

/// Fills a future, unless it is done: cancelled, that is.
pub(crate) fn complete(future: &Bound<'_, PyAny>, result: PyResult<Py<PyAny>>) {
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
    let reported = running_loop(py).and_then(|running| {
        let context = PyDict::new(py);
        context.set_item("message", what)?;
        context.set_item("exception", error.value(py))?;
        running.call_method1(intern!(py, "call_exception_handler"), (context,))
    });
    if reported.is_err() {
        error.write_unraisable(py, None);
    }
}

/// The loop that this thread is running.
fn running_loop(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    GET_RUNNING_LOOP.import(py, "asyncio", "get_running_loop")?.call0()
}

/// The loop_queue of the running loop.
pub(crate) fn running_loop_queue(py: Python<'_>) -> PyResult<Arc<LoopQueue>> {
    queue_of(&running_loop(py)?)
}

/// The loop that was asked last, for those who ask often. Held weakly.
#[derive(Default)]
pub(crate) struct LoopCache(Mutex<Option<Py<PyWeakrefReference>>>);

impl LoopCache {
    /// A future of the running loop, and the loop_handle of that loop.
    pub(crate) fn future<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, LoopHandle>)> {
        let running = running_loop(py)?;
        // Taken out first: whatever Python does with it must not find the lock taken.
        let last = self.0.lock().as_ref().map(|last| last.clone_ref(py));
        let last = last.and_then(|last| last.bind(py).upgrade()?.cast_into::<LoopHandle>().ok());
        let loop_handle = match last {
            Some(last) if last.get().event_loop.is(&running) && last.get().pid == pid() => last,
            _ => {
                let loop_handle = handle_of(&running)?;
                let before = self.0.lock().replace(PyWeakrefReference::new(&loop_handle)?.unbind());
                drop(before);
                loop_handle
            }
        };
        Ok((loop_handle.get().future(py)?, loop_handle))
    }
}

/// The loop_queue of a loop, which looks into it from now on.
fn queue_of(event_loop: &Bound<'_, PyAny>) -> PyResult<Arc<LoopQueue>> {
    Ok(Arc::clone(&handle_of(event_loop)?.get().loop_queue))
}

/// The loop_handle to a loop, which the loop holds from now on.
fn handle_of<'py>(event_loop: &Bound<'py, PyAny>) -> PyResult<Bound<'py, LoopHandle>> {
    let py = event_loop.py();
    let bridges = LOOP_HANDLES
        .get_or_try_init(py, || -> PyResult<_> {
            Ok(py.import("weakref")?.call_method0("WeakKeyDictionary")?.unbind())
        })?
        .bind(py);
    let known = bridges.call_method1("get", (event_loop,))?;
    let known = if known.is_none() { known } else { known.call0()? };
    if let Ok(loop_handle) = known.cast_into::<LoopHandle>()
        // One that was made before a fork would ring in the other process.
        && loop_handle.get().pid == pid()
    {
        return Ok(loop_handle);
    }
    let (wake_rx, wake_tx) = UnixStream::pair()?;
    wake_rx.set_nonblocking(true)?;
    wake_tx.set_nonblocking(true)?;
    let loop_queue = Arc::new(LoopQueue { callbacks: Mutex::default(), wake_tx });
    let descriptor = wake_rx.as_raw_fd();
    let (future_class, event_loop_too) = (future_class(event_loop)?, event_loop.clone().unbind());
    let loop_handle =
        LoopHandle { loop_queue, wake_rx, pid: pid(), event_loop: event_loop_too, future_class };
    let loop_handle = Bound::new(py, loop_handle)?;
    event_loop.call_method1("add_reader", (descriptor, &loop_handle))?;
    bridges.set_item(event_loop, PyWeakrefReference::new(&loop_handle)?)?;
    Ok(loop_handle)
}

/// asyncio's class of futures and its keywords, unless the loop makes its futures in a way of its own.
fn future_class(event_loop: &Bound<'_, PyAny>) -> PyResult<Option<(Py<PyAny>, Py<PyDict>)>> {
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

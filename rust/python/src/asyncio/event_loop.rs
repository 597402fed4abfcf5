//! Event loops as the core reaches them: callbacks that run on a loop's thread, and its futures.
//!
//! A loop's [`LoopHandle`] is registered as the reader of a socket. A byte on that socket wakes the
//! loop, which then runs every queued callback.
//!
//! Invariants: queueing a callback never blocks and never waits for the GIL. A closed loop runs no
//! callbacks; nothing awaits its futures any more.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyWeakrefReference};
use pyo3::{PyTraverseError, PyVisit};

use crate::runtime::pid;

/// A function to run on the loop's thread.
type LoopCallback = Box<dyn FnOnce(Python<'_>) + Send>;

static GET_RUNNING_LOOP: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
/// The handle of each event loop, with weak references to both: an open loop keeps its handle alive
/// as a reader, and the tasks that complete its futures keep the queue.
static LOOP_HANDLES: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Callbacks that wait for a loop: at most one for each of its futures.
pub(crate) struct LoopQueue {
    callbacks: Mutex<Vec<LoopCallback>>,
    wake_tx: UnixStream,
    /// How often the loop has run callbacks.
    runs: AtomicU64,
}

impl LoopQueue {
    /// Runs `callback` on the loop's thread soon; may be called from any thread, without the GIL.
    pub(crate) fn call_soon(&self, callback: impl FnOnce(Python<'_>) + Send + 'static) {
        let mut callbacks = self.callbacks.lock();
        callbacks.push(Box::new(callback));
        if callbacks.len() == 1 {
            // The socket has room: it holds at most one unread byte, besides one that is being read.
            while matches!((&self.wake_tx).write(&[0]), Err(error) if error.kind() == ErrorKind::Interrupted)
            {
            }
        }
    }

    /// How often the loop has run callbacks. It has looked for signals each time.
    pub(super) fn runs(&self) -> u64 {
        self.runs.load(Ordering::Relaxed)
    }
}

/// The reader callback of an event loop: runs what its queue holds.
#[pyclass(frozen, weakref, module = "ottla._core")]
pub(crate) struct LoopHandle {
    loop_queue: Arc<LoopQueue>,
    wake_rx: UnixStream,
    pid: u32,
    event_loop: Py<PyAny>,
    /// asyncio's class of futures and its keyword arguments, if the loop's `create_future` is asyncio's.
    future_class: Option<(Py<PyAny>, Py<PyDict>)>,
}

impl LoopHandle {
    pub(crate) fn loop_queue(&self) -> &Arc<LoopQueue> {
        &self.loop_queue
    }

    /// Creates a future of the loop.
    fn future<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.future_class {
            Some((class, keywords)) => class.bind(py).call((), Some(keywords.bind(py))),
            None => self.event_loop.bind(py).call_method0(intern!(py, "create_future")),
        }
    }
}

#[pymethods]
impl LoopHandle {
    /// The loop and this object refer to each other. Closing the loop breaks the cycle; for a loop that is
    /// never closed, Python's garbage collector must see it.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.event_loop)?;
        match &self.future_class {
            Some((class, keywords)) => visit.call(class).and_then(|()| visit.call(keywords)),
            None => Ok(()),
        }
    }

    fn __call__(&self, py: Python<'_>) {
        // Read the byte first: a callback that is queued after it wakes the loop again.
        let mut bytes = [0; 16];
        while matches!((&self.wake_rx).read(&mut bytes), Err(error) if error.kind() == ErrorKind::Interrupted)
        {
        }
        self.loop_queue.runs.fetch_add(1, Ordering::Relaxed);
        let callbacks = std::mem::take(&mut *self.loop_queue.callbacks.lock());
        callbacks.into_iter().for_each(|callback| callback(py));
    }
}

/// Returns the loop that this thread runs.
pub(super) fn running_loop(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    GET_RUNNING_LOOP.import(py, "asyncio", "get_running_loop")?.call0()
}

/// Returns the queue of the running loop.
pub(crate) fn running_loop_queue(py: Python<'_>) -> PyResult<Arc<LoopQueue>> {
    queue_of(&running_loop(py)?)
}

/// The handle of the loop that was used last, for frequent callers; a weak reference.
#[derive(Default)]
pub(crate) struct LoopCache(Mutex<Option<Py<PyWeakrefReference>>>);

impl LoopCache {
    /// Creates a future of the running loop, and returns it with that loop's handle.
    pub(crate) fn future<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, LoopHandle>)> {
        let running = running_loop(py)?;
        // Cloned out of the lock: Python code that runs meanwhile must not find it locked.
        let last = self.0.lock().as_ref().map(|last| last.clone_ref(py));
        let last = last.and_then(|last| last.bind(py).upgrade()?.cast_into::<LoopHandle>().ok());
        let handle = match last {
            Some(last) if last.get().event_loop.is(&running) && last.get().pid == pid() => last,
            _ => {
                let handle = handle_of(&running)?;
                let previous = self.0.lock().replace(PyWeakrefReference::new(&handle)?.unbind());
                drop(previous);
                handle
            }
        };
        Ok((handle.get().future(py)?, handle))
    }
}

/// Returns the queue of a loop, and registers the loop's handle if it has none.
pub(super) fn queue_of(event_loop: &Bound<'_, PyAny>) -> PyResult<Arc<LoopQueue>> {
    Ok(Arc::clone(&handle_of(event_loop)?.get().loop_queue))
}

/// Returns the handle of a loop; registers one if the loop has none in this process.
fn handle_of<'py>(event_loop: &Bound<'py, PyAny>) -> PyResult<Bound<'py, LoopHandle>> {
    let py = event_loop.py();
    let handles = LOOP_HANDLES
        .get_or_try_init(py, || -> PyResult<_> {
            Ok(py.import("weakref")?.call_method0("WeakKeyDictionary")?.unbind())
        })?
        .bind(py);
    let known = handles.call_method1("get", (event_loop,))?;
    let known = if known.is_none() { known } else { known.call0()? };
    if let Ok(handle) = known.cast_into::<LoopHandle>()
        // A handle from before a fork would wake the other process.
        && handle.get().pid == pid()
    {
        return Ok(handle);
    }
    let (wake_rx, wake_tx) = UnixStream::pair()?;
    wake_rx.set_nonblocking(true)?;
    wake_tx.set_nonblocking(true)?;
    let descriptor = wake_rx.as_raw_fd();
    let handle = LoopHandle {
        loop_queue: Arc::new(LoopQueue { callbacks: Mutex::default(), wake_tx, runs: AtomicU64::default() }),
        wake_rx,
        pid: pid(),
        event_loop: event_loop.clone().unbind(),
        future_class: future_class(event_loop)?,
    };
    let handle = Bound::new(py, handle)?;
    event_loop.call_method1("add_reader", (descriptor, &handle))?;
    handles.set_item(event_loop, PyWeakrefReference::new(&handle)?)?;
    Ok(handle)
}

/// Returns asyncio's class of futures and its keyword arguments; `None` if the loop overrides
/// `create_future`.
fn future_class(event_loop: &Bound<'_, PyAny>) -> PyResult<Option<(Py<PyAny>, Py<PyDict>)>> {
    let py = event_loop.py();
    let asyncio = py.import("asyncio")?;
    let create = event_loop.getattr(intern!(py, "create_future"))?;
    let inherited = asyncio.getattr("BaseEventLoop")?.getattr(intern!(py, "create_future"))?;
    if !create.getattr_opt("__func__")?.is_some_and(|function| function.is(&inherited)) {
        return Ok(None);
    }
    let keywords = PyDict::new(py);
    keywords.set_item("loop", event_loop)?;
    Ok(Some((asyncio.getattr("Future")?.unbind(), keywords.unbind())))
}

//! The callbacks of a producer (`on_delivery` and `Delivery.add_done_callback`), called on a thread
//! of their own.
//!
//! Invariants: each callback of an accepted record is called exactly once, and `on_delivery` of a
//! partition in the order of its records. The sender never waits for callbacks; a caller that sends
//! with one waits while too many are outstanding. `flush` and `close` raise what `on_delivery`
//! raised; exceptions of done callbacks are logged. The thread ends once the producer is closed or
//! dropped and all callbacks were called.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::ThreadId;
use std::time::Duration;

use ottla_client::producer::{Delivery, ProduceResult};
use ottla_client::{Error, Kind};
use parking_lot::Mutex;
use pyo3::PyVisit;
use pyo3::prelude::*;
use pyo3::types::PyList;
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, timeout, timeout_at};

use crate::convert::errors;
use crate::garbage::{Traverse, Visited};
use crate::producer::delivery_groups::{
    DeliveryGroup, DeliveryGroups, GroupReceiver, RecordWaiter, callback_args,
};
use crate::runtime::{wait, wait_for};

/// The maximum number of completed records that wait for their callbacks.
const MAX_WAITING: usize = 100_000;

/// How many callbacks the thread takes at once: taking each alone would cost as much as calling it.
const CALLS_AT_ONCE: usize = 64;

enum QueueEntry {
    Group(DeliveryGroup),
    /// Reports that all entries before it were called.
    FlushMarker(oneshot::Sender<()>),
}

struct CallbackQueue {
    /// `None` once the thread has ended: later entries are dropped.
    entries: Mutex<Option<VecDeque<QueueEntry>>>,
    /// The number of completed records that wait for their callbacks.
    waiting: AtomicUsize,
    /// The number of records, accepted or about to be, whose callbacks were not called yet.
    pending: AtomicUsize,
    closed: AtomicBool,
    entry_added: Notify,
    callback_taken: Notify,
    /// The first exception of a callback. Only threads with the GIL take the lock.
    raised: Mutex<Option<Py<PyAny>>>,
    /// The thread that calls the callbacks.
    callback_thread: Mutex<Option<ThreadId>>,
}

impl GroupReceiver for CallbackQueue {
    fn on_group_done(&self, group: DeliveryGroup) {
        self.waiting.fetch_add(group.waiters.len(), Ordering::AcqRel);
        self.push(QueueEntry::Group(group));
    }
}

impl Default for CallbackQueue {
    fn default() -> Self {
        Self {
            entries: Mutex::new(Some(VecDeque::new())),
            waiting: AtomicUsize::new(0),
            pending: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
            entry_added: Notify::new(),
            callback_taken: Notify::new(),
            raised: Mutex::default(),
            callback_thread: Mutex::default(),
        }
    }
}

impl CallbackQueue {
    fn push(&self, entry: QueueEntry) {
        if let Some(entries) = &mut *self.entries.lock() {
            entries.push_back(entry);
        }
        self.entry_added.notify_one();
    }

    fn is_callback_thread(&self) -> bool {
        *self.callback_thread.lock() == Some(std::thread::current().id())
    }

    fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.entry_added.notify_one();
    }

    /// The callbacks of so many records are about to be called.
    fn took(&self, count: usize) {
        self.pending.fetch_sub(count, Ordering::AcqRel);
        if self.waiting.fetch_sub(count, Ordering::AcqRel) >= MAX_WAITING {
            self.callback_taken.notify_waiters();
        }
    }

    async fn wait_for_capacity(&self, deadline: Instant) -> ottla_client::Result<()> {
        loop {
            let callback_taken = self.callback_taken.notified();
            tokio::pin!(callback_taken);
            callback_taken.as_mut().enable();
            if self.waiting.load(Ordering::Acquire) < MAX_WAITING {
                return Ok(());
            }
            timeout_at(deadline, callback_taken).await.map_err(|_| {
                let message = format!(
                    "{MAX_WAITING} completed records waited for on_delivery for max.block.ms: the callback is slower than the records"
                );
                Error::new(Kind::Timeout, message)
            })?;
        }
    }

    /// Waits for the next entry; `None` if there will be no more.
    async fn next(&self) -> Option<QueueEntry> {
        loop {
            {
                let mut entries = self.entries.lock();
                let entry = entries.as_mut().and_then(VecDeque::pop_front);
                if entry.is_some() {
                    return entry;
                }
                if self.closed.load(Ordering::Acquire) && self.pending.load(Ordering::Acquire) == 0 {
                    *entries = None;
                    return None;
                }
            }
            self.entry_added.notified().await;
        }
    }
}

/// The callbacks of one producer.
pub(crate) struct Callbacks {
    queue: Arc<CallbackQueue>,
    groups: Arc<DeliveryGroups>,
}

impl Drop for Callbacks {
    fn drop(&mut self) {
        self.queue.close();
    }
}

/// Reserves a callback for a record that is about to be sent: the thread does not end
/// before the callback is called or the permit is dropped.
pub(crate) struct CallbackPermit<'a> {
    callbacks: &'a Callbacks,
    used: bool,
}

impl CallbackPermit<'_> {
    /// Registers a callback to call when the record is done.
    pub(crate) fn register(mut self, delivery: Delivery, timestamp: i64, callback: Py<PyAny>) {
        self.used = true;
        let Callbacks { queue, groups } = self.callbacks;
        groups.add(delivery, timestamp, (None, Some(callback)), queue);
    }

    /// Registers a callback to call with the delivery when its record is done, independently
    /// of other records.
    pub(crate) fn register_done_callback(
        mut self,
        delivery: &Delivery,
        callback: Py<PyAny>,
        py_delivery: Py<PyAny>,
    ) {
        self.used = true;
        let queue = Arc::clone(&self.callbacks.queue);
        let group = DeliveryGroup::of_one(delivery, callback, py_delivery);
        delivery.produce_result.on_done(move || queue.on_group_done(group));
    }
}

impl Drop for CallbackPermit<'_> {
    fn drop(&mut self) {
        if !self.used {
            self.callbacks.queue.pending.fetch_sub(1, Ordering::AcqRel);
            self.callbacks.queue.entry_added.notify_one();
        }
    }
}

impl Callbacks {
    /// Starts the thread.
    pub(crate) fn start(py: Python<'_>) -> PyResult<Self> {
        let queue = Arc::new(CallbackQueue::default());
        let reports = DeliveryReports { queue: Arc::clone(&queue), current: Mutex::default() };
        py.import("ottla._internal.delivery_thread")?.call_method1("start", (reports,))?;
        Ok(Self { queue, groups: Arc::default() })
    }

    /// Returns a permit for one callback, and waits while too many are outstanding.
    pub(crate) fn permit(
        &self,
        py: Python<'_>,
        until: impl FnOnce() -> Instant,
    ) -> PyResult<CallbackPermit<'_>> {
        // A callback that sends must not wait for itself.
        if self.queue.waiting.load(Ordering::Acquire) >= MAX_WAITING && !self.queue.is_callback_thread() {
            wait_for(py, self.queue.wait_for_capacity(until()))?;
        }
        self.queue.pending.fetch_add(1, Ordering::AcqRel);
        Ok(CallbackPermit { callbacks: self, used: false })
    }

    /// Returns a permit for one callback, however many are outstanding; `None` if the thread
    /// has ended.
    pub(crate) fn permit_without_waiting(&self) -> Option<CallbackPermit<'_>> {
        // The thread decides to end under the same lock.
        let entries = self.queue.entries.lock();
        entries.as_ref()?;
        self.queue.pending.fetch_add(1, Ordering::AcqRel);
        Some(CallbackPermit { callbacks: self, used: false })
    }

    /// Waits until the callbacks of all completed records were called, and raises what one of
    /// them raised.
    pub(crate) fn flush(&self, py: Python<'_>, time: Duration) -> PyResult<()> {
        if !self.queue.is_callback_thread() {
            let (marker, passed) = oneshot::channel();
            self.queue.push(QueueEntry::FlushMarker(marker));
            // The marker is dropped if the thread has ended: then there is nothing to wait for.
            if wait(py, async { timeout(time, passed).await.is_err() })? {
                let message = format!("on_delivery is still being called after {} s", time.as_secs_f64());
                return Err(errors::raise(py, &Error::new(Kind::Timeout, message)));
            }
        }
        let raised = self.queue.raised.lock().take();
        raised.map_or(Ok(()), |raised| Err(PyErr::from_value(raised.into_bound(py))))
    }

    /// Lets the thread end once all accepted callbacks were called.
    pub(crate) fn close(&self) {
        self.queue.close();
    }
}

/// The callbacks themselves keep their objects alive until they were called.
impl Traverse for Callbacks {
    fn traverse(&self, visit: &PyVisit<'_>) -> Visited {
        self.queue.raised.traverse(visit)
    }
}

/// The queue of completed records with a callback, for the thread that calls them.
///
/// Iterating waits for the next callbacks: whether they are done callbacks, and the calls of some
/// records, each a tuple of the function and its arguments.
#[pyclass(frozen, module = "ottla._core")]
pub(crate) struct DeliveryReports {
    queue: Arc<CallbackQueue>,
    current: Mutex<Option<Current>>,
}

/// The group whose callbacks are being called.
struct Current {
    produce_result: Arc<ProduceResult>,
    waiters: std::vec::IntoIter<RecordWaiter>,
}

impl DeliveryReports {
    /// The next records of the current group, and their result.
    fn next_of_current(&self) -> Option<(Arc<ProduceResult>, Vec<RecordWaiter>)> {
        let mut current = self.current.lock();
        let Current { produce_result, waiters } = current.as_mut()?;
        let next: Vec<_> = waiters.take(CALLS_AT_ONCE).collect();
        (!next.is_empty()).then(|| (Arc::clone(produce_result), next))
    }
}

#[pymethods]
impl DeliveryReports {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<(bool, Bound<'py, PyList>)>> {
        loop {
            if let Some((produce_result, waiters)) = self.next_of_current() {
                self.queue.took(waiters.len());
                let is_done_callback = waiters.iter().any(|waiter| waiter.py_delivery.is_some());
                let calls = PyList::empty(py);
                for waiter in waiters {
                    let RecordWaiter { py_delivery, on_delivery, .. } = &waiter;
                    // A done callback gets no error: the failure is unobserved until it asks the
                    // delivery.
                    let call = match py_delivery {
                        Some(delivery) => (on_delivery, delivery).into_pyobject(py)?,
                        None => {
                            let (error, metadata) = callback_args(py, &produce_result, &waiter)?;
                            (on_delivery, error, metadata).into_pyobject(py)?
                        }
                    };
                    calls.append(call)?;
                }
                return Ok(Some((is_done_callback, calls)));
            }
            self.queue.callback_thread.lock().get_or_insert_with(|| std::thread::current().id());
            match wait(py, self.queue.next())? {
                Some(QueueEntry::Group(group)) => {
                    let produce_result = Arc::clone(group.produce_result());
                    *self.current.lock() =
                        Some(Current { produce_result, waiters: group.waiters.into_iter() });
                }
                Some(QueueEntry::FlushMarker(passed)) => {
                    // The receiver may have been dropped.
                    let _ = passed.send(());
                }
                None => return Ok(None),
            }
        }
    }

    /// Keep a callback's exception for ``flush``; return False if there already is one.
    fn raised(&self, error: Py<PyAny>) -> bool {
        let mut raised = self.queue.raised.lock();
        if raised.is_some() {
            return false;
        }
        *raised = Some(error);
        true
    }
}

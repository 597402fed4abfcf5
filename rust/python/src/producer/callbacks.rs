//! `on_delivery` and `Delivery.add_done_callback`: the callbacks of a producer, called on a thread of
//! their own.
//!
//! Invariants: each callback of a record that was accepted is called exactly once, `on_delivery` of a
//! partition in the order of its records. The handle never waits for a callback; whoever sends with one
//! does, if too many have not been called yet. What `on_delivery` raises is raised by `flush` or `close`;
//! what a done callback raises is logged. The thread ends when the producer is closed or gone and all
//! were called.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::ThreadId;
use std::time::Duration;

use ottla_client::producer::{Delivery, ProduceResult};
use ottla_client::{Error, Kind};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, timeout, timeout_at};

use crate::convert::errors;
use crate::producer::delivery_groups::{
    DeliveryGroup, DeliveryGroups, GroupReceiver, RecordWaiter, callback_args,
};
use crate::runtime::{wait, wait_for};

/// So many records that are done may wait for their callbacks.
const MAX_WAITING: usize = 100_000;

enum QueueEntry {
    Group(DeliveryGroup),
    /// Somebody wants to know when all before it is called.
    FlushMarker(oneshot::Sender<()>),
}

struct CallbackQueue {
    /// None once the thread has ended: nothing is put there then, and nobody waits for it.
    entries: Mutex<Option<VecDeque<QueueEntry>>>,
    /// Records that are done.
    waiting: AtomicUsize,
    /// Records that were or are being accepted, and whose callbacks were not taken yet.
    pending: AtomicUsize,
    closed: AtomicBool,
    entry_added: Notify,
    callback_taken: Notify,
    /// What a callback has raised.
    raised: Mutex<Option<Py<PyAny>>>,
    /// The thread that calls.
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

    /// Waits for an entry; nothing, when none can come any more.
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

/// A record that is about to be sent: the thread does not end before it is called or given up.
pub(crate) struct CallbackPermit<'a> {
    callbacks: &'a Callbacks,
    used: bool,
}

impl CallbackPermit<'_> {
    /// Has a callback called when the record is done.
    pub(crate) fn register(mut self, delivery: Delivery, timestamp: i64, callback: Py<PyAny>) {
        self.used = true;
        let Callbacks { queue, groups } = self.callbacks;
        groups.add(delivery, timestamp, (None, Some(callback)), queue);
    }

    /// Has a callback called with the delivery when its record is done, whatever becomes of others.
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
        py.import("ottla.delivery_thread")?.call_method1("start", (reports,))?;
        Ok(Self { queue, groups: Arc::default() })
    }

    /// A place for one more, when not too many are waiting to be called.
    pub(crate) fn permit(
        &self,
        py: Python<'_>,
        until: impl FnOnce() -> Instant,
    ) -> PyResult<CallbackPermit<'_>> {
        // A callback that sends would wait for itself.
        if self.queue.waiting.load(Ordering::Acquire) >= MAX_WAITING && !self.queue.is_callback_thread() {
            wait_for(py, self.queue.wait_for_capacity(until()))?;
        }
        self.queue.pending.fetch_add(1, Ordering::AcqRel);
        Ok(CallbackPermit { callbacks: self, used: false })
    }

    /// A place for one more, however many are waiting; none, if the thread has ended.
    pub(crate) fn permit_without_waiting(&self) -> Option<CallbackPermit<'_>> {
        // Under the lock, under which the thread finds out that it has nothing more to do.
        let entries = self.queue.entries.lock();
        entries.as_ref()?;
        self.queue.pending.fetch_add(1, Ordering::AcqRel);
        Some(CallbackPermit { callbacks: self, used: false })
    }

    /// Waits until the callbacks of all that is done now were called, and raises what one of them has
    /// raised.
    pub(crate) fn flush(&self, py: Python<'_>, time: Duration) -> PyResult<()> {
        if !self.queue.is_callback_thread() {
            let (marker, passed) = oneshot::channel();
            self.queue.push(QueueEntry::FlushMarker(marker));
            // If the thread has ended it is dropped, and there is nothing to wait for.
            if wait(py, async { timeout(time, passed).await.is_err() })? {
                let message = format!("on_delivery is still being called after {} s", time.as_secs_f64());
                return Err(errors::raise(py, &Error::new(Kind::Timeout, message)));
            }
        }
        let raised = self.queue.raised.lock().take();
        raised.map_or(Ok(()), |raised| Err(PyErr::from_value(raised.into_bound(py))))
    }

    /// Has the thread end when it has called what was accepted.
    pub(crate) fn close(&self) {
        self.queue.close();
    }
}

/// The queue of completed records that have a callback, for the thread that calls it.
///
/// Iterating waits for the next one: callback, its arguments, and whether it is a done callback.
#[pyclass(frozen, module = "ottla._core")]
pub(crate) struct DeliveryReports {
    queue: Arc<CallbackQueue>,
    current: Mutex<Option<Current>>,
}

/// The callback, its arguments, and whether `add_done_callback` was given it.
type Call = (Option<Py<PyAny>>, Py<PyTuple>, bool);

struct Current {
    produce_result: Arc<ProduceResult>,
    waiters: std::vec::IntoIter<RecordWaiter>,
}

impl DeliveryReports {
    fn next_of_current(&self) -> Option<(Arc<ProduceResult>, RecordWaiter)> {
        let mut current = self.current.lock();
        let Current { produce_result, waiters } = current.as_mut()?;
        waiters.next().map(|waiter| (Arc::clone(produce_result), waiter))
    }
}

#[pymethods]
impl DeliveryReports {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Call>> {
        loop {
            if let Some((produce_result, waiter)) = self.next_of_current() {
                self.queue.waiting.fetch_sub(1, Ordering::AcqRel);
                self.queue.pending.fetch_sub(1, Ordering::AcqRel);
                self.queue.callback_taken.notify_waiters();
                // A done callback is not told of a failure: it is seen once it asks the delivery.
                let (arguments, is_done_callback) = match waiter.py_delivery {
                    Some(delivery) => ((delivery,).into_pyobject(py)?, true),
                    None => (callback_args(py, &produce_result, &waiter)?.into_pyobject(py)?, false),
                };
                return Ok(Some((waiter.on_delivery, arguments.unbind(), is_done_callback)));
            }
            self.queue.callback_thread.lock().get_or_insert_with(|| std::thread::current().id());
            match wait(py, self.queue.next())? {
                Some(QueueEntry::Group(group)) => {
                    let produce_result = Arc::clone(group.produce_result());
                    *self.current.lock() =
                        Some(Current { produce_result, waiters: group.waiters.into_iter() });
                }
                Some(QueueEntry::FlushMarker(passed)) => {
                    // Whoever wanted to know may have gone.
                    let _ = passed.send(());
                }
                None => return Ok(None),
            }
        }
    }

    /// Keep an exception of a callback for ``flush``; return False if one is kept already.
    fn raised(&self, error: Py<PyAny>) -> bool {
        let mut raised = self.queue.raised.lock();
        if raised.is_some() {
            return false;
        }
        *raised = Some(error);
        true
    }
}

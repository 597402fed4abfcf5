//! `on_delivery` and `Delivery.add_done_callback`: the callbacks of a producer, called on a thread of
//! their own.
//!
//! Invariants: each callback of a record that was accepted is called exactly once, `on_delivery` of a
//! partition in the order of its records. The engine never waits for a callback; whoever sends with one
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
use crate::producer::delivery::Delivery as PyDelivery;
use crate::producer::delivery_groups::{Awaited, Group, Groups, Sink, report};
use crate::runtime::{wait, wait_for};

/// So many records that are done may wait for their callbacks.
const MOST: usize = 100_000;

enum Item {
    Group(Group),
    /// Somebody wants to know when all before it is called.
    Mark(oneshot::Sender<()>),
}

struct Queue {
    /// None once the thread has ended: nothing is put there then, and nobody waits for it.
    items: Mutex<Option<VecDeque<Item>>>,
    /// Records that are done.
    waiting: AtomicUsize,
    /// Records that were or are being accepted, and whose callbacks were not taken yet.
    open: AtomicUsize,
    closed: AtomicBool,
    came: Notify,
    went: Notify,
    /// What a callback has raised.
    raised: Mutex<Option<Py<PyAny>>>,
    /// The thread that calls.
    caller: Mutex<Option<ThreadId>>,
}

impl Sink for Queue {
    fn done(&self, group: Group) {
        self.waiting.fetch_add(group.records.len(), Ordering::AcqRel);
        self.push(Item::Group(group));
    }
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            items: Mutex::new(Some(VecDeque::new())),
            waiting: AtomicUsize::new(0),
            open: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
            came: Notify::new(),
            went: Notify::new(),
            raised: Mutex::default(),
            caller: Mutex::default(),
        }
    }
}

impl Queue {
    fn push(&self, item: Item) {
        if let Some(items) = &mut *self.items.lock() {
            items.push_back(item);
        }
        self.came.notify_one();
    }

    fn is_caller(&self) -> bool {
        *self.caller.lock() == Some(std::thread::current().id())
    }

    fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.came.notify_one();
    }

    async fn room(&self, deadline: Instant) -> ottla_client::Result<()> {
        loop {
            let went = self.went.notified();
            tokio::pin!(went);
            went.as_mut().enable();
            if self.waiting.load(Ordering::Acquire) < MOST {
                return Ok(());
            }
            timeout_at(deadline, went).await.map_err(|_| {
                let words = format!(
                    "{MOST} records that are done waited for their on_delivery for max.block.ms: it takes longer than the records"
                );
                Error::new(Kind::Timeout, words)
            })?;
        }
    }

    /// Waits for an item; nothing, when none can come any more.
    async fn next(&self) -> Option<Item> {
        loop {
            {
                let mut items = self.items.lock();
                let item = items.as_mut().and_then(VecDeque::pop_front);
                if item.is_some() {
                    return item;
                }
                if self.closed.load(Ordering::Acquire) && self.open.load(Ordering::Acquire) == 0 {
                    *items = None;
                    return None;
                }
            }
            self.came.notified().await;
        }
    }
}

/// The callbacks of one producer.
pub(crate) struct Callbacks {
    queue: Arc<Queue>,
    groups: Arc<Groups>,
}

impl Drop for Callbacks {
    fn drop(&mut self) {
        self.queue.close();
    }
}

/// A record that is about to be sent: the thread does not end before it is called or given up.
pub(crate) struct Place<'a> {
    callbacks: &'a Callbacks,
    used: bool,
}

impl Place<'_> {
    /// Has a callback called when the record is done.
    pub(crate) fn take(mut self, delivery: Delivery, timestamp: i64, callback: Py<PyAny>) {
        self.used = true;
        let Callbacks { queue, groups } = self.callbacks;
        groups.add(delivery, timestamp, (None, Some(callback)), queue);
    }

    /// Has a callback called with the delivery when its record is done, whatever becomes of others.
    pub(crate) fn take_done(mut self, promise: &Delivery, callback: Py<PyAny>, delivery: Py<PyDelivery>) {
        self.used = true;
        let queue = Arc::clone(&self.callbacks.queue);
        let group = Group::of_one(promise, callback, delivery);
        promise.produce_result.on_done(move || queue.done(group));
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if !self.used {
            self.callbacks.queue.open.fetch_sub(1, Ordering::AcqRel);
            self.callbacks.queue.came.notify_one();
        }
    }
}

impl Callbacks {
    /// Starts the thread.
    pub(crate) fn start(py: Python<'_>) -> PyResult<Self> {
        let queue = Arc::new(Queue::default());
        let reports = DeliveryReports { queue: Arc::clone(&queue), current: Mutex::default() };
        py.import("ottla.delivery_thread")?.call_method1("start", (reports,))?;
        Ok(Self { queue, groups: Arc::default() })
    }

    /// A place for one more, when not too many are waiting to be called.
    pub(crate) fn place(&self, py: Python<'_>, until: impl FnOnce() -> Instant) -> PyResult<Place<'_>> {
        // A callback that sends would wait for itself.
        if self.queue.waiting.load(Ordering::Acquire) >= MOST && !self.queue.is_caller() {
            wait_for(py, self.queue.room(until()))?;
        }
        self.queue.open.fetch_add(1, Ordering::AcqRel);
        Ok(Place { callbacks: self, used: false })
    }

    /// A place for one more, however many are waiting; none, if the thread has ended.
    pub(crate) fn place_at_once(&self) -> Option<Place<'_>> {
        // Under the lock, under which the thread finds out that it has nothing more to do.
        let items = self.queue.items.lock();
        items.as_ref()?;
        self.queue.open.fetch_add(1, Ordering::AcqRel);
        Some(Place { callbacks: self, used: false })
    }

    /// Waits until the callbacks of all that is done now were called, and raises what one of them has
    /// raised.
    pub(crate) fn flush(&self, py: Python<'_>, time: Duration) -> PyResult<()> {
        if !self.queue.is_caller() {
            let (mark, passed) = oneshot::channel();
            self.queue.push(Item::Mark(mark));
            // If the thread has ended it is dropped, and there is nothing to wait for.
            if wait(py, async { timeout(time, passed).await.is_err() })? {
                let words = format!("on_delivery is still being called after {} s", time.as_secs_f64());
                return Err(errors::raise(py, &Error::new(Kind::Timeout, words)));
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
    queue: Arc<Queue>,
    current: Mutex<Option<Current>>,
}

/// The callback, its arguments, and whether `add_done_callback` was given it.
type Call = (Option<Py<PyAny>>, Py<PyTuple>, bool);

struct Current {
    produce_result: Arc<ProduceResult>,
    records: std::vec::IntoIter<Awaited>,
}

impl DeliveryReports {
    fn next_of_current(&self) -> Option<(Arc<ProduceResult>, Awaited)> {
        let mut current = self.current.lock();
        let Current { produce_result, records } = current.as_mut()?;
        records.next().map(|record| (Arc::clone(produce_result), record))
    }
}

#[pymethods]
impl DeliveryReports {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Call>> {
        loop {
            if let Some((produce_result, record)) = self.next_of_current() {
                self.queue.waiting.fetch_sub(1, Ordering::AcqRel);
                self.queue.open.fetch_sub(1, Ordering::AcqRel);
                self.queue.went.notify_waiters();
                // A done callback is not told of a failure: it is seen once it asks the delivery.
                let (arguments, is_done_callback) = match record.delivery {
                    Some(delivery) => ((delivery,).into_pyobject(py)?, true),
                    None => (report(py, &produce_result, &record)?.into_pyobject(py)?, false),
                };
                return Ok(Some((record.on_delivery, arguments.unbind(), is_done_callback)));
            }
            self.queue.caller.lock().get_or_insert_with(|| std::thread::current().id());
            match wait(py, self.queue.next())? {
                Some(Item::Group(group)) => {
                    let produce_result = Arc::clone(group.produce_result());
                    *self.current.lock() =
                        Some(Current { produce_result, records: group.records.into_iter() });
                }
                Some(Item::Mark(passed)) => {
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

//! Records of asyncio that wait for their topic or for room in the buffer.
//!
//! Invariants: records of a topic leave in the order in which `send` was called, whether they had to
//! wait or not. A record that waits and is cancelled is never sent; nothing else is changed by it. When
//! `close` returns, none waits any more. A user's partitioner is asked on the loop's thread.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use ottla_client::producer::{Delivery, Producer, Sent};
use ottla_client::tasks::panics::catch;
use ottla_client::{Error, Kind};
use parking_lot::Mutex;
use pyo3::prelude::*;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, timeout, timeout_at};

use crate::asyncio::{FutureCompleter, LoopQueue, complete, is_done, report_to_loop};
use crate::convert::errors;
use crate::convert::record::OwnedRecord;
use crate::producer::delivery::RecordMetadata;
use crate::producer::delivery_groups::{Groups, refused};
use crate::producer::exit::Ending;
use crate::producer::partitioner::Custom;
use crate::runtime::{runtime, wait_for};

/// A record that waits for its topic or for room.
pub(crate) struct Waiting {
    pub(crate) fields: OwnedRecord,
    pub(crate) promise: FutureCompleter,
    /// `max.block.ms` after the call.
    pub(crate) deadline: Instant,
    pub(crate) cancelled: Arc<AtomicBool>,
}

enum Item {
    Record(Waiting),
    /// Somebody wants to know when all before it is through.
    Mark(oneshot::Sender<()>),
}

/// Why a record or a batch of them is not sent.
pub(crate) enum Trouble {
    Engine(Error),
    /// What a user's code has raised.
    Raised(PyErr),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}

impl Trouble {
    fn engine(&self) -> Option<&Error> {
        match self {
            Self::Engine(error) => Some(error),
            Self::Raised(_) => None,
        }
    }

    pub(crate) fn raise(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Engine(error) => errors::raise(py, &error),
            Self::Raised(error) => error,
        }
    }
}

/// Has a loop's thread make something, and waits for it.
pub(crate) async fn ask<T: Send + 'static>(
    loop_queue: &LoopQueue,
    deadline: Instant,
    make: impl FnOnce(Python<'_>) -> PyResult<T> + Send + 'static,
) -> Result<T, Trouble> {
    let (made, answer) = oneshot::channel();
    loop_queue.call_soon(move |py| {
        // Whoever asked may have gone.
        let _ = made.send(make(py));
    });
    match timeout_at(deadline, answer).await {
        Ok(Ok(made)) => made.map_err(Trouble::Raised),
        Ok(Err(_)) | Err(_) => {
            let words = "the event loop did not get round to asking the partitioner within max.block.ms";
            Err(Error::new(Kind::Timeout, words).into())
        }
    }
}

/// The records that wait, by topic: one topic that is unknown holds up no other. There are no more of
/// them than futures that the program awaits.
pub(crate) struct Backlog {
    core: Arc<Producer>,
    groups: Arc<Groups>,
    partitioner: Option<Arc<Custom>>,
    topics: Mutex<HashMap<Arc<str>, VecDeque<Item>>>,
    /// How many wait, and are being sent after they waited.
    count: AtomicUsize,
    /// The producer was closed: nothing waits any longer.
    ended: watch::Sender<bool>,
}

/// How long `close` waits for the failure of what still waits.
const FAILING: Duration = Duration::from_secs(5);

impl Backlog {
    pub(crate) fn new(core: Arc<Producer>, groups: Arc<Groups>, partitioner: Option<Arc<Custom>>) -> Self {
        let (topics, count) = (Mutex::default(), AtomicUsize::new(0));
        Self { core, groups, partitioner, topics, count, ended: watch::Sender::new(false) }
    }

    /// Whether a record may be sent without waiting for others.
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    pub(crate) fn push(self: &Arc<Self>, topic: &str, record: Waiting) -> PyResult<()> {
        let runtime = runtime()?;
        self.count.fetch_add(1, Ordering::AcqRel);
        let topic: Arc<str> = topic.into();
        match self.topics.lock().entry(Arc::clone(&topic)) {
            Entry::Occupied(mut waiting) => waiting.get_mut().push_back(Item::Record(record)),
            Entry::Vacant(none) => {
                none.insert(VecDeque::from([Item::Record(record)]));
                runtime.spawn(Arc::clone(self).pump(topic));
            }
        }
        Ok(())
    }

    /// Sends what waits for a topic, one after the other.
    async fn pump(self: Arc<Self>, topic: Arc<str>) {
        while let Some(item) = self.next(&topic) {
            match item {
                Item::Record(record) => {
                    // What becomes of one record is no reason to leave those behind it waiting.
                    let _ = catch("a record that waited", self.send(&topic, record)).await;
                    self.count.fetch_sub(1, Ordering::AcqRel);
                }
                Item::Mark(passed) => {
                    // Whoever wanted to know may have gone.
                    let _ = passed.send(());
                }
            }
        }
    }

    fn next(&self, topic: &str) -> Option<Item> {
        let mut topics = self.topics.lock();
        let item = topics.get_mut(topic)?.pop_front();
        if item.is_none() {
            topics.remove(topic);
        }
        item
    }

    async fn send(&self, topic: &Arc<str>, record: Waiting) {
        let Waiting { mut fields, promise, deadline, cancelled } = record;
        let place = RecordMetadata::nowhere(topic, fields.partition, fields.timestamp);
        let on_delivery = fields.on_delivery.take();
        let mut ended = self.ended.subscribe();
        let accepted = tokio::select! {
            // First, so that what need not wait is sent.
            biased;
            accepted = self.accept(topic, fields, promise.loop_queue(), deadline, &cancelled) => accepted,
            _ = ended.wait_for(|ended| *ended) => {
                let words = "the producer was closed while the record waited for its topic or for room: it was not sent";
                Err(Error::new(Kind::Closed, words).topic(topic).into())
            }
        };
        match accepted {
            Ok(None) => {}
            Ok(Some((delivery, timestamp))) => {
                if let Some((future, loop_queue)) = promise.into_parts() {
                    self.groups.add(delivery, timestamp, (Some(future), on_delivery), &loop_queue);
                }
            }
            Err(trouble) => {
                let Some((future, loop_queue)) = promise.into_parts() else { return };
                let failed = Arc::clone(&self.groups.failed);
                loop_queue.call_soon(move |py| {
                    if is_done(future.bind(py)) {
                        return;
                    }
                    let unseen = trouble.engine().filter(|_| on_delivery.is_none()).cloned();
                    let error = trouble.raise(py);
                    if let Some(callback) = on_delivery
                        && let Err(raised) = refused(py, &callback, place, &error)
                    {
                        report_to_loop(py, "on_delivery raised", raised);
                    }
                    complete(future.bind(py), Err(error));
                    if let Some(error) = unseen {
                        failed.push(future, error);
                    }
                });
            }
        }
    }

    /// Waits until the record is in a batch; nothing, if it was cancelled. Gives its timestamp back.
    async fn accept(
        &self,
        topic: &Arc<str>,
        mut fields: OwnedRecord,
        loop_queue: &LoopQueue,
        deadline: Instant,
        cancelled: &AtomicBool,
    ) -> Result<Option<(Delivery, i64)>, Trouble> {
        let target = self.core.target_up_to(topic, fields.partition, deadline).await?;
        if let (None, Some(custom)) = (fields.partition, &self.partitioner)
            && !cancelled.load(Ordering::Acquire)
        {
            let (custom, topic, count) = (Arc::clone(custom), Arc::clone(topic), target.partitions());
            let placed = move |py: Python<'_>| {
                custom.place_record(py, &topic, &mut fields, count)?;
                Ok(fields)
            };
            fields = ask(loop_queue, deadline, placed).await?;
        }
        let mut room = None;
        loop {
            if cancelled.load(Ordering::Acquire) {
                return Ok(None);
            }
            match fields.try_send(&self.core, &target, room.take())? {
                Sent::Accepted(delivery) => return Ok(Some((delivery, fields.timestamp))),
                Sent::Full(bytes) => room = Some(self.core.room_for(bytes, deadline).await?),
            }
        }
    }

    /// Waits until all that waits or is in the buffer now is acknowledged or failed: both at once, so
    /// that a topic that has to be looked up holds up no other.
    pub(crate) async fn flush(&self, time: Duration) -> ottla_client::Result<()> {
        let began = Instant::now();
        // What comes into the buffer while something else waits is sent at once.
        let _flushing = self.core.without_linger();
        let (through, _) = tokio::join!(timeout(time, self.through()), self.core.flush(time));
        // What has come into the buffer meanwhile.
        self.core.flush(time.saturating_sub(began.elapsed())).await?;
        through.map_err(|_| {
            let (count, millis) = (self.count.load(Ordering::Acquire), time.as_millis());
            let words = format!("after {millis} ms records still wait for their topic or for room: {count}");
            Error::new(Kind::Timeout, words)
        })
    }

    /// Closes the producer: what waits may still be sent in this time, and fails after it.
    pub(crate) async fn close(&self, time: Duration) -> ottla_client::Result<()> {
        let began = Instant::now();
        let flushed = self.flush(time).await;
        self.ended.send_replace(true);
        // Each fails when its turn comes, which is at once.
        let _ = timeout(FAILING, self.through()).await;
        self.core.close(time.saturating_sub(began.elapsed())).await.and(flushed)
    }

    /// Waits until all that waits now is in the buffer, or failed.
    async fn through(&self) {
        let mut marks = Vec::new();
        for waiting in self.topics.lock().values_mut() {
            let (mark, passed) = oneshot::channel();
            waiting.push_back(Item::Mark(mark));
            marks.push(passed);
        }
        for passed in marks {
            // It is dropped when its turn has come.
            let _ = passed.await;
        }
    }
}

impl Ending for Backlog {
    fn end(&self, py: Python<'_>, timeout: Duration) -> PyResult<()> {
        wait_for(py, self.close(timeout))
    }
}

/// Notes that a future was cancelled.
#[pyclass(frozen, module = "ottla._core")]
pub(crate) struct Cancelled(pub(crate) Arc<AtomicBool>);

#[pymethods]
impl Cancelled {
    fn __call__(&self, future: &Bound<'_, PyAny>) -> PyResult<()> {
        if future.call_method0("cancelled")?.is_truthy()? {
            self.0.store(true, Ordering::Release);
        }
        Ok(())
    }
}

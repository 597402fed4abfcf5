//! Records that asyncio awaits: their futures, and those that wait for room in the buffer.
//!
//! Invariants: the futures of a batch are filled together, so that a loop is woken once a batch and not
//! once a record. Records of a topic leave in the order in which `send` was called, whether they had to
//! wait or not. A record that waits and is cancelled is never sent; nothing else is changed by it.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ottla_client::Result;
use ottla_client::producer::{Completion, Delivery, Producer, Sent};
use parking_lot::Mutex;
use pyo3::prelude::*;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::asyncio::{Mailbox, Promise, settle};
use crate::errors;
use crate::producer::RecordMetadata;
use crate::record::Fields;
use crate::runtime::runtime;

/// The records of one batch that one loop awaits.
struct Group {
    completion: Arc<Completion>,
    /// None once the futures were filled.
    awaited: Mutex<Option<Vec<Awaited>>>,
}

struct Awaited {
    future: Py<PyAny>,
    index: usize,
    timestamp: i64,
}

impl Group {
    /// Gives the record back if it comes too late.
    fn add(&self, awaited: Awaited) -> Option<Awaited> {
        match &mut *self.awaited.lock() {
            Some(others) => {
                others.push(awaited);
                None
            }
            None => Some(awaited),
        }
    }

    /// Fills the futures, on the loop's thread.
    fn fill(&self, py: Python<'_>) {
        let all = self.awaited.lock().take().unwrap_or_default();
        for Awaited { future, index, timestamp } in all {
            let result = match self.completion.settled(index) {
                Ok(written) => {
                    let metadata = RecordMetadata::new(&self.completion, written, timestamp);
                    Py::new(py, metadata).map(Py::into_any)
                }
                Err(error) => Err(errors::raise(py, &error)),
            };
            settle(future.bind(py), result);
        }
    }
}

/// The batches that are awaited, by batch and mailbox.
#[derive(Default)]
pub(crate) struct Groups(Mutex<HashMap<(usize, usize), Arc<Group>>>);

impl Groups {
    /// Has a future filled when the record's batch is done.
    pub(crate) fn add(
        self: &Arc<Self>,
        delivery: Delivery,
        timestamp: i64,
        future: Py<PyAny>,
        mailbox: &Arc<Mailbox>,
    ) {
        let Delivery { completion, index } = delivery;
        // Both live for as long as the group is here, so nobody else has their addresses.
        let key = (Arc::as_ptr(&completion).addr(), Arc::as_ptr(mailbox).addr());
        let mut awaited = Awaited { future, index, timestamp };
        let mut groups = self.0.lock();
        if let Some(group) = groups.get(&key) {
            match group.add(awaited) {
                None => return,
                Some(late) => awaited = late,
            }
        }
        let awaited = Mutex::new(Some(vec![awaited]));
        let group = Arc::new(Group { completion: Arc::clone(&completion), awaited });
        groups.insert(key, Arc::clone(&group));
        drop(groups);
        let (groups, mailbox) = (Arc::clone(self), Arc::clone(mailbox));
        completion.on_done(move || {
            groups.0.lock().remove(&key);
            mailbox.post(move |py| group.fill(py));
        });
    }
}

/// A record that waits for its topic or for room.
pub(crate) struct Waiting {
    pub(crate) fields: Fields,
    pub(crate) promise: Promise,
    /// `max.block.ms` after the call.
    pub(crate) deadline: Instant,
    pub(crate) cancelled: Arc<AtomicBool>,
}

enum Item {
    Record(Waiting),
    /// Somebody wants to know when all before it is through.
    Mark(oneshot::Sender<()>),
}

/// The records that wait, by topic: one topic that is unknown holds up no other. There are no more of
/// them than futures that the program awaits.
pub(crate) struct Backlog {
    core: Arc<Producer>,
    groups: Arc<Groups>,
    topics: Mutex<HashMap<Arc<str>, VecDeque<Item>>>,
    /// How many wait, and are being sent after they waited.
    count: AtomicUsize,
}

impl Backlog {
    pub(crate) fn new(core: Arc<Producer>, groups: Arc<Groups>) -> Self {
        Self { core, groups, topics: Mutex::default(), count: AtomicUsize::new(0) }
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
                    self.send(&topic, record).await;
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

    async fn send(&self, topic: &str, record: Waiting) {
        let Waiting { fields, promise, deadline, cancelled } = record;
        let accepted = async {
            let target = self.core.target(topic, deadline).await?;
            loop {
                if cancelled.load(Ordering::Acquire) {
                    return Ok(None);
                }
                match fields.try_send(&self.core, &target)? {
                    Sent::Accepted(delivery) => return Ok(Some(delivery)),
                    Sent::Full(bytes) => self.core.room_for(bytes, deadline).await?,
                }
            }
        };
        let accepted: Result<Option<Delivery>> = accepted.await;
        match accepted {
            Ok(None) => {}
            Ok(Some(delivery)) => {
                if let Some((future, mailbox)) = promise.into_parts() {
                    self.groups.add(delivery, fields.timestamp, future, &mailbox);
                }
            }
            Err(error) => promise.settle(move |py| Err(errors::raise(py, &error))),
        }
    }

    /// Waits until all that waits now is in the buffer, or failed.
    pub(crate) async fn through(&self) {
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

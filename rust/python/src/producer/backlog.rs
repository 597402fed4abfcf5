//! Records of asyncio that wait for their topic or for reservation in the buffer.
//!
//! Invariants: records of a topic leave in the order in which `send` was called, whether they had to
//! wait or not. A record that waits and is cancelled is never sent; nothing else is changed by it. When
//! `close` returns, none waits any more. A user's partitioner is asked on the loop's thread.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use ottla_client::producer::{Delivery, Producer, SendResult};
use ottla_client::tasks::panics::catch;
use ottla_client::{Error, Kind};
use parking_lot::Mutex;
use pyo3::prelude::*;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, timeout, timeout_at};

use crate::asyncio::{Mailbox, Promise, is_done, report_to_loop, settle};
use crate::convert::errors;
use crate::convert::record::OwnedRecord;
use crate::producer::delivery_groups::{DeliveryGroups, report_rejected};
use crate::producer::exit::CloseAtExit;
use crate::producer::partitioner::CustomPartitioner;
use crate::producer::record_metadata::RecordMetadata;
use crate::runtime::{runtime, wait_for};

/// A record that waits for its topic or for reservation.
pub(crate) struct WaitingRecord {
    pub(crate) record: OwnedRecord,
    pub(crate) promise: Promise,
    /// `max.block.ms` after the call.
    pub(crate) deadline: Instant,
    pub(crate) cancelled: Arc<AtomicBool>,
}

enum BacklogEntry {
    Record(WaitingRecord),
    /// Somebody wants to know when all before it is sent.
    Marker(oneshot::Sender<()>),
}

/// Why a record or a batch of them is not sent.
pub(crate) enum SendFailure {
    Client(Error),
    /// What a user's code has raised.
    Python(PyErr),
}

impl From<Error> for SendFailure {
    fn from(error: Error) -> Self {
        Self::Client(error)
    }
}

impl SendFailure {
    fn client_error(&self) -> Option<&Error> {
        match self {
            Self::Client(error) => Some(error),
            Self::Python(_) => None,
        }
    }

    pub(crate) fn raise(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Client(error) => errors::raise(py, &error),
            Self::Python(error) => error,
        }
    }
}

/// Has a loop's thread make something, and waits for it.
pub(crate) async fn run_on_loop<T: Send + 'static>(
    mailbox: &Mailbox,
    deadline: Instant,
    make: impl FnOnce(Python<'_>) -> PyResult<T> + Send + 'static,
) -> Result<T, SendFailure> {
    let (made, response) = oneshot::channel();
    mailbox.post(move |py| {
        // Whoever asked may have gone.
        let _ = made.send(make(py));
    });
    match timeout_at(deadline, response).await {
        Ok(Ok(made)) => made.map_err(SendFailure::Python),
        Ok(Err(_)) | Err(_) => {
            let message = "the event loop did not call the partitioner within max.block.ms";
            Err(Error::new(Kind::Timeout, message).into())
        }
    }
}

/// The records that wait, by topic: one topic that is unknown holds up no other. There are no more of
/// them than futures that the program awaits.
pub(crate) struct Backlog {
    core: Arc<Producer>,
    groups: Arc<DeliveryGroups>,
    partitioner: Option<Arc<CustomPartitioner>>,
    topics: Mutex<HashMap<Arc<str>, VecDeque<BacklogEntry>>>,
    /// How many wait, and are being sent after they waited.
    count: AtomicUsize,
    /// The producer was closed: nothing waits any longer.
    closed: watch::Sender<bool>,
}

/// How long `close` waits for the failure of what still waits.
const CLOSE_GRACE: Duration = Duration::from_secs(5);

impl Backlog {
    pub(crate) fn new(
        core: Arc<Producer>,
        groups: Arc<DeliveryGroups>,
        partitioner: Option<Arc<CustomPartitioner>>,
    ) -> Self {
        let (topics, count) = (Mutex::default(), AtomicUsize::new(0));
        Self { core, groups, partitioner, topics, count, closed: watch::Sender::new(false) }
    }

    /// Whether a record may be sent without waiting for others.
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    pub(crate) fn push(self: &Arc<Self>, topic: &str, record: WaitingRecord) -> PyResult<()> {
        let runtime = runtime()?;
        self.count.fetch_add(1, Ordering::AcqRel);
        let topic: Arc<str> = topic.into();
        match self.topics.lock().entry(Arc::clone(&topic)) {
            Entry::Occupied(mut waiting) => waiting.get_mut().push_back(BacklogEntry::Record(record)),
            Entry::Vacant(none) => {
                none.insert(VecDeque::from([BacklogEntry::Record(record)]));
                runtime.spawn(Arc::clone(self).send_all(topic));
            }
        }
        Ok(())
    }

    /// Sends what waits for a topic, one after the other.
    async fn send_all(self: Arc<Self>, topic: Arc<str>) {
        while let Some(entry) = self.next(&topic) {
            match entry {
                BacklogEntry::Record(record) => {
                    // What becomes of one record is no reason to leave those behind it waiting.
                    let _ = catch("a record in the backlog", self.send(&topic, record)).await;
                    self.count.fetch_sub(1, Ordering::AcqRel);
                }
                BacklogEntry::Marker(passed) => {
                    // Whoever wanted to know may have gone.
                    let _ = passed.send(());
                }
            }
        }
    }

    fn next(&self, topic: &str) -> Option<BacklogEntry> {
        let mut topics = self.topics.lock();
        let entry = topics.get_mut(topic)?.pop_front();
        if entry.is_none() {
            topics.remove(topic);
        }
        entry
    }

    async fn send(&self, topic: &Arc<str>, record: WaitingRecord) {
        let WaitingRecord { record: mut fields, promise, deadline, cancelled } = record;
        let metadata = RecordMetadata::unsent(topic, fields.partition, fields.timestamp);
        let on_delivery = fields.on_delivery.take();
        let mut closed = self.closed.subscribe();
        let accepted = tokio::select! {
            // First, so that what need not wait is sent.
            biased;
            accepted = self.accept(topic, fields, promise.mailbox(), deadline, &cancelled) => accepted,
            _ = closed.wait_for(|closed| *closed) => {
                let message = "the producer was closed while the record waited for its topic or for buffer memory: it was not sent";
                Err(Error::new(Kind::Closed, message).topic(topic).into())
            }
        };
        match accepted {
            Ok(None) => {}
            Ok(Some((delivery, timestamp))) => {
                if let Some((future, mailbox)) = promise.into_parts() {
                    self.groups.add(delivery, timestamp, (Some(future), on_delivery), &mailbox);
                }
            }
            Err(failure) => {
                let Some((future, mailbox)) = promise.into_parts() else { return };
                let failed = Arc::clone(&self.groups.failed);
                mailbox.post(move |py| {
                    if is_done(future.bind(py)) {
                        return;
                    }
                    let unobserved = failure.client_error().filter(|_| on_delivery.is_none()).cloned();
                    let error = failure.raise(py);
                    if let Some(callback) = on_delivery
                        && let Err(raised) = report_rejected(py, &callback, metadata, &error)
                    {
                        report_to_loop(py, "on_delivery raised", raised);
                    }
                    settle(future.bind(py), Err(error));
                    if let Some(error) = unobserved {
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
        mailbox: &Mailbox,
        deadline: Instant,
        cancelled: &AtomicBool,
    ) -> Result<Option<(Delivery, i64)>, SendFailure> {
        let writer = self.core.topic_writer_for(topic, fields.partition, deadline).await?;
        if let (None, Some(custom)) = (fields.partition, &self.partitioner)
            && !cancelled.load(Ordering::Acquire)
        {
            let (custom, topic, count) = (Arc::clone(custom), Arc::clone(topic), writer.partition_count());
            let assign = move |py: Python<'_>| {
                custom.assign_partition(py, &topic, &mut fields, count)?;
                Ok(fields)
            };
            fields = run_on_loop(mailbox, deadline, assign).await?;
        }
        let mut reservation = None;
        loop {
            if cancelled.load(Ordering::Acquire) {
                return Ok(None);
            }
            match fields.try_send(&self.core, &writer, reservation.take())? {
                SendResult::Accepted(delivery) => return Ok(Some((delivery, fields.timestamp))),
                SendResult::BufferFull(bytes) => {
                    reservation = Some(self.core.reserve_buffer(bytes, deadline).await?)
                }
            }
        }
    }

    /// Waits until all that waits or is in the buffer now is acknowledged or failed: both at once, so
    /// that a topic that has to be looked up holds up no other.
    pub(crate) async fn flush(&self, time: Duration) -> ottla_client::Result<()> {
        let began = Instant::now();
        // What comes into the buffer while something else waits is sent at once.
        let _flushing = self.core.suspend_linger();
        let (sent, _) = tokio::join!(timeout(time, self.sent()), self.core.flush(time));
        // What has come into the buffer meanwhile.
        self.core.flush(time.saturating_sub(began.elapsed())).await?;
        sent.map_err(|_| {
            let (count, millis) = (self.count.load(Ordering::Acquire), time.as_millis());
            let message =
                format!("records still waiting for their topic or for buffer memory after {millis} ms: {count}");
            Error::new(Kind::Timeout, message)
        })
    }

    /// Closes the producer: what waits may still be sent in this time, and fails after it.
    pub(crate) async fn close(&self, time: Duration) -> ottla_client::Result<()> {
        let began = Instant::now();
        let flushed = self.flush(time).await;
        self.closed.send_replace(true);
        // Each fails when its turn comes, which is at once.
        let _ = timeout(CLOSE_GRACE, self.sent()).await;
        self.core.close(time.saturating_sub(began.elapsed())).await.and(flushed)
    }

    /// Waits until all that waits now is in the buffer, or failed.
    async fn sent(&self) {
        let mut markers = Vec::new();
        for waiting in self.topics.lock().values_mut() {
            let (marker, passed) = oneshot::channel();
            waiting.push_back(BacklogEntry::Marker(marker));
            markers.push(passed);
        }
        for passed in markers {
            // It is dropped when its turn has come.
            let _ = passed.await;
        }
    }
}

impl CloseAtExit for Backlog {
    fn close_at_exit(&self, py: Python<'_>, timeout: Duration) -> PyResult<()> {
        wait_for(py, self.close(timeout))
    }
}

/// Notes that a future was cancelled.
#[pyclass(frozen, module = "ottla._core")]
pub(crate) struct CancellationFlag(pub(crate) Arc<AtomicBool>);

#[pymethods]
impl CancellationFlag {
    fn __call__(&self, future: &Bound<'_, PyAny>) -> PyResult<()> {
        if future.call_method0("cancelled")?.is_truthy()? {
            self.0.store(true, Ordering::Release);
        }
        Ok(())
    }
}

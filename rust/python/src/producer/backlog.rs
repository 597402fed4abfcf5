//! Asyncio records that wait for their topic or for buffer memory.
//!
//! Invariants: records of a topic are sent in the order of the `send` calls, whether they waited or
//! not. A waiting record that is cancelled is never sent, and nothing else changes. None waits any
//! more when `close` returns. A custom partitioner is called on the loop's thread.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use ottla_client::producer::{Delivery, PreparedTransaction, Producer, SendResult};
use ottla_client::tasks::panics::catch;
use ottla_client::{Error, Kind};
use parking_lot::Mutex;
use pyo3::prelude::*;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, timeout, timeout_at};

use crate::asyncio::{FutureCompleter, LoopQueue, complete, is_done, report_to_loop};
use crate::convert::errors;
use crate::producer::delivery_groups::{DeliveryGroups, report_rejected};
use crate::producer::partitioner::CustomPartitioner;
use crate::producer::record::OwnedRecord;
use crate::producer::record_metadata::RecordMetadata;
use crate::runtime::exit::CloseAtExit;
use crate::runtime::{runtime, wait_for};

/// A record that waits for its topic or for buffer memory.
pub(crate) struct WaitingRecord {
    pub(crate) record: OwnedRecord,
    pub(crate) promise: FutureCompleter,
    /// `max.block.ms` after the call.
    pub(crate) deadline: Instant,
    pub(crate) cancelled: Arc<AtomicBool>,
}

enum BacklogEntry {
    /// A record, and how often waiting records had been dropped when it was sent.
    Record(WaitingRecord, u64),
    /// Reports that all entries before it are done.
    Marker(oneshot::Sender<()>),
}

/// Why a record or a batch of records is not sent.
pub(crate) enum SendFailure {
    Client(Error),
    /// An exception of the application's code.
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

/// Runs `make` on a loop's thread and waits for its result.
pub(crate) async fn run_on_loop<T: Send + 'static>(
    loop_queue: &LoopQueue,
    deadline: Instant,
    make: impl FnOnce(Python<'_>) -> PyResult<T> + Send + 'static,
) -> Result<T, SendFailure> {
    let (sender, result) = oneshot::channel();
    loop_queue.call_soon(move |py| {
        // The receiver may have been dropped.
        let _ = sender.send(make(py));
    });
    match timeout_at(deadline, result).await {
        Ok(Ok(result)) => result.map_err(SendFailure::Python),
        Ok(Err(_)) | Err(_) => {
            let message = "the event loop did not call the partitioner within max.block.ms";
            Err(Error::new(Kind::Timeout, message).into())
        }
    }
}

/// The waiting records, by topic, so that an unknown topic does not delay others. There are no more
/// of them than futures that the application awaits.
pub(crate) struct Backlog {
    core: Arc<Producer>,
    groups: Arc<DeliveryGroups>,
    partitioner: Option<Arc<CustomPartitioner>>,
    topics: Mutex<HashMap<Arc<str>, VecDeque<BacklogEntry>>>,
    /// The number of records that wait or are being sent after waiting.
    count: AtomicUsize,
    /// Set when the producer is closed: the remaining records fail.
    closed: watch::Sender<bool>,
    /// How often waiting records were dropped, and why they were the last time.
    drops: watch::Sender<(u64, DropReason)>,
}

/// Why waiting records are dropped.
#[derive(Clone, Copy)]
enum DropReason {
    TransactionAborted,
    Purged,
}

impl DropReason {
    fn error(self) -> Error {
        let (kind, reason) = match self {
            Self::TransactionAborted => (Kind::TransactionAborted, "the transaction was aborted"),
            Self::Purged => (Kind::Purged, "purge() gave the record up"),
        };
        Error::new(
            kind,
            format!("{reason} while it waited for its topic or for buffer memory: it was not sent"),
        )
    }
}

/// How long `close` waits for the remaining records to fail.
const CLOSE_GRACE: Duration = Duration::from_secs(5);

impl Backlog {
    pub(crate) fn new(
        core: Arc<Producer>,
        groups: Arc<DeliveryGroups>,
        partitioner: Option<Arc<CustomPartitioner>>,
    ) -> Self {
        let (topics, count) = (Mutex::default(), AtomicUsize::new(0));
        let (closed, drops) =
            (watch::Sender::new(false), watch::Sender::new((0, DropReason::TransactionAborted)));
        Self { core, groups, partitioner, topics, count, closed, drops }
    }

    /// Whether a new record may be sent at once, without overtaking others.
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    pub(crate) fn push(self: &Arc<Self>, topic: &str, record: WaitingRecord) -> PyResult<()> {
        let runtime = runtime()?;
        self.count.fetch_add(1, Ordering::AcqRel);
        let topic: Arc<str> = topic.into();
        let entry = BacklogEntry::Record(record, self.drops.borrow().0);
        match self.topics.lock().entry(Arc::clone(&topic)) {
            Entry::Occupied(mut waiting) => waiting.get_mut().push_back(entry),
            Entry::Vacant(none) => {
                none.insert(VecDeque::from([entry]));
                runtime.spawn(Arc::clone(self).send_all(topic));
            }
        }
        Ok(())
    }

    /// Sends the waiting records of a topic, one after another.
    async fn send_all(self: Arc<Self>, topic: Arc<str>) {
        while let Some(entry) = self.next(&topic) {
            match entry {
                BacklogEntry::Record(record, drops) => {
                    // A panic in one record must not block those behind it.
                    let _ = catch("a record in the backlog", self.send(&topic, record, drops)).await;
                    self.count.fetch_sub(1, Ordering::AcqRel);
                }
                BacklogEntry::Marker(passed) => {
                    // The receiver may have been dropped.
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

    async fn send(&self, topic: &Arc<str>, waiting: WaitingRecord, drops: u64) {
        let WaitingRecord { mut record, promise, deadline, cancelled } = waiting;
        let metadata = RecordMetadata::unsent(topic, record.partition, record.timestamp);
        let on_delivery = record.on_delivery.take();
        let (mut closed, mut dropped) = (self.closed.subscribe(), self.drops.subscribe());
        let accepted = tokio::select! {
            // A drop first, so that no record gets into the next transaction; then the record, so that
            // one that need not wait is still sent when the producer closes.
            biased;
            reason = async { dropped.wait_for(|(now, _)| *now > drops).await.map(|last| last.1) } => {
                // The backlog owns the sender, so it cannot be gone.
                let reason = reason.unwrap_or(DropReason::TransactionAborted);
                Err(reason.error().topic(topic).into())
            }
            accepted = self.accept(topic, record, promise.loop_queue(), deadline, &cancelled) => accepted,
            _ = closed.wait_for(|closed| *closed) => {
                let message = "the producer was closed while the record waited for its topic or for buffer memory: it was not sent";
                Err(Error::new(Kind::Closed, message).topic(topic).into())
            }
        };
        match accepted {
            Ok(None) => {}
            Ok(Some((delivery, timestamp))) => {
                if let Some((future, loop_queue)) = promise.into_parts() {
                    self.groups.add(delivery, timestamp, (Some(future), on_delivery), &loop_queue);
                }
            }
            Err(failure) => {
                let Some((future, loop_queue)) = promise.into_parts() else { return };
                let failed = Arc::clone(&self.groups.failed);
                loop_queue.call_soon(move |py| {
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
                    complete(future.bind(py), Err(error));
                    if let Some(error) = unobserved {
                        failed.push(future, error);
                    }
                });
            }
        }
    }

    /// Waits until the record is in a batch, and returns its delivery and timestamp; `None` if it was
    /// cancelled.
    async fn accept(
        &self,
        topic: &Arc<str>,
        mut record: OwnedRecord,
        loop_queue: &LoopQueue,
        deadline: Instant,
        cancelled: &AtomicBool,
    ) -> Result<Option<(Delivery, i64)>, SendFailure> {
        let writer = self.core.topic_writer_for(topic, record.partition, deadline).await?;
        if let (None, Some(custom)) = (record.partition, &self.partitioner)
            && !cancelled.load(Ordering::Acquire)
        {
            let (custom, topic, count) = (Arc::clone(custom), Arc::clone(topic), writer.partition_count());
            let assign = move |py: Python<'_>| {
                custom.assign_partition(py, &topic, &mut record, count)?;
                Ok(record)
            };
            record = run_on_loop(loop_queue, deadline, assign).await?;
        }
        let attempt = |reservation| {
            if cancelled.load(Ordering::Acquire) {
                return Ok(SendResult::Accepted(None));
            }
            Ok(match record.try_send(&self.core, &writer, reservation)? {
                SendResult::Accepted(delivery) => SendResult::Accepted(Some(delivery)),
                SendResult::BufferFull(bytes) => SendResult::BufferFull(bytes),
            })
        };
        let delivery = self.core.append_when_free(Some(deadline), attempt).await?;
        Ok(delivery.map(|delivery| (delivery, record.timestamp)))
    }

    /// Waits until all waiting and buffered records are acknowledged or failed. It waits for both at
    /// once, so that a topic lookup does not delay other topics.
    pub(crate) async fn flush(&self, time: Duration) -> ottla_client::Result<()> {
        self.flush_by(self.core.call_deadline(Some(time)), "flush", time).await
    }

    async fn flush_by(&self, deadline: Instant, call: &str, time: Duration) -> ottla_client::Result<()> {
        // Records that enter the buffer meanwhile are sent without lingering.
        let _flushing = self.core.suspend_linger();
        let buffered = self.core.flush_by(deadline, call, time);
        let (sent, _) = tokio::join!(timeout_at(deadline, self.sent()), buffered);
        // Wait for records that entered the buffer meanwhile.
        self.core.flush_by(deadline, call, time).await?;
        sent.map_err(|_| {
            let (count, millis) = (self.count.load(Ordering::Acquire), time.as_millis());
            let message = format!(
                "{call}: records still waiting for their topic or for buffer memory after {millis} ms: {count}"
            );
            Error::new(Kind::Timeout, message)
        })
    }

    /// Commits the transaction, with the records that wait.
    pub(crate) async fn commit_transaction(&self, timeout: Option<Duration>) -> ottla_client::Result<()> {
        let rest = self.all_sent("commit_transaction", timeout).await?;
        self.core.commit_transaction(Some(rest)).await
    }

    /// Prepares the transaction, with the records that wait.
    pub(crate) async fn prepare_transaction(
        &self,
        timeout: Option<Duration>,
    ) -> ottla_client::Result<Option<PreparedTransaction>> {
        let rest = self.all_sent("prepare_transaction", timeout).await?;
        self.core.prepare_transaction(Some(rest)).await
    }

    /// Waits until no record waits any more, for at most `timeout`, and returns the rest of it.
    async fn all_sent(&self, call: &str, timeout: Option<Duration>) -> ottla_client::Result<Duration> {
        let deadline = self.core.call_deadline(timeout);
        timeout_at(deadline, self.sent()).await.map_err(|_| {
            let message = format!(
                "{call}: records still wait for their topic or for buffer memory; call it again, or abort"
            );
            Error::new(Kind::Timeout, message)
        })?;
        Ok(deadline.saturating_duration_since(Instant::now()))
    }

    /// Aborts the transaction; the records that wait fail.
    pub(crate) async fn abort_transaction(&self, timeout: Option<Duration>) -> ottla_client::Result<()> {
        let abort = self.core.abort_transaction(timeout);
        let drop_waiting = async {
            self.drop_waiting(DropReason::TransactionAborted);
            self.sent().await;
        };
        tokio::join!(abort, drop_waiting).0
    }

    fn drop_waiting(&self, reason: DropReason) {
        self.drops.send_modify(|drops| *drops = (drops.0 + 1, reason));
    }

    /// Drops the records that wait, and returns their number.
    pub(crate) fn purge(&self) -> usize {
        self.drop_waiting(DropReason::Purged);
        self.count()
    }

    /// The number of records that wait or are being sent after waiting.
    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// Closes the producer: waiting records may still be sent within `time`, and fail afterwards.
    pub(crate) async fn close(&self, time: Duration) -> ottla_client::Result<()> {
        let deadline = self.core.call_deadline(Some(time));
        let flushed = self.flush_by(deadline, "close", time).await;
        self.closed.send_replace(true);
        // The remaining records fail at once, in order.
        let _ = timeout(CLOSE_GRACE, self.sent()).await;
        self.core.close_by(deadline, time).await.and(flushed)
    }

    /// Waits until all waiting records are in the buffer or have failed.
    async fn sent(&self) {
        let mut markers = Vec::new();
        for waiting in self.topics.lock().values_mut() {
            let (marker, passed) = oneshot::channel();
            waiting.push_back(BacklogEntry::Marker(marker));
            markers.push(passed);
        }
        for passed in markers {
            // An error means that the marker was dropped, which is as good.
            let _ = passed.await;
        }
    }
}

impl CloseAtExit for Backlog {
    fn close_at_exit(&self, py: Python<'_>, timeout: Duration) -> PyResult<()> {
        wait_for(py, self.close(timeout))
    }
}

/// Sets a flag when a future is cancelled.
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

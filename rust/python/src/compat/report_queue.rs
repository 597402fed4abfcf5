//! `ReportQueue`: the messages of a producer of `ottla.compat.confluent_kafka` until their reports are served.
//!
//! Invariants: each message counts until its report is served; the reports of a partition come in the order of its
//! messages; callbacks run in `serve`, on the thread that calls it, and an exception of one leaves the later reports
//! queued.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ottla_client::producer::{AppendInfo, Delivery, SendResult};
use parking_lot::{Mutex, RwLock};
use pyo3::PyVisit;
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;

use super::completed::{Completed, Report};
use super::message::Message;
use super::produced::Produced;
use crate::convert::errors;
use crate::convert::last_topic::LastTopic;
use crate::convert::number;
use crate::garbage::{Traverse, Visited};
use crate::producer::delivery_groups::{DeliveryGroups, RecordWaiter};
use crate::producer::sync::Producer;
use crate::runtime::{wait_at_most, wait_for};

/// The messages of a producer until their reports are served.
///
/// Args:
///     producer: the producer that sends them.
///     max_messages: how many may be in the queue.
///     max_size: the largest message that ``produce`` sends the short way, in bytes of key and
///         value.
///     max_bytes: the unacknowledged bytes up to which it does.
///     error_of: makes the error of a report from an ``ottla.errors.KafkaError``.
///     only_errors: whether the callbacks of messages that succeed are left out.
#[pyclass(frozen, module = "ottla._core")]
pub(crate) struct ReportQueue {
    producer: Py<Producer>,
    max_messages: usize,
    max_size: usize,
    max_bytes: usize,
    error_of: Py<PyAny>,
    only_errors: bool,
    /// The topics whose messages need not wait.
    open_topics: RwLock<HashSet<String>>,
    completed: Arc<Completed>,
    groups: Arc<DeliveryGroups>,
    topic: Mutex<LastTopic>,
    count: AtomicUsize,
    created: Instant,
}

impl ReportQueue {
    /// Queues and sends a message without headers, unless it has to wait for its topic, is too large, or is refused:
    /// then it returns false.
    pub(super) fn try_put(&self, py: Python<'_>, produced: &Produced<'_, '_>) -> PyResult<bool> {
        if !self.open_topics.read().contains(produced.topic) {
            return Ok(false);
        }
        let handle = self.producer.get().handle()?;
        let writer = match handle.core.cached_topic_writer(produced.topic) {
            Some(writer) if !writer.lacks_partition(produced.partition()) => writer,
            _ => return Ok(false),
        };
        let record = produced.record()?;
        if record.size() > self.max_size || handle.core.buffered_bytes() > self.max_bytes {
            return Ok(false);
        }
        self.reserve()?;
        match record.try_send(&handle.core, &writer, None) {
            Ok(SendResult::Accepted(delivery)) => {
                self.accepted(py, delivery, produced, record.timestamp, self.now())?;
                Ok(true)
            }
            Ok(SendResult::BufferFull(_)) => {
                self.forget(1);
                Err(full())
            }
            // The long way reports the error.
            Err(_) => {
                self.forget(1);
                Ok(false)
            }
        }
    }

    /// Lets a message that was sent be reported once it is done.
    fn accepted(
        &self,
        py: Python<'_>,
        delivery: Delivery,
        produced: &Produced<'_, '_>,
        timestamp: i64,
        at: f64,
    ) -> PyResult<()> {
        let sent = produced.sent(py, at)?;
        let waiters = (None, produced.callback.map(|callback| callback.clone().unbind()));
        self.groups.add_with(delivery, timestamp, waiters, sent, &self.completed);
        Ok(())
    }

    /// Counts one more message.
    fn reserve(&self) -> PyResult<()> {
        if self.count.fetch_add(1, Ordering::AcqRel) >= self.max_messages {
            self.forget(1);
            return Err(full());
        }
        Ok(())
    }

    /// Calls the callback of a report.
    fn report(&self, py: Python<'_>, Report { produce_result, waiter }: Report) -> PyResult<()> {
        let RecordWaiter { index, timestamp, on_delivery, sent, .. } = waiter;
        let result = produce_result.final_result(index);
        if result.is_err() {
            produce_result.mark_observed(index, index + 1);
        }
        let (Some(callback), Some(sent)) = (on_delivery, sent) else { return Ok(()) };
        if self.only_errors && result.is_ok() {
            return Ok(());
        }
        let (written, error) = match result {
            Ok(written) => (written, None),
            Err(error) => {
                let error = self.error_of.call1(py, (errors::value(py, &error)?,))?;
                (AppendInfo::UNKNOWN, Some(error))
            }
        };
        let latency = self.now() - sent.at;
        let error_in_message = error.as_ref().map(|error| error.clone_ref(py));
        let (topic, partition) = produce_result.partition();
        let topic = self.topic.lock().string(py, topic);
        let place = (topic, *partition, written.offset, timestamp);
        let message = Message::reported(place, *sent, error_in_message, latency)?;
        callback.call1(py, (error, message)).map(drop)
    }
}

fn full() -> PyErr {
    PyBufferError::new_err("Local: Queue full")
}

#[pymethods]
impl ReportQueue {
    /// Messages in flight keep their callbacks, and what these refer to.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Visited {
        visit.call(&self.producer)?;
        visit.call(&self.error_of)?;
        self.completed.traverse(&visit)
    }

    fn __clear__(&self) {
        // Each report is dropped outside of the lock: dropping may run Python code.
        while self.completed.pop().is_some() {}
    }

    #[new]
    fn new(
        producer: Py<Producer>,
        max_messages: usize,
        max_size: usize,
        max_bytes: usize,
        error_of: Py<PyAny>,
        only_errors: bool,
    ) -> Self {
        Self {
            producer,
            max_messages,
            max_size,
            max_bytes,
            error_of,
            only_errors,
            open_topics: RwLock::default(),
            completed: Arc::default(),
            groups: Arc::default(),
            topic: Mutex::default(),
            count: AtomicUsize::new(0),
            created: Instant::now(),
        }
    }

    /// Let messages of a topic be sent at once.
    fn open(&self, topic: String) {
        self.open_topics.write().insert(topic);
    }

    /// Let messages of a topic wait.
    fn close(&self, topic: &str) {
        self.open_topics.write().remove(topic);
    }

    /// Send a message that was counted already; wait for its topic and for buffer memory.
    ///
    /// Args:
    ///     topic: the topic.
    ///     value: the payload.
    ///     key: the key.
    ///     partition: the partition, or -1.
    ///     headers: pairs of a name and a value.
    ///     timestamp: milliseconds since 1970, or 0 for now.
    ///     callback: the callback of its report.
    ///     produced_at: when it was produced, by ``now()``.
    ///
    /// Raises:
    ///     KafkaError: the topic is not known, or the message is refused; it still counts.
    #[expect(clippy::too_many_arguments, reason = "a message of Python")]
    #[pyo3(signature = (topic, value, key, partition, headers, timestamp, callback, produced_at))]
    fn send<'py>(
        &self,
        py: Python<'py>,
        topic: &str,
        value: Option<&Bound<'py, PyAny>>,
        key: Option<&Bound<'py, PyAny>>,
        partition: i32,
        headers: Option<&Bound<'py, PyAny>>,
        timestamp: i64,
        callback: Option<&Bound<'py, PyAny>>,
        produced_at: f64,
    ) -> PyResult<()> {
        let handle = self.producer.get().handle()?;
        let produced = Produced { topic, value, key, partition, headers, timestamp, callback };
        let record = produced.record()?;
        let deadline = handle.core.max_block_deadline();
        let writer = handle.topic_writer(py, topic, produced.partition(), || deadline)?;
        let attempt = |reservation| record.try_send(&handle.core, &writer, reservation);
        let delivery = wait_for(py, handle.core.append_when_free(Some(deadline), attempt))?;
        self.accepted(py, delivery, &produced, record.timestamp, produced_at)
    }

    /// Return the time in seconds, for ``send``.
    fn now(&self) -> f64 {
        self.created.elapsed().as_secs_f64()
    }

    /// Count a message that waits elsewhere.
    ///
    /// Raises:
    ///     BufferError: the queue is full.
    fn count_waiting(&self) -> PyResult<()> {
        self.reserve()
    }

    /// Count messages no longer.
    fn forget(&self, count: usize) {
        if self.count.fetch_sub(count, Ordering::AcqRel) == count {
            // Another thread may wait in `flush` for this one to serve the last report.
            self.completed.notify();
        }
    }

    /// Call the callbacks of the completed messages; return their number.
    ///
    /// Callbacks may produce: what completes meanwhile is for the next call.
    fn serve(&self, py: Python<'_>) -> PyResult<usize> {
        let (mut served, most) = (0, self.count.load(Ordering::Acquire));
        while served < most
            && let Some(report) = self.completed.pop()
        {
            self.forget(1);
            served += 1;
            self.report(py, report)?;
        }
        Ok(served)
    }

    /// End a wait.
    fn wake(&self) {
        self.completed.wake();
    }

    /// Wait until there is a completed message or another reason to look, some seconds at most.
    ///
    /// Returns:
    ///     Whether there is a completed message.
    fn wait(&self, py: Python<'_>, #[pyo3(from_py_with = number::timeout)] timeout: f64) -> PyResult<bool> {
        let timeout = Duration::try_from_secs_f64(timeout).unwrap_or(Duration::MAX);
        wait_at_most(py, timeout, self.completed.wait())?;
        Ok(self.completed.has_some())
    }

    /// The number of messages whose reports were not served.
    fn __len__(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }
}

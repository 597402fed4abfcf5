//! `ReportQueue`: the messages of a producer of `ottla.compat.confluent_kafka` until their reports are served.
//!
//! Invariants: each message counts until its report is served; the reports of a partition come in the order of its
//! messages; callbacks run in `serve`, on the thread that calls it, and an exception of one leaves the later reports
//! queued.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ottla_client::producer::{AppendInfo, Delivery, ProduceResult, SendResult};
use parking_lot::{Mutex, RwLock};
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use tokio::sync::Notify;

use super::message::{Message, bytes_of};
use crate::convert::errors;
use crate::convert::number;
use crate::producer::delivery_groups::{
    DeliveryGroup, DeliveryGroups, GroupReceiver, RecordWaiter, SentRecord,
};
use crate::producer::record::{OwnedRecord, RecordArgs};
use crate::producer::serializers::Serializers;
use crate::producer::sync::Producer;
use crate::runtime::{wait_at_most, wait_for};

/// The completed messages, in the order of their reports.
#[derive(Default)]
struct Completed {
    groups: Mutex<VecDeque<DeliveryGroup>>,
    added: Notify,
    /// Whether a wait is to end although nothing is completed.
    woken: AtomicBool,
}

impl GroupReceiver for Completed {
    fn on_group_done(&self, mut group: DeliveryGroup) {
        // Taken from the end.
        group.waiters.reverse();
        self.groups.lock().push_back(group);
        self.added.notify_one();
    }
}

/// A report that is being served.
struct Report {
    produce_result: Arc<ProduceResult>,
    waiter: RecordWaiter,
}

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
    serializers: Serializers,
    count: AtomicUsize,
    created: Instant,
}

/// The arguments of `produce`.
pub(super) struct Produced<'a, 'py> {
    pub(super) topic: &'a str,
    pub(super) value: Option<&'a Bound<'py, PyAny>>,
    pub(super) key: Option<&'a Bound<'py, PyAny>>,
    pub(super) partition: i32,
    pub(super) timestamp: i64,
    pub(super) callback: Option<&'a Bound<'py, PyAny>>,
}

impl ReportQueue {
    /// Queues and sends a message without headers, unless it has to wait for its topic, is too large, or is refused:
    /// then it returns false.
    pub(super) fn try_put(&self, py: Python<'_>, produced: &Produced<'_, '_>) -> PyResult<bool> {
        let Produced { topic, value, key, partition, timestamp, callback } = *produced;
        if !self.open_topics.read().contains(topic) {
            return Ok(false);
        }
        let handle = self.producer.get().handle()?;
        let partition = (partition >= 0).then_some(partition);
        let writer = match handle.core.cached_topic_writer(topic) {
            Some(writer) if !writer.lacks_partition(partition) => writer,
            _ => return Ok(false),
        };
        let args =
            RecordArgs { topic, value, key, headers: None, timestamp: None, partition, on_delivery: None };
        let mut record = OwnedRecord::new(&args, &self.serializers)?;
        if timestamp > 0 {
            record.timestamp = timestamp;
        }
        if record.size() > self.max_size || handle.core.buffered_bytes() > self.max_bytes {
            return Ok(false);
        }
        self.reserve()?;
        match record.try_send(&handle.core, &writer, None) {
            Ok(SendResult::Accepted(delivery)) => {
                self.accepted(py, delivery, &args, record.timestamp, callback, self.now())?;
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
        args: &RecordArgs<'_, '_>,
        timestamp: i64,
        callback: Option<&Bound<'_, PyAny>>,
        produced_at: f64,
    ) -> PyResult<()> {
        let sent = |_| -> PyResult<Box<SentRecord>> {
            let (key, value) = (bytes_of(py, args.key)?, bytes_of(py, args.value)?);
            Ok(Box::new(SentRecord { key, value, at: produced_at }))
        };
        let sent = callback.map(sent).transpose()?;
        let waiters = (None, callback.map(|callback| callback.clone().unbind()));
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

    fn next_report(&self) -> Option<Report> {
        let mut groups = self.completed.groups.lock();
        loop {
            let group = groups.front_mut()?;
            if let Some(waiter) = group.waiters.pop() {
                return Some(Report { produce_result: Arc::clone(group.produce_result()), waiter });
            }
            groups.pop_front();
        }
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
        let (place, sent) = ((produce_result.partition(), written.offset, timestamp), *sent);
        let message = Message::reported(py, place, sent, error_in_message, latency)?;
        callback.call1(py, (error, message)).map(drop)
    }
}

fn full() -> PyErr {
    PyBufferError::new_err("Local: Queue full")
}

#[pymethods]
impl ReportQueue {
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
            serializers: Serializers::default(),
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
        let partition = (partition >= 0).then_some(partition);
        let args = RecordArgs { topic, value, key, headers, timestamp: None, partition, on_delivery: None };
        let mut record = OwnedRecord::new(&args, &self.serializers)?;
        if timestamp > 0 {
            record.timestamp = timestamp;
        }
        let deadline = handle.core.max_block_deadline();
        let writer = handle.topic_writer(py, topic, partition, || deadline)?;
        let attempt = |reservation| record.try_send(&handle.core, &writer, reservation);
        let delivery = wait_for(py, handle.core.append_when_free(Some(deadline), attempt))?;
        self.accepted(py, delivery, &args, record.timestamp, callback, produced_at)
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
        self.count.fetch_sub(count, Ordering::AcqRel);
    }

    /// Call the callbacks of the completed messages; return their number.
    ///
    /// Callbacks may produce: what completes meanwhile is for the next call.
    fn serve(&self, py: Python<'_>) -> PyResult<usize> {
        let (mut served, most) = (0, self.count.load(Ordering::Acquire));
        while served < most
            && let Some(report) = self.next_report()
        {
            self.forget(1);
            served += 1;
            self.report(py, report)?;
        }
        Ok(served)
    }

    /// End a wait.
    fn wake(&self) {
        self.completed.woken.store(true, Ordering::Release);
        self.completed.added.notify_one();
    }

    /// Wait until there is a completed message or ``wake`` is called, some seconds at most.
    fn wait(&self, py: Python<'_>, #[pyo3(from_py_with = number::timeout)] timeout: f64) -> PyResult<()> {
        let timeout = Duration::try_from_secs_f64(timeout).unwrap_or(Duration::MAX);
        let added = async {
            loop {
                let added = self.completed.added.notified();
                let is_woken = self.completed.woken.swap(false, Ordering::AcqRel);
                if is_woken || !self.completed.groups.lock().is_empty() {
                    return;
                }
                added.await;
            }
        };
        wait_at_most(py, timeout, added).map(drop)
    }

    /// The number of messages whose reports were not served.
    fn __len__(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }
}

//! `Message`: a record that was consumed or produced, or an error in the place of one, as confluent-kafka has it.
//!
//! Invariants: an accessor returns what the application or the client has set, whatever its type; numbers below zero
//! stand for "none" and are returned as None.

use ottla_client::consumer::{RecordEntry, RecordSet};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

use crate::consumer::record::header_pairs;
use crate::convert::field_bytes::bytes_or_none;
use crate::producer::delivery_groups::SentRecord;

/// The offset of a message that has none.
const NO_OFFSET: i64 = -1001;
/// The type of a timestamp that the producer has set.
const CREATE_TIME: i32 = 1;

/// A message: its accessors are methods, as in confluent-kafka.
///
/// An application checks ``error()`` before it reads anything else.
///
/// Args:
///     topic: the topic.
///     partition: the partition.
///     offset: the offset.
///     key: the key.
///     value: the value.
///     headers: pairs of a name and a value.
///     error: the error, if the message is none.
///     timestamp: the type and the milliseconds since 1970.
///     latency: seconds between ``produce()`` and the acknowledgement.
///     leader_epoch: the leader epoch of the record.
///     delivery_count: how often a share group has delivered the record.
#[pyclass(subclass, module = "ottla.compat.confluent_kafka")]
pub(crate) struct Message {
    topic: Py<PyAny>,
    partition: i32,
    offset: i64,
    key: Py<PyAny>,
    value: Py<PyAny>,
    headers: Py<PyAny>,
    error: Py<PyAny>,
    timestamp: (i32, i64),
    latency: f64,
    leader_epoch: i32,
    delivery_count: i16,
}

type Fields<'py> = (
    Bound<'py, PyAny>,
    i32,
    i64,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    (i32, i64),
    f64,
    i32,
    i16,
);

impl Message {
    /// A consumed record as a message.
    pub(super) fn consumed(
        topic: &Bound<'_, PyString>,
        set: &RecordSet,
        entry: &RecordEntry,
        delivery_count: Option<i16>,
    ) -> PyResult<Py<Self>> {
        let py = topic.py();
        let timestamp_type = set.timestamp_type.id();
        let timestamp = if timestamp_type >= 0 { (timestamp_type + 1, entry.timestamp) } else { (0, -1) };
        let message = Self {
            topic: topic.clone().into_any().unbind(),
            partition: set.partition.1,
            offset: entry.offset,
            key: bytes_or_none(py, set.key(entry)),
            value: bytes_or_none(py, set.value(entry)),
            headers: match header_pairs(py, set, entry) {
                Some(pairs) => PyList::new(py, pairs)?.into_any().unbind(),
                None => py.None(),
            },
            error: py.None(),
            timestamp,
            latency: -1.0,
            leader_epoch: set.leader_epoch,
            delivery_count: delivery_count.unwrap_or(-1),
        };
        Py::new(py, message)
    }

    /// A message that was produced, as its report shows it: its place and timestamp, its key and value, its error,
    /// and the seconds until the acknowledgement.
    pub(super) fn reported(
        (topic, partition, offset, timestamp): (Bound<'_, PyString>, i32, i64, i64),
        SentRecord { key, value, .. }: SentRecord,
        error: Option<Py<PyAny>>,
        latency: f64,
    ) -> PyResult<Py<Self>> {
        let py = topic.py();
        let message = Self {
            topic: topic.into_any().unbind(),
            partition,
            offset: if offset >= 0 { offset } else { NO_OFFSET },
            key,
            value,
            headers: py.None(),
            error: or_none(error, py),
            timestamp: (CREATE_TIME, timestamp),
            latency,
            leader_epoch: -1,
            delivery_count: -1,
        };
        Py::new(py, message)
    }

    fn fields<'py>(&self, py: Python<'py>) -> Fields<'py> {
        let object = |object: &Py<PyAny>| object.bind(py).clone();
        (
            object(&self.topic),
            self.partition,
            self.offset,
            object(&self.key),
            object(&self.value),
            object(&self.headers),
            object(&self.error),
            self.timestamp,
            self.latency,
            self.leader_epoch,
            self.delivery_count,
        )
    }
}

fn or_none(object: Option<Py<PyAny>>, py: Python<'_>) -> Py<PyAny> {
    object.unwrap_or_else(|| py.None())
}

#[pymethods]
impl Message {
    /// A subclass may have another `__init__`, so that this one takes anything.
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(
        py: Python<'_>,
        _args: &Bound<'_, pyo3::types::PyTuple>,
        _kwargs: Option<&Bound<'_, pyo3::types::PyDict>>,
    ) -> Self {
        Self {
            topic: py.None(),
            partition: 0,
            offset: 0,
            key: py.None(),
            value: py.None(),
            headers: py.None(),
            error: py.None(),
            timestamp: (0, 0),
            latency: 0.0,
            leader_epoch: 0,
            delivery_count: 0,
        }
    }

    #[pyo3(signature = (topic=None, partition=-1, offset=NO_OFFSET, key=None, value=None, headers=None, error=None, timestamp=None, latency=-1.0, leader_epoch=-1, delivery_count=-1))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn __init__(
        &mut self,
        py: Python<'_>,
        topic: Option<Py<PyAny>>,
        partition: i32,
        offset: i64,
        key: Option<Py<PyAny>>,
        value: Option<Py<PyAny>>,
        headers: Option<Py<PyAny>>,
        error: Option<Py<PyAny>>,
        timestamp: Option<(i32, i64)>,
        latency: f64,
        leader_epoch: i32,
        delivery_count: i16,
    ) {
        self.topic = or_none(topic, py);
        self.partition = partition.max(-1);
        self.offset = if offset >= 0 { offset } else { NO_OFFSET };
        self.key = or_none(key, py);
        self.value = or_none(value, py);
        self.headers = or_none(headers, py);
        self.error = or_none(error, py);
        self.timestamp = timestamp.unwrap_or_default();
        self.latency = if latency >= 0.0 { latency } else { -1.0 };
        self.leader_epoch = leader_epoch.max(-1);
        self.delivery_count = if delivery_count > 0 { delivery_count } else { -1 };
    }

    /// Return the topic, or None.
    fn topic(&self, py: Python<'_>) -> Py<PyAny> {
        self.topic.clone_ref(py)
    }

    /// Return the partition, or None.
    fn partition(&self) -> Option<i32> {
        (self.partition >= 0).then_some(self.partition)
    }

    /// Return the offset, or None.
    fn offset(&self) -> Option<i64> {
        (self.offset >= 0).then_some(self.offset)
    }

    /// Return the key: bytes, what a deserializer made of it, or None.
    fn key(&self, py: Python<'_>) -> Py<PyAny> {
        self.key.clone_ref(py)
    }

    /// Return the value: bytes, what a deserializer made of it, or None.
    fn value(&self, py: Python<'_>) -> Py<PyAny> {
        self.value.clone_ref(py)
    }

    /// Return the key, as ``key()`` does.
    fn deserialized_key(&self, py: Python<'_>) -> Py<PyAny> {
        self.key(py)
    }

    /// Return the value, as ``value()`` does.
    fn deserialized_value(&self, py: Python<'_>) -> Py<PyAny> {
        self.value(py)
    }

    /// Return the headers as a list of pairs, or None if there are none.
    fn headers(&self, py: Python<'_>) -> Py<PyAny> {
        self.headers.clone_ref(py)
    }

    /// Return the error, or None for a proper message.
    fn error(&self, py: Python<'_>) -> Py<PyAny> {
        self.error.clone_ref(py)
    }

    /// Return the type of the timestamp and the milliseconds since 1970.
    const fn timestamp(&self) -> (i32, i64) {
        self.timestamp
    }

    /// Return the seconds between ``produce()`` and the acknowledgement, or None.
    fn latency(&self) -> Option<f64> {
        (self.latency >= 0.0).then_some(self.latency)
    }

    /// Return the leader epoch, or None.
    fn leader_epoch(&self) -> Option<i32> {
        (self.leader_epoch >= 0).then_some(self.leader_epoch)
    }

    /// Return how often the share group has delivered the record, or None.
    fn delivery_count(&self) -> Option<i16> {
        (self.delivery_count > 0).then_some(self.delivery_count)
    }

    /// Set what ``topic()`` returns.
    fn set_topic(&mut self, topic: Py<PyAny>) {
        self.topic = topic;
    }

    /// Set what ``key()`` returns.
    fn set_key(&mut self, key: Py<PyAny>) {
        self.key = key;
    }

    /// Set what ``value()`` returns.
    fn set_value(&mut self, value: Py<PyAny>) {
        self.value = value;
    }

    /// Set what ``headers()`` returns.
    fn set_headers(&mut self, headers: Py<PyAny>) {
        self.headers = headers;
    }

    /// Set what ``error()`` returns.
    fn set_error(&mut self, error: Py<PyAny>) {
        self.error = error;
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let value = self.value.bind(py);
        match value.cast::<PyBytes>() {
            Ok(bytes) => Ok(bytes.as_bytes().len()),
            Err(_) if value.is_none() => Ok(0),
            Err(_) => value.len(),
        }
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let py = other.py();
        let Ok(other) = other.cast::<Self>() else { return Ok(py.NotImplemented()) };
        let (own, others) =
            (self.fields(py).into_pyobject(py)?, other.borrow().fields(py).into_pyobject(py)?);
        Ok(own.eq(others)?.into_pyobject(py)?.to_owned().into_any().unbind())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, pyo3::types::PyType>, Fields<'py>) {
        (py.get_type::<Self>(), self.fields(py))
    }
}

//! `Record`: a consumed record as a Python object.
//!
//! Invariant: it owns its key and value, so that keeping a record keeps no fetch buffer alive.

use std::borrow::Cow;

use ottla_client::TopicPartition;
use ottla_client::consumer::{RecordEntry, RecordSet};
use ottla_client::group_offsets::CommittedOffset;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use super::deserializers::{Deserializers, RecordContext};
use crate::convert::field_bytes::bytes_or_none;
use crate::convert::names::items;
use crate::convert::notebook;
use crate::convert::number;

/// A consumed record. It refers to no buffer of the consumer.
///
/// Args:
///     topic: the topic.
///     partition: the partition.
///     offset: the record's offset.
///     timestamp: milliseconds since 1970. Default: -1, none.
///     timestamp_type: 0 if the producer set the timestamp, 1 if the broker did, -1 if there is
///         none. Default: 0.
///     key: bytes, or the result of ``key_deserializer``. Default: None, no key.
///     value: bytes, or the result of ``value_deserializer``. Default: None, a tombstone.
///     headers: pairs of a name and a value. Default: none.
///     leader_epoch: the epoch of the leader that appended the record. Default: -1, unknown.
///     delivery_count: how often a share group has delivered the record. Default: None.
#[pyclass(frozen, get_all, generic, module = "ottla")]
pub(crate) struct Record {
    /// The topic that the record was read from.
    pub(crate) topic: Py<PyString>,
    /// The number of the partition that the record was read from.
    pub(crate) partition: i32,
    /// The record's offset in its partition.
    pub(crate) offset: i64,
    /// The record's timestamp in milliseconds since 1970; -1 if it has none.
    pub(crate) timestamp: i64,
    /// 0 for CreateTime, set by the producer; 1 for LogAppendTime, by the broker; -1: none.
    pub(crate) timestamp_type: i32,
    /// The key as bytes, or the result of ``key_deserializer``; None if the record has none.
    pub(crate) key: Py<PyAny>,
    /// The value as bytes, or the result of ``value_deserializer``; None for a tombstone.
    pub(crate) value: Py<PyAny>,
    /// The headers as pairs of a name and a value; a name may occur more than once.
    pub(crate) headers: Py<PyTuple>,
    /// The epoch of the leader that appended the record (KIP-320); -1 if unknown.
    pub(crate) leader_epoch: i32,
    /// How often a share group has delivered the record; None if read without one.
    pub(crate) delivery_count: Option<i16>,
}

impl Record {
    pub(super) fn new(
        topic: &Bound<'_, PyString>,
        set: &RecordSet,
        entry: &RecordEntry,
        deserializers: &Deserializers,
        delivery_count: Option<i16>,
    ) -> PyResult<Py<Self>> {
        let py = topic.py();
        let headers = headers(py, set, entry)?;
        let (key, value) = if deserializers.is_empty() {
            (bytes_or_none(py, set.key(entry)), bytes_or_none(py, set.value(entry)))
        } else {
            let context =
                RecordContext { topic, partition: set.partition.1, offset: entry.offset, headers: &headers };
            deserializers.convert(&context, set, entry)?
        };
        let record = Self {
            topic: topic.clone().unbind(),
            partition: set.partition.1,
            offset: entry.offset,
            timestamp: entry.timestamp,
            timestamp_type: set.timestamp_type.id(),
            key,
            value,
            headers: headers.unbind(),
            leader_epoch: set.leader_epoch,
            delivery_count,
        };
        Py::new(py, record)
    }
}

impl Record {
    /// Returns the partition and the offset.
    pub(super) fn location(&self, py: Python<'_>) -> PyResult<(TopicPartition, i64)> {
        Ok(((self.topic.bind(py).to_str()?.into(), self.partition), self.offset))
    }

    /// Returns the position to commit once the record is processed: the next offset, in its leader's epoch.
    pub(super) fn position_after(&self, py: Python<'_>) -> PyResult<(TopicPartition, CommittedOffset)> {
        let (partition, offset) = self.location(py)?;
        let leader_epoch = (self.leader_epoch >= 0).then_some(self.leader_epoch);
        let offset = offset.saturating_add(1);
        Ok((partition, CommittedOffset { offset, leader_epoch, ..CommittedOffset::default() }))
    }
}

/// Returns headers as pairs of a name and a value, or `None` if there are none. As in Java, invalid UTF-8 in a name is
/// replaced.
pub(crate) fn header_pairs<'a>(
    py: Python<'_>,
    set: &'a RecordSet,
    entry: &'a RecordEntry,
) -> Option<Vec<(Cow<'a, str>, Py<PyAny>)>> {
    let mut headers = set.headers(entry).peekable();
    headers.peek()?;
    Some(headers.map(|(name, value)| (String::from_utf8_lossy(name), bytes_or_none(py, value))).collect())
}

fn headers<'py>(py: Python<'py>, set: &RecordSet, entry: &RecordEntry) -> PyResult<Bound<'py, PyTuple>> {
    match header_pairs(py, set, entry) {
        Some(pairs) => PyTuple::new(py, pairs),
        None => Ok(PyTuple::empty(py)),
    }
}

#[pymethods]
impl Record {
    #[new]
    #[pyo3(signature = (topic, partition, offset, *, timestamp=-1, timestamp_type=0, key=None, value=None, headers=None, leader_epoch=-1, delivery_count=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn py_new(
        py: Python<'_>,
        topic: Py<PyString>,
        #[pyo3(from_py_with = number::partition)] partition: i32,
        #[pyo3(from_py_with = number::offset)] offset: i64,
        #[pyo3(from_py_with = number::timestamp)] timestamp: i64,
        #[pyo3(from_py_with = number::timestamp_type)] timestamp_type: i32,
        key: Option<Py<PyAny>>,
        value: Option<Py<PyAny>>,
        headers: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = number::leader_epoch)] leader_epoch: i32,
        #[pyo3(from_py_with = number::delivery_count)] delivery_count: Option<i16>,
    ) -> PyResult<Self> {
        let none = |object: Option<Py<PyAny>>| object.unwrap_or_else(|| py.None());
        let headers = match headers {
            Some(headers) => {
                let pairs = items(headers, "headers", |name| format!("[({name}, b\"value\")]"))?;
                PyTuple::new(py, pairs.collect::<PyResult<Vec<_>>>()?)?
            }
            None => PyTuple::empty(py),
        };
        let (key, value, headers) = (none(key), none(value), headers.unbind());
        Ok(Self {
            topic,
            partition,
            offset,
            timestamp,
            timestamp_type,
            key,
            value,
            headers,
            leader_epoch,
            delivery_count,
        })
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = other.py();
        let Ok(other) = other.cast::<Self>() else { return Ok(false) };
        let other = other.get();
        let same = |a: &Py<PyAny>, b: &Py<PyAny>| a.bind(py).eq(b.bind(py));
        Ok((
            self.partition,
            self.offset,
            self.timestamp,
            self.timestamp_type,
            self.leader_epoch,
            self.delivery_count,
        ) == (
            other.partition,
            other.offset,
            other.timestamp,
            other.timestamp_type,
            other.leader_epoch,
            other.delivery_count,
        ) && self.topic.bind(py).as_any().eq(other.topic.bind(py))?
            && same(&self.key, &other.key)?
            && same(&self.value, &other.value)?
            && self.headers.bind(py).eq(other.headers.bind(py))?)
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        (self.topic.bind(py), self.partition, self.offset).into_pyobject(py)?.hash()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        // Pickle passes positional arguments only; `partial` holds the keyword arguments.
        let fields = pyo3::types::PyDict::new(py);
        fields.set_item("timestamp", self.timestamp)?;
        fields.set_item("timestamp_type", self.timestamp_type)?;
        fields.set_item("key", &self.key)?;
        fields.set_item("value", &self.value)?;
        fields.set_item("headers", &self.headers)?;
        fields.set_item("leader_epoch", self.leader_epoch)?;
        fields.set_item("delivery_count", self.delivery_count)?;
        let make =
            py.import("functools")?.getattr("partial")?.call((py.get_type::<Self>(),), Some(&fields))?;
        Ok((make, (&self.topic, self.partition, self.offset)).into_pyobject(py)?.into_any())
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        notebook::html(slf.py(), "record_html", (slf,))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let show = |object: &Py<PyAny>| object.bind(py).repr().map(|shown| shown.to_string());
        let delivery_count = self.delivery_count.map(|count| format!(", delivery_count={count}"));
        Ok(format!(
            "Record(topic={}, partition={}, offset={}, timestamp={}, timestamp_type={}, key={}, value={}, headers={}, leader_epoch={}{})",
            self.topic.bind(py).repr()?,
            self.partition,
            self.offset,
            self.timestamp,
            self.timestamp_type,
            show(&self.key)?,
            show(&self.value)?,
            self.headers.bind(py).repr()?,
            self.leader_epoch,
            delivery_count.unwrap_or_default()
        ))
    }
}

//! `ConsumerRecord`: a consumed record as aiokafka has it.
//!
//! Invariant: the fields, their order and the equality are those of aiokafka's data class; they may be set.

use ottla_client::consumer::{RecordEntry, RecordSet};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use crate::consumer::record::headers;
use crate::convert::field_bytes::bytes_or_none;

const FIELDS: [&str; 11] = [
    "topic",
    "partition",
    "offset",
    "timestamp",
    "timestamp_type",
    "key",
    "value",
    "checksum",
    "serialized_key_size",
    "serialized_value_size",
    "headers",
];

/// A record that was read.
///
/// Args:
///     topic: the topic.
///     partition: the partition.
///     offset: the offset.
///     timestamp: milliseconds since 1970.
///     timestamp_type: 0 if the producer set it, 1 if the broker did.
///     key: the key, or what a deserializer made of it.
///     value: the value, or what a deserializer made of it.
///     checksum: always None for records of today's format.
///     serialized_key_size: the number of bytes of the key; -1 for null.
///     serialized_value_size: the number of bytes of the value; -1 for null.
///     headers: pairs of a name and a value.
#[pyclass(subclass, get_all, set_all, generic, module = "ottla.compat.aiokafka.structs")]
pub(crate) struct ConsumerRecord {
    /// The topic.
    topic: Py<PyAny>,
    /// The partition.
    partition: i32,
    /// The offset.
    offset: i64,
    /// Milliseconds since 1970.
    timestamp: i64,
    /// 0 if the producer set the timestamp, 1 if the broker did.
    timestamp_type: i32,
    /// The key, or what a deserializer made of it.
    key: Py<PyAny>,
    /// The value, or what a deserializer made of it.
    value: Py<PyAny>,
    /// None for records of today's format.
    checksum: Option<i64>,
    /// The number of bytes of the key; -1 for null.
    serialized_key_size: i64,
    /// The number of bytes of the value; -1 for null.
    serialized_value_size: i64,
    /// Pairs of a name and a value.
    headers: Py<PyAny>,
}

impl ConsumerRecord {
    pub(super) fn new(
        topic: &Bound<'_, PyString>,
        set: &RecordSet,
        entry: &RecordEntry,
    ) -> PyResult<Py<Self>> {
        let py = topic.py();
        let size =
            |data: Option<&[u8]>| data.map_or(-1, |data| i64::try_from(data.len()).unwrap_or(i64::MAX));
        let (key, value) = (set.key(entry), set.value(entry));
        let record = Self {
            topic: topic.clone().into_any().unbind(),
            partition: set.partition.1,
            offset: entry.offset,
            timestamp: entry.timestamp,
            timestamp_type: set.timestamp_type.id(),
            key: bytes_or_none(py, key),
            value: bytes_or_none(py, value),
            checksum: None,
            serialized_key_size: size(key),
            serialized_value_size: size(value),
            headers: headers(py, set, entry)?.into_any().unbind(),
        };
        Py::new(py, record)
    }

    /// The fields in their order.
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        (
            self.topic.bind(py),
            self.partition,
            self.offset,
            self.timestamp,
            self.timestamp_type,
            self.key.bind(py),
            self.value.bind(py),
            self.checksum,
            self.serialized_key_size,
            self.serialized_value_size,
            self.headers.bind(py),
        )
            .into_pyobject(py)
    }
}

#[pymethods]
impl ConsumerRecord {
    /// The names of the fields, in their order.
    #[classattr]
    #[pyo3(name = "__match_args__")]
    fn match_args(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
        PyTuple::new(py, FIELDS)
    }

    #[classattr]
    #[pyo3(name = "__hash__")]
    const HASH: Option<Py<PyAny>> = None;

    #[new]
    #[expect(clippy::too_many_arguments, reason = "arguments of Python")]
    const fn py_new(
        topic: Py<PyAny>,
        partition: i32,
        offset: i64,
        timestamp: i64,
        timestamp_type: i32,
        key: Py<PyAny>,
        value: Py<PyAny>,
        checksum: Option<i64>,
        serialized_key_size: i64,
        serialized_value_size: i64,
        headers: Py<PyAny>,
    ) -> Self {
        Self {
            topic,
            partition,
            offset,
            timestamp,
            timestamp_type,
            key,
            value,
            checksum,
            serialized_key_size,
            serialized_value_size,
            headers,
        }
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let py = other.py();
        let Ok(other) = other.cast::<Self>() else { return Ok(py.NotImplemented()) };
        let others = other.borrow().fields(py)?;
        Ok(self.fields(py)?.eq(others)?.into_pyobject(py)?.to_owned().into_any().unbind())
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, pyo3::types::PyType>, Bound<'py, PyTuple>)> {
        Ok((py.get_type::<Self>(), self.fields(py)?))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let mut shown = Vec::new();
        for (name, field) in FIELDS.iter().zip(self.fields(py)?) {
            shown.push(format!("{name}={}", field.repr()?));
        }
        Ok(format!("ConsumerRecord({})", shown.join(", ")))
    }
}

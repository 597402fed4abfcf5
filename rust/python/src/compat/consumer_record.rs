//! `ConsumerRecord`: a consumed record as aiokafka has it.
//!
//! Invariant: the fields, their order and the equality are those of aiokafka's data class; they may be set.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use crate::consumer::Record;

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
    /// A record whose key and value are bytes or None.
    fn of(py: Python<'_>, record: &Record) -> PyResult<Py<Self>> {
        let size = |data: &Py<PyAny>| match data.bind(py).cast::<PyBytes>() {
            Ok(bytes) => i64::try_from(bytes.as_bytes().len()).unwrap_or(i64::MAX),
            Err(_) => -1,
        };
        let record = Self {
            topic: record.topic.clone_ref(py).into_any(),
            partition: record.partition,
            offset: record.offset,
            timestamp: record.timestamp,
            timestamp_type: record.timestamp_type,
            serialized_key_size: size(&record.key),
            serialized_value_size: size(&record.value),
            key: record.key.clone_ref(py),
            value: record.value.clone_ref(py),
            checksum: None,
            headers: record.headers.clone_ref(py).into_any(),
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

/// Consecutive records of a partition: topic, number and records.
type Run<'py> = (Bound<'py, PyString>, i32, Bound<'py, PyList>);

/// Return polled records as runs of one partition: topic, number and records.
///
/// Args:
///     records: the records, whose keys and values are bytes.
#[pyfunction]
pub(crate) fn consumer_records<'py>(
    py: Python<'py>,
    records: &Bound<'py, PyList>,
) -> PyResult<Vec<Run<'py>>> {
    let mut runs = Vec::new();
    let mut run: Vec<Py<ConsumerRecord>> = Vec::new();
    let mut records = records.iter().peekable();
    while let Some(record) = records.next() {
        let record = record.cast_into::<Record>()?;
        let record = record.get();
        run.push(ConsumerRecord::of(py, record)?);
        // Records of a partition follow each other, and share the string of their topic.
        let continues = match records.peek() {
            Some(next) => {
                let next = next.cast::<Record>()?.get();
                next.partition == record.partition && next.topic.is(&record.topic)
            }
            None => false,
        };
        if !continues {
            let whole = PyList::new(py, std::mem::take(&mut run))?;
            runs.push((record.topic.bind(py).clone(), record.partition, whole));
        }
    }
    Ok(runs)
}

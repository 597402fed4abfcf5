//! Arguments and results of ListOffsets: offsets by position in the log or by timestamp.

use std::collections::HashMap;
use std::sync::Arc;

use ottla_client::config::IsolationLevel;
use ottla_client::{Client, OffsetSpec, TopicPartition};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

use crate::convert::datetime;
use crate::convert::errors;
use crate::convert::mapping;
use crate::convert::number::{self, Integer};

/// The offset and timestamp of a record, as ListOffsets returns them.
///
/// Args:
///     offset: the offset; -1 if no record matches.
///     timestamp: the record's timestamp in milliseconds since 1970; -1 if unknown.
///     leader_epoch: the leader epoch of the record. Default: -1, unknown.
#[pyclass(frozen, get_all, eq, hash, module = "ottla")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct OffsetAndTimestamp {
    /// The offset; -1 if no record matches.
    pub(crate) offset: i64,
    /// The record's timestamp in milliseconds since 1970; -1 if unknown.
    pub(crate) timestamp: i64,
    /// The leader epoch of the record; -1 if unknown.
    pub(crate) leader_epoch: i32,
}

#[pymethods]
impl OffsetAndTimestamp {
    #[new]
    #[pyo3(signature = (offset, timestamp, leader_epoch=-1))]
    fn new(
        #[pyo3(from_py_with = number::offset)] offset: i64,
        #[pyo3(from_py_with = number::timestamp)] timestamp: i64,
        #[pyo3(from_py_with = number::leader_epoch)] leader_epoch: i32,
    ) -> Self {
        Self { offset, timestamp, leader_epoch }
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyType>, (i64, i64, i32)) {
        (py.get_type::<Self>(), (self.offset, self.timestamp, self.leader_epoch))
    }

    fn __repr__(&self) -> String {
        format!(
            "OffsetAndTimestamp(offset={}, timestamp={}, leader_epoch={})",
            self.offset, self.timestamp, self.leader_epoch
        )
    }
}

/// Converts a mapping of partitions to offset specs; `name` is the argument's name.
pub(crate) fn specs(argument: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<(TopicPartition, OffsetSpec)>> {
    let mut names: HashMap<String, Arc<str>> = HashMap::new();
    let mut specs = Vec::new();
    for (key, value) in mapping::items(argument, name, "{(\"topic\", 0): 1700000000000}")? {
        let (topic, partition) = pair(&key)?;
        let topic = names.entry(topic).or_insert_with_key(|name| name.as_str().into());
        specs.push(((Arc::clone(topic), partition), spec(&value, name)?));
    }
    Ok(specs)
}

/// Converts a `(topic, partition)`.
pub(crate) fn pair(argument: &Bound<'_, PyAny>) -> PyResult<(String, i32)> {
    let (topic, Integer(partition)): (String, Integer<i32>) = argument.extract().map_err(|_| {
        let shown = argument.repr().map_or_else(|_| "it".to_owned(), |shown| shown.to_string());
        let message = format!("{shown} is not a partition: expected (topic, partition)");
        errors::argument_type(argument.py(), message)
    })?;
    Ok((topic, partition))
}

fn spec(value: &Bound<'_, PyAny>, name: &str) -> PyResult<OffsetSpec> {
    if let Ok(name) = value.extract::<String>() {
        return match name.as_str() {
            "earliest" => Ok(OffsetSpec::Earliest),
            "latest" => Ok(OffsetSpec::Latest),
            "max_timestamp" => Ok(OffsetSpec::MaxTimestamp),
            _ => Err(invalid_spec(value)),
        };
    }
    if let Some(millis) = datetime::millis("offset", value)? {
        return Ok(OffsetSpec::Timestamp(millis));
    }
    if number::is_bool(value)? {
        return Err(errors::argument_type(value.py(), format!("{name}: {}", spec_message(value))));
    }
    match value.extract() {
        Ok(millis @ 0..) => Ok(OffsetSpec::Timestamp(millis)),
        _ => Err(invalid_spec(value)),
    }
}

fn spec_message(value: &Bound<'_, PyAny>) -> String {
    format!(
        "offset {value}: expected 'earliest', 'latest', 'max_timestamp', milliseconds since 1970 or a datetime"
    )
}

fn invalid_spec(value: &Bound<'_, PyAny>) -> PyErr {
    errors::config(value.py(), spec_message(value))
}

/// Returns offsets as a dict by `(topic, partition)`, in order.
pub(crate) fn to_dict<'py>(
    py: Python<'py>,
    offsets: HashMap<TopicPartition, ottla_client::ListedOffset>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut offsets: Vec<_> = offsets.into_iter().collect();
    offsets.sort_by(|a, b| a.0.cmp(&b.0));
    let dict = PyDict::new(py);
    for ((topic, partition), listed) in offsets {
        let value = OffsetAndTimestamp {
            offset: listed.offset,
            timestamp: listed.timestamp,
            leader_epoch: listed.leader_epoch,
        };
        dict.set_item((&*topic, partition), Py::new(py, value)?)?;
    }
    Ok(dict)
}

/// Returns whether an isolation level, by Kafka's name, is `read_committed`. Default: the client's
/// `isolation.level`.
pub(crate) fn read_committed(py: Python<'_>, client: &Client, level: Option<&str>) -> PyResult<bool> {
    match level {
        None => Ok(client.config().isolation_level == IsolationLevel::ReadCommitted),
        Some("read_committed") => Ok(true),
        Some("read_uncommitted") => Ok(false),
        Some(level) => {
            let message = format!("isolation.level={level:?}: expected read_uncommitted or read_committed");
            Err(errors::config(py, message))
        }
    }
}

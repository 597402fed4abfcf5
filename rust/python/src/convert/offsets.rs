//! Arguments and results of ListOffsets: offsets by position in the log or by timestamp.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ottla_client::config::IsolationLevel;
use ottla_client::{Client, ListedOffset, OffsetSpec, Result, TopicPartition};
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::convert::datetime;
use crate::convert::errors;
use crate::convert::item_errors::ItemErrors;
use crate::convert::mapping;
use crate::convert::number::{self, Integer};

/// The offset and timestamp of a record, as ListOffsets returns them.
///
/// Args:
///     offset: the offset; None if no record matches.
///     timestamp: the record's timestamp in milliseconds since 1970. Default: None, unknown.
///     leader_epoch: the leader epoch of the record. Default: None, unknown.
#[pyclass(frozen, get_all, eq, hash, module = "ottla")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct OffsetAndTimestamp {
    /// The offset; None if no record matches.
    offset: Option<i64>,
    /// The record's timestamp in ms since 1970; None if it was not looked up by time.
    timestamp: Option<i64>,
    /// The leader epoch of the record; None if unknown.
    leader_epoch: Option<i32>,
}

impl From<ListedOffset> for OffsetAndTimestamp {
    fn from(listed: ListedOffset) -> Self {
        Self {
            offset: Some(listed.offset).filter(|offset| *offset >= 0),
            timestamp: Some(listed.timestamp).filter(|timestamp| *timestamp >= 0),
            leader_epoch: Some(listed.leader_epoch).filter(|epoch| *epoch >= 0),
        }
    }
}

#[pymethods]
impl OffsetAndTimestamp {
    #[new]
    #[pyo3(signature = (offset, timestamp=None, leader_epoch=None))]
    fn new(
        #[pyo3(from_py_with = number::offset)] offset: Option<i64>,
        #[pyo3(from_py_with = number::timestamp)] timestamp: Option<i64>,
        #[pyo3(from_py_with = number::leader_epoch)] leader_epoch: Option<i32>,
    ) -> Self {
        Self { offset, timestamp, leader_epoch }
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> (Bound<'py, PyType>, (Option<i64>, Option<i64>, Option<i32>)) {
        (py.get_type::<Self>(), (self.offset, self.timestamp, self.leader_epoch))
    }

    fn __repr__(&self) -> String {
        let shown =
            |number: Option<i64>| number.map_or_else(|| "None".to_owned(), |number| number.to_string());
        format!(
            "OffsetAndTimestamp(offset={}, timestamp={}, leader_epoch={})",
            shown(self.offset),
            shown(self.timestamp),
            shown(self.leader_epoch.map(i64::from))
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
    if let Ok(named) = value.extract::<String>() {
        let known = OffsetSpec::NAMED.into_iter().find(|spec| spec.name() == Some(&named));
        return known.ok_or_else(|| invalid_spec(value));
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
    let names: Vec<String> =
        OffsetSpec::NAMED.into_iter().filter_map(|spec| Some(format!("'{}'", spec.name()?))).collect();
    format!("offset {value}: expected {}, milliseconds since 1970 or a datetime", names.join(", "))
}

fn invalid_spec(value: &Bound<'_, PyAny>) -> PyErr {
    errors::config(value.py(), spec_message(value))
}

/// Converts offsets by `(topic, partition)`, in order.
pub(crate) fn to_dict(
    py: Python<'_>,
    offsets: BTreeMap<TopicPartition, Result<ListedOffset>>,
    errors: ItemErrors,
) -> PyResult<Py<PyAny>> {
    let offsets =
        offsets.into_iter().map(|((topic, partition), listed)| ((topic.to_string(), partition), listed));
    errors.to_dict(py, offsets, |py, listed| Ok(Py::new(py, OffsetAndTimestamp::from(listed))?.into_any()))
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

//! `RecordMetadata`: where a record was written.

use crate::convert::number;
use std::sync::Arc;

use ottla_client::producer::{AppendInfo, ProduceResult};
use pyo3::prelude::*;
use pyo3::types::PyType;

/// The place where a record was written.
///
/// Args:
///     topic: the topic.
///     partition: the partition; -1 if none was chosen.
///     offset: the offset; None if it is unknown, as with ``acks=0``.
///     timestamp: milliseconds since 1970.
#[pyclass(frozen, eq, hash, module = "ottla")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct RecordMetadata {
    topic: Arc<str>,
    /// The partition; -1 for a record that failed before one was chosen.
    #[pyo3(get)]
    partition: i32,
    /// The record's offset; None with ``acks=0`` and for a record that failed.
    #[pyo3(get)]
    offset: Option<i64>,
    /// Milliseconds since 1970: the record's, or the broker's with ``LogAppendTime``.
    #[pyo3(get)]
    timestamp: i64,
}

impl RecordMetadata {
    /// The metadata of a record in a batch.
    pub(crate) fn new(produce_result: &ProduceResult, written: AppendInfo, timestamp: i64) -> Self {
        let (topic, partition) = produce_result.partition();
        Self {
            topic: Arc::clone(topic),
            partition: *partition,
            offset: (written.offset >= 0).then_some(written.offset),
            timestamp: if written.log_append_time >= 0 { written.log_append_time } else { timestamp },
        }
    }

    /// The metadata of a record that was never in a batch; its partition is -1 if none was
    /// chosen.
    pub(crate) fn unsent(topic: &Arc<str>, partition: Option<i32>, timestamp: i64) -> Self {
        Self { topic: Arc::clone(topic), partition: partition.unwrap_or(-1), offset: None, timestamp }
    }
}

#[pymethods]
impl RecordMetadata {
    #[new]
    #[pyo3(signature = (topic, partition, offset, timestamp))]
    fn py_new(
        topic: &str,
        #[pyo3(from_py_with = number::partition)] partition: i32,
        #[pyo3(from_py_with = number::offset)] offset: Option<i64>,
        #[pyo3(from_py_with = number::timestamp)] timestamp: i64,
    ) -> Self {
        Self { topic: topic.into(), partition, offset, timestamp }
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyType>, (&str, i32, Option<i64>, i64)) {
        (py.get_type::<Self>(), (&self.topic, self.partition, self.offset, self.timestamp))
    }

    /// The record's topic.
    #[getter]
    fn topic(&self) -> &str {
        &self.topic
    }

    fn __repr__(&self) -> String {
        let offset = self.offset.map_or("None".to_owned(), |offset| offset.to_string());
        format!(
            "RecordMetadata(topic={:?}, partition={}, offset={offset}, timestamp={})",
            self.topic, self.partition, self.timestamp
        )
    }
}

//! `RecordReader`: takes a consumer's records as `ConsumerRecord`s of aiokafka, one by one or in runs of a partition.
//!
//! Invariant: it waits for nothing; a record that is returned is delivered, whatever becomes of it.

use ottla_client::TopicPartition;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use super::consumer_record::ConsumerRecord;
use crate::consumer::AsyncConsumerBase;
use crate::consumer::consumer_handle::convert_error;
use crate::convert::last_topic::LastTopic;
use crate::convert::number;

/// Consecutive records of a partition: topic, number and records.
type Run<'py> = (Bound<'py, PyString>, i32, Bound<'py, PyList>);

/// Takes the records of a consumer, which has neither deserializers nor interceptors.
///
/// Args:
///     consumer: the consumer.
#[pyclass(frozen, module = "ottla._core")]
pub(crate) struct RecordReader(Py<AsyncConsumerBase>);

#[pymethods]
impl RecordReader {
    #[new]
    const fn new(consumer: Py<AsyncConsumerBase>) -> Self {
        Self(consumer)
    }

    /// Return the next record, or None if none is buffered.
    ///
    /// Raises:
    ///     ClosedError: the consumer was closed.
    fn pop(&self, py: Python<'_>) -> PyResult<Option<Py<ConsumerRecord>>> {
        let handle = self.0.bind(py).as_super().get().handle()?;
        handle
            .core
            .pop_record(|set, entry| ConsumerRecord::new(&handle.topic(py, &set.partition.0), set, entry))
    }

    /// Return the next records as runs of one partition: topic, number and records. There are none if none are buffered.
    ///
    /// Args:
    ///     limit: the maximum number of records. Default: all that are buffered.
    ///
    /// Raises:
    ///     ClosedError: the consumer was closed.
    #[pyo3(signature = (limit=None))]
    fn pop_runs<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = number::max_records)] limit: Option<usize>,
    ) -> PyResult<Vec<Run<'py>>> {
        let handle = self.0.bind(py).as_super().get().handle()?;
        let mut last = LastTopic::default();
        // The partitions of consecutive records, and their numbers.
        let mut runs: Vec<(TopicPartition, usize)> = Vec::new();
        let records = handle.core.pop_records(limit.unwrap_or(usize::MAX), |set, entry| {
            let topic = last.string(py, &set.partition.0);
            let record = ConsumerRecord::new(&topic, set, entry).map_err(|error| convert_error(py, error))?;
            match runs.last_mut() {
                Some((partition, count)) if *partition == set.partition => *count += 1,
                _ => runs.push((set.partition.clone(), 1)),
            }
            Ok(record)
        })?;
        let mut records = records.into_iter();
        let as_lists = runs.into_iter().map(|((topic, number), count)| {
            let records = records.by_ref().take(count).collect::<Vec<_>>();
            Ok((last.string(py, &topic), number, PyList::new(py, records)?))
        });
        as_lists.collect()
    }
}

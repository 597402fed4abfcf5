//! `Delivery` and `RecordMetadata`: the promise of a record sent, and where it was written.

use std::sync::Arc;
use std::time::Duration;

use ottla_client::producer::{Completion, Delivery as Promise, Written};
use ottla_client::{Error, Kind};
use pyo3::prelude::*;

use crate::errors;
use crate::runtime::{check_process, pid, seconds, wait};

/// The place where a record was written.
#[pyclass(frozen, module = "ottla")]
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
    /// Of a record with this timestamp.
    pub(crate) fn new(completion: &Completion, written: Written, timestamp: i64) -> Self {
        let (topic, partition) = completion.partition();
        Self {
            topic: Arc::clone(topic),
            partition: *partition,
            offset: (written.offset >= 0).then_some(written.offset),
            timestamp: if written.log_append_time >= 0 { written.log_append_time } else { timestamp },
        }
    }

    /// Of a record that is in no batch: its partition is -1 if none was chosen.
    pub(crate) fn nowhere(topic: &Arc<str>, partition: Option<i32>, timestamp: i64) -> Self {
        Self { topic: Arc::clone(topic), partition: partition.unwrap_or(-1), offset: None, timestamp }
    }
}

#[pymethods]
impl RecordMetadata {
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

/// A future of one record, acknowledged or failed. ``Producer.send`` returns it.
#[pyclass(frozen, module = "ottla")]
pub(crate) struct Delivery {
    promise: Promise,
    timestamp: i64,
    pid: u32,
}

impl Delivery {
    /// Of a record that was accepted with this timestamp.
    pub(crate) fn new(promise: Promise, timestamp: i64) -> Self {
        Self { promise, timestamp, pid: pid() }
    }

    /// Waits for what became of the record, on behalf of somebody who wants to know.
    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<ottla_client::Result<Written>> {
        let result = self.wait_for_result(py, timeout)?;
        if result.is_err() && self.promise.result().is_some() {
            self.promise.completion.mark_seen(self.promise.index, self.promise.index + 1);
        }
        Ok(result)
    }

    fn wait_for_result(
        &self,
        py: Python<'_>,
        timeout: Option<f64>,
    ) -> PyResult<ottla_client::Result<Written>> {
        if let Some(result) = self.promise.result() {
            return Ok(result);
        }
        // What is known may be told anywhere, but nothing comes to a forked child.
        check_process(self.pid)?;
        let timeout = seconds(timeout, Duration::MAX)?;
        match wait(py, async { tokio::time::timeout(timeout, self.promise.wait()).await.ok() })? {
            Some(result) => Ok(result),
            None => {
                let (topic, partition) = self.promise.completion.partition();
                let words =
                    format!("not acknowledged within {} s; it is still under way", timeout.as_secs_f64());
                Err(errors::raise(py, &Error::new(Kind::Timeout, words).at(topic, *partition)))
            }
        }
    }
}

#[pymethods]
impl Delivery {
    /// Return whether the record is acknowledged or failed, without waiting.
    fn done(&self) -> bool {
        self.promise.result().is_some()
    }

    /// Wait until the record is acknowledged, and return where it was written.
    ///
    /// Args:
    ///     timeout: seconds to wait. Default: without limit; the record itself ends within
    ///         ``delivery.timeout.ms``.
    ///
    /// Raises:
    ///     TimeoutError: it is not known within ``timeout`` seconds; the record is still under way.
    ///     KafkaError: the record failed; ``maybe_done`` says whether it may have been written.
    #[pyo3(signature = (timeout=None))]
    fn result(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<RecordMetadata> {
        match self.wait(py, timeout)? {
            Ok(written) => Ok(RecordMetadata::new(&self.promise.completion, written, self.timestamp)),
            Err(error) => Err(errors::raise(py, &error)),
        }
    }

    /// Wait until the record is acknowledged or failed, and return why it failed.
    ///
    /// Args:
    ///     timeout: seconds to wait. Default: without limit.
    ///
    /// Returns:
    ///     The error, or None if the record was written.
    ///
    /// Raises:
    ///     TimeoutError: it is not known within ``timeout`` seconds; the record is still under way.
    #[pyo3(signature = (timeout=None))]
    fn exception(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Option<Py<PyAny>>> {
        match self.wait(py, timeout)? {
            Ok(_) => Ok(None),
            Err(error) => errors::value(py, &error).map(Some),
        }
    }

    /// The topic that the record was sent to.
    #[getter]
    fn topic(&self) -> &str {
        &self.promise.completion.partition().0
    }

    /// The partition that was chosen for the record.
    #[getter]
    fn partition(&self) -> i32 {
        self.promise.completion.partition().1
    }

    fn __repr__(&self) -> String {
        let state = match self.promise.result() {
            None => "pending".to_owned(),
            Some(Ok(written)) => format!("offset={}", written.offset),
            Some(Err(error)) => format!("failed: {error}"),
        };
        format!("Delivery({}-{}, {state})", self.topic(), self.partition())
    }
}

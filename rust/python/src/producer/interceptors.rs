//! Interceptors: they see each record first, may change it, and learn its result. The chain itself is
//! `python/ottla/interceptors.py`.
//!
//! Invariant: for each record that they saw, the interceptors are notified once: through
//! `on_delivery` if the record was accepted, else at once.

use std::sync::Arc;

use ottla_client::config::Config;
use pyo3::PyVisit;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

use crate::client::interceptor_chain;
use crate::convert::number;
use crate::garbage::{Traverse, Visited};
use crate::producer::record::RecordArgs;
use crate::producer::record_metadata::RecordMetadata;

static RECORD: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// A producer's interceptors.
pub(crate) struct Interceptors(Py<PyAny>);

impl Traverse for Interceptors {
    fn traverse(&self, visit: &PyVisit<'_>) -> Visited {
        self.0.traverse(visit)
    }
}

/// A record as the interceptors returned it.
pub(crate) struct Intercepted<'py> {
    /// Notifies the interceptors and calls the application's `on_delivery`.
    pub(crate) on_delivery: Bound<'py, PyAny>,
    topic: String,
    value: Bound<'py, PyAny>,
    key: Bound<'py, PyAny>,
    headers: Bound<'py, PyAny>,
    timestamp: Bound<'py, PyAny>,
    partition: Option<i32>,
}

impl<'py> Intercepted<'py> {
    pub(crate) fn args(&self) -> RecordArgs<'_, 'py> {
        RecordArgs {
            topic: &self.topic,
            value: Some(&self.value),
            key: Some(&self.key),
            headers: Some(&self.headers),
            timestamp: Some(&self.timestamp),
            partition: self.partition,
            on_delivery: Some(&self.on_delivery),
        }
    }

    /// Notifies the interceptors that the record is not sent.
    pub(crate) fn report_unsent(&self, error: &PyErr) -> PyResult<()> {
        let py = self.on_delivery.py();
        let timestamp = self.timestamp.extract().unwrap_or(-1);
        let metadata = RecordMetadata::unsent(&Arc::from(&*self.topic), self.partition, timestamp);
        self.on_delivery.call_method1("refused", (error.value(py), metadata)).map(drop)
    }
}

impl Interceptors {
    /// Creates the chain; `None` without interceptors.
    pub(crate) fn new(interceptors: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Self>> {
        Ok(interceptor_chain::new(interceptors, "_ProducerChain")?.map(Self))
    }

    pub(crate) fn configure(&self, py: Python<'_>, config: &Config) -> PyResult<()> {
        interceptor_chain::configure(py, &self.0, config)
    }

    /// Passes a record through the chain.
    pub(crate) fn on_send<'py>(
        &self,
        py: Python<'py>,
        args: &RecordArgs<'_, 'py>,
        in_batch: bool,
    ) -> PyResult<Intercepted<'py>> {
        let RecordArgs { topic, value, key, headers, timestamp, partition, on_delivery } = *args;
        let make = RECORD.import(py, "ottla.interceptors", "ProducerRecord")?;
        let record = make.call1((topic, value, key, headers, timestamp, partition))?;
        let how = PyDict::new(py);
        how.set_item("in_batch", in_batch)?;
        let on_delivery = self.0.bind(py).call_method("on_send", (record, on_delivery), Some(&how))?;
        let record = on_delivery.getattr("record")?;
        Ok(Intercepted {
            topic: record.getattr("topic")?.extract()?,
            value: record.getattr("value")?,
            key: record.getattr("key")?,
            headers: record.getattr("headers")?,
            timestamp: record.getattr("timestamp")?,
            partition: number::partition(&record.getattr("partition")?)?,
            on_delivery,
        })
    }

    /// Passes a record through the chain and sends the result. If that fails, the interceptors are
    /// notified.
    pub(crate) fn send_through<'py, T>(
        &self,
        py: Python<'py>,
        args: &RecordArgs<'_, 'py>,
        send: impl FnOnce(&RecordArgs<'_, 'py>) -> PyResult<T>,
    ) -> PyResult<T> {
        let intercepted = self.on_send(py, args, false)?;
        match send(&intercepted.args()) {
            Ok(sent) => Ok(sent),
            Err(error) => {
                intercepted.report_unsent(&error)?;
                Err(error)
            }
        }
    }

    /// Notifies the interceptors that the producer was closed.
    pub(crate) fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.0.call_method0(py, "close").map(drop)
    }
}

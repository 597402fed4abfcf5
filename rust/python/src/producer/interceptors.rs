//! `interceptors`: what sees, and may change, each record before anything else does, and hears what
//! became of it. The chain itself is `python/ottla/interceptors.py`.
//!
//! Invariant: of each record that the interceptors saw they are told once: by the way of
//! `on_delivery` if it was accepted, else at once.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

use crate::convert::record::SendArgs;
use crate::producer::delivery::RecordMetadata;

static RECORD: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// A producer's interceptors.
pub(crate) struct Interceptors(Py<PyAny>);

/// A record as the interceptors want it sent.
pub(crate) struct Intercepted<'py> {
    /// Whom to tell, as an `on_delivery`.
    pub(crate) told: Bound<'py, PyAny>,
    topic: String,
    value: Bound<'py, PyAny>,
    key: Bound<'py, PyAny>,
    headers: Bound<'py, PyAny>,
    timestamp: Bound<'py, PyAny>,
    partition: Option<i32>,
}

impl<'py> Intercepted<'py> {
    pub(crate) fn given(&self) -> SendArgs<'_, 'py> {
        SendArgs {
            topic: &self.topic,
            value: Some(&self.value),
            key: Some(&self.key),
            headers: Some(&self.headers),
            timestamp: Some(&self.timestamp),
            partition: self.partition,
            on_delivery: Some(&self.told),
        }
    }

    /// Tells the interceptors that the record is not sent.
    pub(crate) fn refused(&self, error: &PyErr) -> PyResult<()> {
        let py = self.told.py();
        let timestamp = self.timestamp.extract().unwrap_or(-1);
        let metadata = RecordMetadata::nowhere(&Arc::from(&*self.topic), self.partition, timestamp);
        self.told.call_method1("refused", (error.value(py), metadata)).map(drop)
    }
}

impl Interceptors {
    /// None if there are none.
    pub(crate) fn new(given: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Self>> {
        let Some(given) = given.filter(|given| !given.is_none()) else { return Ok(None) };
        let chain = given.py().import("ottla.interceptors")?.getattr("_Chain")?.call1((given,))?;
        Ok(Some(Self(chain.unbind())))
    }

    /// What they make of a record.
    pub(crate) fn on_send<'py>(
        &self,
        py: Python<'py>,
        given: &SendArgs<'_, 'py>,
        in_batch: bool,
    ) -> PyResult<Intercepted<'py>> {
        let SendArgs { topic, value, key, headers, timestamp, partition, on_delivery } = *given;
        let make = RECORD.import(py, "ottla.interceptors", "ProducerRecord")?;
        let record = make.call1((topic, value, key, headers, timestamp, partition))?;
        let how = PyDict::new(py);
        how.set_item("in_batch", in_batch)?;
        let told = self.0.bind(py).call_method("on_send", (record, on_delivery), Some(&how))?;
        let record = told.getattr("record")?;
        Ok(Intercepted {
            topic: record.getattr("topic")?.extract()?,
            value: record.getattr("value")?,
            key: record.getattr("key")?,
            headers: record.getattr("headers")?,
            timestamp: record.getattr("timestamp")?,
            partition: record.getattr("partition")?.extract()?,
            told,
        })
    }

    /// Sends what they make of a record, and tells them if that fails.
    pub(crate) fn around<'py, T>(
        &self,
        py: Python<'py>,
        given: &SendArgs<'_, 'py>,
        send: impl FnOnce(&SendArgs<'_, 'py>) -> PyResult<T>,
    ) -> PyResult<T> {
        let intercepted = self.on_send(py, given, false)?;
        match send(&intercepted.given()) {
            Ok(sent) => Ok(sent),
            Err(error) => {
                intercepted.refused(&error)?;
                Err(error)
            }
        }
    }

    /// Tells them that the producer was closed.
    pub(crate) fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.0.call_method0(py, "close").map(drop)
    }
}

//! `Delivery` and `RecordMetadata`: the promise of a record sent, and where it was written.
//!
//! Invariants: whoever waits for a delivery, in whatever way, changes nothing of the record. A failure
//! counts as seen once somebody was given its error. Python runs on no thread of the engine.

use std::sync::{Arc, Weak};
use std::time::Duration;

use ottla_client::producer::{Completion, Delivery as Promise, Written};
use ottla_client::{Error, Kind};
use pyo3::exceptions::{PyException, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

use crate::asyncio;
use crate::convert::errors;
use crate::producer::callbacks::Callbacks;
use crate::producer::producer_handle::Engine;
use crate::runtime::{check_process, pid, seconds, wait};

/// The place where a record was written.
///
/// Args:
///     topic: the topic.
///     partition: the partition; -1 if none was chosen.
///     offset: the offset; None if it is not known, as with ``acks=0``.
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
    #[new]
    #[pyo3(signature = (topic, partition, offset, timestamp))]
    fn py_new(topic: &str, partition: i32, offset: Option<i64>, timestamp: i64) -> Self {
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

/// A future of one record, acknowledged or failed. ``Producer.send`` returns it.
#[pyclass(frozen, module = "ottla")]
pub(crate) struct Delivery {
    promise: Promise,
    timestamp: i64,
    pid: u32,
    /// Of the producer, whose thread calls the callbacks.
    engine: Weak<Engine>,
}

impl Delivery {
    /// Of a record that was accepted with this timestamp.
    pub(crate) fn new(promise: Promise, timestamp: i64, engine: &Arc<Engine>) -> Self {
        Self { promise, timestamp, pid: pid(), engine: Arc::downgrade(engine) }
    }

    /// What became of the record, for somebody who is given the error if it failed.
    fn given(&self, py: Python<'_>, result: ottla_client::Result<Written>) -> PyResult<RecordMetadata> {
        match result {
            Ok(written) => Ok(RecordMetadata::new(&self.promise.completion, written, self.timestamp)),
            Err(error) => Err(errors::raise(py, &error)),
        }
    }

    /// Waits for what became of the record, on behalf of somebody who wants to know.
    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<ottla_client::Result<Written>> {
        let result = self.wait_for_result(py, timeout)?;
        if self.promise.result().is_some() {
            mark_seen(&self.promise, &result);
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
        let result = self.wait(py, timeout)?;
        self.given(py, result)
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

    /// Wait for the acknowledgement without blocking the running asyncio loop.
    ///
    /// A cancelled wait does not cancel the record, and the delivery can be awaited again.
    ///
    /// Raises:
    ///     KafkaError: the record was not written.
    fn __await__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, delivery) = (this.py(), this.get());
        let known = delivery.promise.result();
        if known.is_none() {
            check_process(delivery.pid)?;
        }
        let (promise, future) = asyncio::FutureCompleter::new(py)?;
        let owned = this.clone().unbind();
        let give = move |py: Python<'_>| {
            let delivery = owned.get();
            let result = delivery.promise.completion.settled(delivery.promise.index);
            mark_seen(&delivery.promise, &result);
            Py::new(py, delivery.given(py, result)?).map(Py::into_any)
        };
        match known {
            // Its future is settled here, so that the loop need not come round for it.
            Some(_) => {
                drop(promise.into_parts());
                asyncio::complete(&future, give(py));
            }
            None => delivery.promise.completion.on_done(move || promise.complete(give)),
        }
        future.call_method0(intern!(py, "__await__"))
    }

    /// Call a function with this delivery when it is done; at once if it is.
    ///
    /// As with ``concurrent.futures.Future``, the function is called once: on the producer's
    /// delivery thread, which calls ``on_delivery`` too, or, if the delivery is done, on this one.
    /// ``flush()`` and ``close()`` wait for it. What it raises is logged as an error of
    /// ``ottla.producer``. A failure that it does not ask for, with ``exception()`` or
    /// ``result()``, counts as unseen.
    ///
    /// Args:
    ///     callback: the function; it is called with the delivery.
    ///
    /// Raises:
    ///     TypeError: the callback is not callable.
    #[pyo3(signature = (callback, /))]
    fn add_done_callback(this: &Bound<'_, Self>, callback: &Bound<'_, PyAny>) -> PyResult<()> {
        let (py, delivery) = (this.py(), this.get());
        if !callback.is_callable() {
            let ty = callback.get_type().name()?;
            let message = format!("the callback is of type {ty}; expected a callable that takes a delivery");
            return Err(PyTypeError::new_err(message));
        }
        if delivery.promise.result().is_some() {
            return call_now(this, callback);
        }
        check_process(delivery.pid)?;
        let (callback, owned) = (callback.clone().unbind(), this.clone().unbind());
        if let Some(engine) = delivery.engine.upgrade()
            && let Some(place) = engine.callbacks(py)?.place_at_once()
        {
            place.take_done(&delivery.promise, callback, owned);
            return Ok(());
        }
        // The producer is closed or gone and its thread has ended: one of its own calls this one.
        let callbacks = Callbacks::start(py)?;
        if let Some(place) = callbacks.place_at_once() {
            place.take_done(&delivery.promise, callback, owned);
        }
        Ok(())
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

/// Notes that somebody was given the error, if the record has failed.
fn mark_seen(promise: &Promise, result: &ottla_client::Result<Written>) {
    if result.is_err() {
        promise.completion.mark_seen(promise.index, promise.index + 1);
    }
}

/// Calls a done callback on this thread. What it raises is logged; what ends the program is raised.
fn call_now(delivery: &Bound<'_, Delivery>, callback: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = delivery.py();
    let Err(error) = callback.call1((delivery,)) else { return Ok(()) };
    if !error.is_instance_of::<PyException>(py) {
        return Err(error);
    }
    let keywords = PyDict::new(py);
    keywords.set_item("exc_info", error.value(py))?;
    let logger = py.import("logging")?.call_method1("getLogger", ("ottla.producer",))?;
    logger.call_method("error", ("a done callback raised",), Some(&keywords))?;
    Ok(())
}

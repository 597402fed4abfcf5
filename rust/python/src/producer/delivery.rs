//! `Delivery`: the future of a sent record.
//!
//! Invariants: waiting for a delivery never affects the record. A failure counts as observed once its
//! error was returned or raised. Python code never runs on the core's threads.

use std::sync::{Arc, Weak};
use std::time::Duration;

use ottla_client::producer::{AppendInfo, Delivery as CoreDelivery};
use ottla_client::{Error, Kind};
use pyo3::exceptions::{PyException, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::asyncio;
use crate::convert::number;
use crate::convert::{callback, errors};
use crate::producer::callbacks::Callbacks;
use crate::producer::producer_handle::ProducerHandle;
use crate::producer::record_metadata::RecordMetadata;
use crate::runtime::{check_process, pid, seconds, wait_at_most};

/// A future of one record's metadata. ``Producer.send`` returns it.
#[pyclass(frozen, module = "ottla")]
pub(crate) struct Delivery {
    core: CoreDelivery,
    timestamp: i64,
    pid: u32,
    /// The producer, whose thread calls the callbacks.
    handle: Weak<ProducerHandle>,
}

impl Delivery {
    /// The delivery of a record that was accepted with this timestamp.
    pub(crate) fn new(core: CoreDelivery, timestamp: i64, handle: &Arc<ProducerHandle>) -> Self {
        Self { core, timestamp, pid: pid(), handle: Arc::downgrade(handle) }
    }

    /// The metadata of a written record, or the error of a failed one.
    fn metadata(&self, py: Python<'_>, result: ottla_client::Result<AppendInfo>) -> PyResult<RecordMetadata> {
        match result {
            Ok(written) => Ok(RecordMetadata::new(&self.core.produce_result, written, self.timestamp)),
            Err(error) => Err(errors::raise(py, &error)),
        }
    }

    /// Waits for the result, and marks a failure as observed.
    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<ottla_client::Result<AppendInfo>> {
        let result = self.wait_for_result(py, timeout)?;
        if self.core.result().is_some() {
            mark_observed(&self.core, &result);
        }
        Ok(result)
    }

    fn wait_for_result(
        &self,
        py: Python<'_>,
        timeout: Option<f64>,
    ) -> PyResult<ottla_client::Result<AppendInfo>> {
        if let Some(result) = self.core.result() {
            return Ok(result);
        }
        // A known result is available anywhere, but a forked child gets no new ones.
        check_process(self.pid)?;
        let timeout = seconds(timeout, Duration::MAX)?;
        match wait_at_most(py, timeout, self.core.wait())? {
            Some(result) => Ok(result),
            None => {
                let (topic, partition) = self.core.produce_result.partition();
                let message =
                    format!("not acknowledged within {} s; it is still pending", timeout.as_secs_f64());
                Err(errors::raise(py, &Error::new(Kind::Timeout, message).at(topic, *partition)))
            }
        }
    }
}

#[pymethods]
impl Delivery {
    /// Return whether the record is acknowledged or failed, without waiting.
    fn done(&self) -> bool {
        self.core.result().is_some()
    }

    /// Wait until the record is acknowledged, and return where it was written.
    ///
    /// Args:
    ///     timeout: seconds to wait. Default: no limit; the record itself completes within
    ///         ``delivery.timeout.ms``.
    ///
    /// Raises:
    ///     TimeoutError: the result is not known within ``timeout`` seconds; the record is
    ///         still pending.
    ///     KafkaError: the record failed; ``maybe_done`` says whether it may have been
    ///         written.
    #[pyo3(signature = (*, timeout=None))]
    fn result(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<RecordMetadata> {
        let result = self.wait(py, timeout)?;
        self.metadata(py, result)
    }

    /// Wait until the record is acknowledged or failed, and return its error.
    ///
    /// Args:
    ///     timeout: seconds to wait. Default: no limit.
    ///
    /// Returns:
    ///     The error, or None if the record was written.
    ///
    /// Raises:
    ///     TimeoutError: the result is not known within ``timeout`` seconds; the record is
    ///         still pending.
    #[pyo3(signature = (*, timeout=None))]
    fn exception(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Option<Py<PyAny>>> {
        match self.wait(py, timeout)? {
            Ok(_) => Ok(None),
            Err(error) => errors::value(py, &error).map(Some),
        }
    }

    /// Wait for the acknowledgement without blocking the running asyncio loop.
    ///
    /// Cancelling the wait does not cancel the record; the delivery can be awaited again.
    ///
    /// Raises:
    ///     KafkaError: the record was not written.
    fn __await__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, delivery) = (this.py(), this.get());
        let known = delivery.core.result();
        if known.is_none() {
            check_process(delivery.pid)?;
        }
        let (promise, future) = asyncio::FutureCompleter::new(py)?;
        let owned = this.clone().unbind();
        let give = move |py: Python<'_>| {
            let delivery = owned.get();
            let result = delivery.core.produce_result.final_result(delivery.core.index);
            mark_observed(&delivery.core, &result);
            Py::new(py, delivery.metadata(py, result)?).map(Py::into_any)
        };
        match known {
            // Completes the future at once, which saves a turn of the loop.
            Some(_) => {
                drop(promise.into_parts());
                asyncio::complete(&future, give(py));
            }
            None => delivery.core.produce_result.on_done(move || promise.complete(give)),
        }
        future.call_method0(intern!(py, "__await__"))
    }

    /// Call a function with this delivery when it is done, or at once if it already is.
    ///
    /// As with ``concurrent.futures.Future``, the function is called once: on the producer's
    /// delivery thread, which also calls ``on_delivery``, or on the calling thread if the
    /// delivery is done. ``flush()`` and ``close()`` wait for it. Its exceptions are logged
    /// as errors of ``ottla.producer``. A failure counts as unobserved unless the function
    /// calls ``exception()`` or ``result()``.
    ///
    /// Args:
    ///     callback: the function to call with the delivery.
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
        if delivery.core.result().is_some() {
            return call_now(this, callback);
        }
        check_process(delivery.pid)?;
        let (callback, owned) = (callback.clone().unbind(), this.clone().unbind());
        if let Some(handle) = delivery.handle.upgrade()
            && let Some(permit) = handle.callbacks(py)?.permit_without_waiting()
        {
            permit.register_done_callback(&delivery.core, callback, owned.into_any());
            return Ok(());
        }
        // The producer is closed or dropped, and its thread has ended: start another one for this
        // callback.
        let callbacks = Callbacks::start(py)?;
        if let Some(permit) = callbacks.permit_without_waiting() {
            permit.register_done_callback(&delivery.core, callback, owned.into_any());
        }
        Ok(())
    }

    /// The record's topic.
    #[getter]
    fn topic(&self) -> &str {
        &self.core.produce_result.partition().0
    }

    /// The partition chosen for the record.
    #[getter]
    fn partition(&self) -> i32 {
        self.core.produce_result.partition().1
    }

    fn __repr__(&self) -> String {
        let state = match self.core.result() {
            None => "pending".to_owned(),
            Some(Ok(written)) => format!("offset={}", written.offset),
            Some(Err(error)) => format!("failed: {error}"),
        };
        format!("Delivery({}-{}, {state})", self.topic(), self.partition())
    }
}

/// Marks a failure as observed.
fn mark_observed(core: &CoreDelivery, result: &ottla_client::Result<AppendInfo>) {
    if result.is_err() {
        core.produce_result.mark_observed(core.index, core.index + 1);
    }
}

/// Calls a done callback on this thread. Logs an exception, and raises what ends the
/// program.
fn call_now(delivery: &Bound<'_, Delivery>, callback: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = delivery.py();
    let called = callback.call1((delivery,)).and_then(|returned| callback::ended(&returned));
    let Err(error) = called else { return Ok(()) };
    if !error.is_instance_of::<PyException>(py) {
        return Err(error);
    }
    let keywords = PyDict::new(py);
    keywords.set_item("exc_info", error.value(py))?;
    let logger = py.import("logging")?.call_method1("getLogger", ("ottla.producer",))?;
    logger.call_method("error", ("a done callback raised",), Some(&keywords))?;
    Ok(())
}

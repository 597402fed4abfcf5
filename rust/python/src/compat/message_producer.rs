//! `MessageProducer`: the base of the producer of `ottla.compat.confluent_kafka`, with the short way of `produce`.
//!
//! Invariant: `produce` never waits. What the short way cannot send at once goes the long way, `_produce` in Python,
//! with the same arguments.

use std::sync::OnceLock;

use parking_lot::Mutex;
use pyo3::PyVisit;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use super::produced::Produced;
use super::report_queue::ReportQueue;
use crate::garbage::{Traverse, Visited};

/// The base of a producer whose reports are polled.
#[pyclass(frozen, subclass, weakref, dict, module = "ottla._core")]
#[derive(Default)]
pub(crate) struct MessageProducer {
    queue: OnceLock<Py<ReportQueue>>,
    /// The callback of messages without one. Only threads with the GIL take the lock.
    on_delivery: Mutex<Option<Py<PyAny>>>,
}

impl MessageProducer {
    fn set_on_delivery(&self, callback: Option<Py<PyAny>>) {
        // Dropped outside of the lock: dropping may run Python code.
        let previous = std::mem::replace(&mut *self.on_delivery.lock(), callback);
        drop(previous);
    }
}

#[pymethods]
impl MessageProducer {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Visited {
        visit.call(self.queue.get())?;
        self.on_delivery.traverse(&visit)
    }

    /// The callback may be a method of this object.
    fn __clear__(&self) {
        self.set_on_delivery(None);
    }

    /// A subclass may have another `__init__`, so that this one takes anything.
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Self {
        Self::default()
    }

    /// Let ``produce`` take the short way.
    ///
    /// Args:
    ///     queue: the queue of messages.
    ///     on_delivery: the callback of messages without one. Default: none.
    #[pyo3(signature = (queue, on_delivery=None))]
    fn _attach(&self, queue: Py<ReportQueue>, on_delivery: Option<Py<PyAny>>) {
        // Attached once, by `__init__`.
        let _ = self.queue.set(queue);
        self.set_on_delivery(on_delivery);
    }

    /// Queue a message; it is sent in the background.
    ///
    /// Args:
    ///     topic: the topic.
    ///     value: the payload.
    ///     key: the key.
    ///     partition: the partition. Default: the partitioner chooses.
    ///     callback: called by ``poll`` or ``flush`` with an error or None and the message.
    ///     on_delivery: the same.
    ///     timestamp: milliseconds since 1970. Default: now.
    ///     headers: a dict, or a list of pairs.
    ///
    /// Raises:
    ///     BufferError: the queue is full: call ``poll``.
    ///     KafkaException: the message cannot be sent.
    #[pyo3(signature = (topic, value=None, key=None, partition=-1, callback=None, on_delivery=None, timestamp=0, headers=None), text_signature = "($self, topic, value=None, key=None, partition=-1, callback=None, on_delivery=None, timestamp=0, headers=None)")]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn produce<'py>(
        this: &Bound<'py, Self>,
        topic: &Bound<'py, PyAny>,
        value: Option<&Bound<'py, PyAny>>,
        key: Option<&Bound<'py, PyAny>>,
        partition: i32,
        callback: Option<&Bound<'py, PyAny>>,
        on_delivery: Option<&Bound<'py, PyAny>>,
        timestamp: i64,
        headers: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<()> {
        let py = this.py();
        let state = this.get();
        let own = match callback.or(on_delivery) {
            Some(_) => None,
            None => state.on_delivery.lock().as_ref().map(|callback| callback.clone_ref(py).into_bound(py)),
        };
        let report = callback.or(on_delivery).or(own.as_ref());
        if let (Some(queue), Ok(topic), None) = (state.queue.get(), topic.cast::<PyString>(), headers)
            && report.is_none_or(|report| report.is_callable())
        {
            let topic = topic.to_str()?;
            let produced =
                Produced { topic, value, key, partition, headers: None, timestamp, callback: report };
            if queue.get().try_put(py, &produced)? {
                return Ok(());
            }
        }
        let arguments = (topic, value, key, partition, callback, on_delivery, timestamp, headers);
        this.call_method1("_produce", arguments).map(drop)
    }
}

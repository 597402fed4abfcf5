//! `ShareConsumerHandle`: the core's share consumer with what Python adds, shared by both Python classes.
//!
//! Invariant: nothing here waits for the GIL. Records become Python objects only as they are delivered.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ottla_client::consumer::ArrowLayout;
use ottla_client::consumer::ConvertError;
use ottla_client::consumer::share::{AcknowledgeType, AcknowledgementResult, ShareConsumer};
use ottla_client::{Client, Error, Result, TopicPartition};
use parking_lot::{Mutex, MutexGuard};
use pyo3::PyVisit;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use tokio::time::Instant;

use crate::consumer::deserializers::Deserializers;
use crate::consumer::partitions::to_dict;
use crate::consumer::poll_guard::{PollGuard, PollLock};
use crate::consumer::record::Record;
use crate::convert::record_batch::RecordBatch;
use crate::convert::{callback, errors};
use crate::garbage::{Traverse, Visited};
use crate::runtime::{runtime, seconds};
use crate::token_callback;

/// A callback and its arguments: an error or None, and the offsets.
pub(super) type CallbackCall = (Py<PyAny>, Py<PyAny>, Py<PyDict>);

pub(crate) struct ShareConsumerHandle {
    pub(super) core: ShareConsumer,
    /// Whether the client was created for this consumer and is closed with it.
    own_client: bool,
    deserializers: Deserializers,
    pub(super) poll_lock: PollLock,
    /// Only threads with the GIL take the lock.
    callback: Mutex<Option<Py<PyAny>>>,
    /// Results that the callback has not seen.
    results: Mutex<VecDeque<AcknowledgementResult>>,
    closed: AtomicBool,
}

impl ShareConsumerHandle {
    pub(super) fn new(client: Client, own_client: bool, deserializers: Deserializers) -> Result<Self> {
        // Long polls would delay other requests on shared connections.
        let client = if own_client { client } else { client.with_dedicated_connections() };
        Ok(Self {
            core: ShareConsumer::new(client)?.with_typed_records(deserializers.typed().clone()),
            own_client,
            deserializers,
            poll_lock: PollLock::default(),
            callback: Mutex::default(),
            results: Mutex::default(),
            closed: AtomicBool::new(false),
        })
    }

    /// Returns the maximum number of records of a poll. Default: `max.poll.records`.
    pub(super) fn max_records(&self, requested: Option<usize>) -> usize {
        requested.unwrap_or(self.core.client().config().max_poll_records).max(1)
    }

    /// Converts a timeout in seconds. Default: `default.api.timeout.ms`.
    pub(super) fn timeout(&self, timeout: Option<f64>) -> PyResult<Duration> {
        seconds(timeout, self.core.client().config().default_api_timeout)
    }

    /// Waits until records, or the rows of a batch, can be popped; returns false at the deadline.
    pub(super) async fn wait(&self, target: Target, deadline: Instant) -> Result<bool> {
        match target {
            Target::Records => self.core.wait_until_decoded(deadline).await,
            Target::Batch => self.core.wait_until_ready(deadline).await,
        }
    }

    /// Delivers buffered records, at most `max_records`.
    pub(super) fn pop_records(&self, py: Python<'_>, max_records: usize) -> PyResult<Vec<Py<Record>>> {
        let mut last: Option<(Arc<str>, Bound<'_, PyString>)> = None;
        let popped: std::result::Result<Vec<Py<Record>>, PopError> =
            self.core.pop_records(max_records, |set, entry, delivery_count| {
                let name = &set.partition.0;
                let (_, topic) = match &last {
                    Some(known) if Arc::ptr_eq(&known.0, name) => known,
                    _ => last.insert((Arc::clone(name), PyString::intern(py, name))),
                };
                let record = Record::new(topic, set, entry, &self.deserializers, Some(delivery_count));
                record.map_err(|error| match error.is_instance_of::<PyException>(py) {
                    true => ConvertError::Record(PopError::Python(error)),
                    false => ConvertError::Interrupted(PopError::Python(error)),
                })
            });
        popped.map_err(|error| match error {
            PopError::Python(error) => error,
            PopError::Core(error) => errors::raise(py, &error),
        })
    }

    /// Delivers the next record if there is one without waiting, in a poll of its own; none before the callback has
    /// had all results.
    pub(super) fn take_buffered_record(
        &self,
        py: Python<'_>,
        lock: impl FnOnce(&PollLock) -> Result<PollGuard<'_>>,
    ) -> PyResult<Option<Py<Record>>> {
        if !self.core.has_buffered_records() || self.has_results() {
            return Ok(None);
        }
        let _guard = lock(&self.poll_lock).map_err(|error| errors::raise(py, &error))?;
        let runtime = runtime()?;
        let _entered = runtime.enter();
        self.core.begin_poll().map_err(|error| errors::raise(py, &error))?;
        let record = self.pop_records(py, 1)?.pop();
        self.check_not_closed()?;
        Ok(record)
    }

    /// Delivers buffered records as an Arrow batch; `None` if there are none.
    pub(super) fn pop_batch(&self, py: Python<'_>, layout: &ArrowLayout) -> PyResult<Option<RecordBatch>> {
        let batch = py.detach(|| self.core.pop_batch(layout));
        Ok(batch.map_err(|error| errors::raise(py, &error))?.map(RecordBatch))
    }

    /// Sets the callback for results; `None` for none.
    pub(super) fn set_callback(&self, callback: Option<Py<PyAny>>) {
        self.core.keep_results(callback.is_some());
        // Dropped outside of the lock: dropping may run Python code.
        let previous = std::mem::replace(&mut *self.callback.lock(), callback);
        drop(previous);
    }

    /// Returns the next call of the callback; drops it after the last one of a closed consumer.
    pub(super) fn next_callback(&self, py: Python<'_>) -> PyResult<Option<CallbackCall>> {
        let Some(callback) = self.callback.lock().as_ref().map(|callback| callback.clone_ref(py)) else {
            return Ok(None);
        };
        let result = self.take_results().pop_front();
        let Some(AcknowledgementResult { partition, offsets, error }) = result else {
            if self.is_closed() {
                self.set_callback(None);
            }
            return Ok(None);
        };
        let offsets =
            to_dict(py, [(partition, offsets)], |ranges| Ok(PyList::new(py, ranges)?.into_any().unbind()))?;
        let error = match error {
            Some(error) => errors::value(py, &error)?,
            None => py.None(),
        };
        Ok(Some((callback, error, offsets.unbind())))
    }

    /// Whether there is a callback, and a result that it has not had.
    fn has_results(&self) -> bool {
        self.callback.lock().is_some() && !self.take_results().is_empty()
    }

    /// The results that the callback has not had.
    fn take_results(&self) -> MutexGuard<'_, VecDeque<AcknowledgementResult>> {
        let mut results = self.results.lock();
        results.extend(self.core.take_results());
        results
    }

    /// Calls the callback for each result. If it raises, the other results wait for the next call.
    pub(super) fn invoke_callback(&self, py: Python<'_>) -> PyResult<()> {
        while let Some((callback, error, offsets)) = self.next_callback(py)? {
            callback::ended(&callback.bind(py).call1((error, offsets))?)?;
        }
        Ok(())
    }

    /// Closes the consumer, within the timeout. `awaits_poll` says that a poll in progress ends first.
    pub(super) async fn close(&self, timeout: Duration, awaits_poll: bool) -> Result<()> {
        if self.closed.load(Ordering::Acquire) {
            return Ok(());
        }
        self.core.start_closing();
        let deadline = Instant::now() + timeout;
        let is_locked = awaits_poll && self.poll_lock.acquire_by(deadline).await;
        let result = self.core.close(deadline.saturating_duration_since(Instant::now())).await;
        self.closed.store(true, Ordering::Release);
        if is_locked {
            self.poll_lock.release();
        }
        if self.own_client {
            self.core.client().close();
        }
        result
    }

    /// Raises the error of a poll during which the consumer was closed.
    pub(super) fn check_not_closed(&self) -> PyResult<()> {
        match self.is_closed() {
            true => Err(errors::closed("this share consumer was closed while it was polled")),
            false => Ok(()),
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }
}

impl Traverse for ShareConsumerHandle {
    fn traverse(&self, visit: &PyVisit<'_>) -> Visited {
        self.deserializers.traverse(visit)?;
        self.callback.traverse(visit)?;
        if self.own_client { token_callback::traverse(self.core.client(), visit) } else { Ok(()) }
    }
}

/// What a poll returns.
#[derive(Debug, Clone, Copy)]
pub(super) enum Target {
    Records,
    /// An Arrow batch, whose keys and values are not decoded.
    Batch,
}

/// Why records could not be delivered.
enum PopError {
    Python(PyErr),
    Core(Error),
}

impl From<Error> for PopError {
    fn from(error: Error) -> Self {
        Self::Core(error)
    }
}

/// Returns the results of a commit as a dict.
pub(super) fn commit_results(
    py: Python<'_>,
    results: BTreeMap<TopicPartition, Option<Error>>,
) -> PyResult<Bound<'_, PyDict>> {
    to_dict(py, results, |error| match error {
        Some(error) => errors::value(py, &error),
        None => Ok(py.None()),
    })
}

/// Converts an `ottla.AcknowledgeType`, or its number.
pub(super) fn acknowledge_type(value: &Bound<'_, PyAny>) -> PyResult<AcknowledgeType> {
    match value.extract::<i64>() {
        Ok(1) => Ok(AcknowledgeType::Accept),
        Ok(2) => Ok(AcknowledgeType::Release),
        Ok(3) => Ok(AcknowledgeType::Reject),
        Ok(4) => Ok(AcknowledgeType::Renew),
        _ => {
            let shown = value.repr()?.to_string();
            let message = format!(
                "{shown} is not an acknowledge type: expected ottla.AcknowledgeType.ACCEPT, RELEASE, REJECT or RENEW"
            );
            Err(errors::config(value.py(), message))
        }
    }
}

//! `ConsumerHandle`: the core's consumer with what Python adds, shared by both Python consumers.
//!
//! Invariants: nothing here waits for the GIL. Records become Python objects only as they are popped.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ottla_client::consumer::{Consumer, ConvertError};
use ottla_client::tasks::panics::try_catch;
use ottla_client::{Client, ListedOffset, OffsetSpec, Result, TopicPartition};
use parking_lot::Mutex;
use pyo3::PyVisit;
use pyo3::exceptions::{PyException, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use tokio::time::Instant;

use super::assignors::AssignorObject;
use super::deserializers::Deserializers;
use super::hooks::Hooks;
use super::interceptors::Interceptors;
use super::record::Record;
use crate::client::client_ops;
use crate::client::first_connect::FirstConnect;
use crate::consumer::commit_callbacks::{CommitCallbacks, CompletedCommit, Offsets, start_now};
use crate::consumer::poll_guard::PollLock;
use crate::consumer::rebalance_listener::RebalanceListener;
use crate::consumer::subscription_arg::SubscriptionArg;
use crate::convert::last_topic::LastTopic;
use crate::convert::record_batch::RecordBatch;
use crate::convert::{errors, offsets};
use crate::garbage::{Traverse, Visited};
use crate::runtime::{ProcessLocal, runtime, seconds};
use crate::token_callback;

pub(crate) struct ConsumerHandle {
    pub(crate) core: Consumer,
    /// Whether the client was created for this consumer and is closed with it.
    own_client: bool,
    /// With `connect=False`.
    pub(super) first_connect: Option<FirstConnect>,
    deserializers: Deserializers,
    interceptors: Option<Interceptors>,
    /// Called by tasks of the core, which end with this consumer.
    assignors: Vec<AssignorObject>,
    pub(crate) poll_lock: PollLock,
    pub(super) listener: RebalanceListener,
    pub(super) commit_callbacks: CommitCallbacks,
    pub(super) subscription: Mutex<Option<SubscriptionArg>>,
    topic: Mutex<LastTopic>,
    closed: AtomicBool,
}

impl ConsumerHandle {
    /// Creates the core's consumer on a client.
    pub(super) fn new(
        py: Python<'_>,
        client: Client,
        own_client: bool,
        first_connect: Option<FirstConnect>,
        hooks: Hooks,
    ) -> PyResult<Self> {
        let Hooks { deserializers, interceptors, assignors, assignor_objects } = hooks;
        // Long polls would delay other requests on shared connections.
        let client = if own_client { client } else { client.with_dedicated_connections() };
        let mut core =
            Consumer::new(client).with_assignors(assignors).with_typed_records(deserializers.typed().clone());
        if let Some(interceptors) = &interceptors {
            interceptors.configure(py, core.client().config())?;
            core = core.with_commit_listener(interceptors.commit_listener());
        }
        Ok(Self {
            core,
            own_client,
            first_connect,
            deserializers,
            interceptors,
            assignors: assignor_objects,
            poll_lock: PollLock::default(),
            listener: RebalanceListener::default(),
            commit_callbacks: CommitCallbacks::default(),
            subscription: Mutex::default(),
            topic: Mutex::default(),
            closed: AtomicBool::new(false),
        })
    }

    /// Returns the handle in a cell, unless the consumer was closed.
    pub(super) fn open(cell: &ProcessLocal<Arc<Self>>) -> PyResult<&Arc<Self>> {
        let handle = cell.get()?;
        if handle.is_closed() { Err(errors::closed("this consumer was closed")) } else { Ok(handle) }
    }

    /// Returns the maximum number of records of a poll. Default: `max.poll.records`.
    pub(crate) fn max_records(&self, requested: Option<usize>) -> usize {
        requested.unwrap_or(self.core.client().config().max_poll_records).max(1)
    }

    /// Converts a timeout in seconds. Default: `default.api.timeout.ms`.
    pub(super) fn timeout(&self, timeout: Option<f64>) -> PyResult<Duration> {
        seconds(timeout, self.core.client().config().default_api_timeout)
    }

    /// Notifies the interceptors that a poll begins.
    pub(super) fn on_poll(&self, py: Python<'_>) -> PyResult<()> {
        self.interceptors.iter().try_for_each(|all| all.on_poll(py))
    }

    /// Raises an error if an interceptor cannot see Arrow batches.
    pub(super) fn check_arrow(&self, py: Python<'_>) -> PyResult<()> {
        self.interceptors.iter().try_for_each(|all| all.check_arrow(py))
    }

    /// Pops the next records, at most `max_records`, as the interceptors return them; `None` if there are
    /// none.
    pub(super) fn take_records<'py>(
        &self,
        py: Python<'py>,
        max_records: usize,
    ) -> PyResult<Option<Bound<'py, PyList>>> {
        let records = self.pop_records(py, max_records)?;
        if records.is_empty() {
            return Ok(None);
        }
        let records = PyList::new(py, records)?;
        match &self.interceptors {
            Some(all) => all.on_consume(&self.core, &records, false).map(Some),
            None => Ok(Some(records)),
        }
    }

    /// Pops the next record that the interceptors do not drop, if there is one.
    pub(super) fn take_record(&self, py: Python<'_>) -> PyResult<Option<Py<Record>>> {
        let Some(all) = &self.interceptors else { return self.pop_record(py) };
        while let Some(record) = self.pop_record(py)? {
            let returned = all.on_consume(&self.core, &PyList::new(py, [record])?, true)?;
            if let Some(record) = returned.iter().next() {
                return Ok(Some(record.cast_into::<Record>()?.unbind()));
            }
        }
        Ok(None)
    }

    /// Pops the next Arrow batch, if there is one, after the interceptors have seen it.
    pub(super) fn take_batch(&self, py: Python<'_>) -> PyResult<Option<Py<RecordBatch>>> {
        match &self.interceptors {
            Some(all) => all.pop_batch(py, &self.core),
            None => self.core.pop_batch().map(|batch| Py::new(py, RecordBatch(batch))).transpose(),
        }
    }

    /// Takes back the records that the interceptors see, and the application does not have: they are not
    /// committed.
    pub(super) fn take_back(&self, py: Python<'_>) -> PyResult<()> {
        self.interceptors.iter().try_for_each(|all| all.take_back(py, &self.core))
    }

    /// Raises the error of a poll during which the consumer was closed.
    pub(crate) fn check_not_closed(&self) -> PyResult<()> {
        match self.is_closed() {
            true => Err(errors::closed("this consumer was closed while it was polled")),
            false => Ok(()),
        }
    }

    /// Notifies the interceptors of commits that succeeded.
    pub(super) fn report_commits(&self, py: Python<'_>) -> PyResult<()> {
        self.interceptors.iter().try_for_each(|all| all.report_commits(py))
    }

    /// Calls what waits for completed commits; returns whether a callback was called.
    pub(super) fn invoke_commit_callbacks(&self, py: Python<'_>) -> PyResult<bool> {
        self.report_commits(py)?;
        self.commit_callbacks.invoke_completed(py)
    }

    /// Pops the next records, at most `max_records`.
    fn pop_records(&self, py: Python<'_>, max_records: usize) -> PyResult<Vec<Py<Record>>> {
        let mut last = LastTopic::default();
        self.core.pop_records(max_records, |set, entry| {
            let topic = last.string(py, &set.partition.0);
            Record::new(&topic, set, entry, &self.deserializers, None)
                .map_err(|error| convert_error(py, error))
        })
    }

    /// Pops the next record, if there is one.
    fn pop_record(&self, py: Python<'_>) -> PyResult<Option<Py<Record>>> {
        self.core.pop_record(|set, entry| {
            Record::new(&self.topic(py, &set.partition.0), set, entry, &self.deserializers, None)
        })
    }

    /// Returns a topic's name as a string, which consecutive records share.
    pub(crate) fn topic<'py>(&self, py: Python<'py>, name: &Arc<str>) -> Bound<'py, PyString> {
        self.topic.lock().string(py, name)
    }

    /// Like [`Self::take_record`], if no poll is due.
    pub(super) fn take_buffered_record(&self, py: Python<'_>) -> PyResult<Option<Py<Record>>> {
        if self.core.polled_recently() { self.take_record(py) } else { Ok(None) }
    }

    /// Looks up offsets at an isolation level. Default: the consumer's.
    pub(super) fn list_offsets(
        &self,
        py: Python<'_>,
        specs: Vec<(TopicPartition, OffsetSpec)>,
        isolation_level: Option<&str>,
        timeout: Option<f64>,
    ) -> PyResult<impl Future<Output = Result<HashMap<TopicPartition, ListedOffset>>> + Send + 'static> {
        let client = self.core.client();
        let timeout = self.timeout(timeout)?;
        let read_committed = offsets::read_committed(py, client, isolation_level)?;
        Ok(client_ops::list_offsets(client.clone(), specs, read_committed, timeout))
    }

    /// Starts a commit without waiting for it; `callback` is called with an error or None, and the offsets.
    /// By default it commits the current positions.
    pub(super) fn commit_async(
        self: &Arc<Self>,
        offsets: Option<Offsets>,
        callback: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        if callback.as_ref().is_some_and(|callback| Python::attach(|py| !callback.bind(py).is_callable())) {
            return Err(PyTypeError::new_err("on_commit is not callable"));
        }
        let number = self.commit_callbacks.begin();
        let number = number.map_err(|error| Python::attach(|py| errors::raise(py, &error)))?;
        // The positions as of now: later polls must not change what is committed.
        let offsets = offsets.unwrap_or_else(|| self.core.positions());
        let handle = Arc::clone(self);
        let work = start_now(async move {
            let timeout = handle.core.client().config().default_api_timeout;
            let commit = handle.core.commit(Some(offsets.clone()), timeout);
            // Even after a panic the commit completes: the callbacks of later ones wait for it.
            let result = try_catch("a commit", commit).await;
            if callback.is_none()
                && let Err(error) = &result
            {
                tracing::warn!(target: "ottla.group", %error, "an asynchronous commit failed");
            }
            let completed = callback.map(|callback| CompletedCommit { callback, offsets, result });
            handle.commit_callbacks.complete(number, completed);
        })?;
        runtime()?.spawn(work);
        Ok(())
    }

    /// Ends a poll in progress; returns false if the consumer is closed already.
    pub(super) fn start_closing(&self) -> bool {
        if self.closed.load(Ordering::Acquire) {
            return false;
        }
        self.core.start_closing();
        true
    }

    /// Begins to close: waits for commits in flight, and starts to leave the group.
    pub(super) async fn begin_close(&self, timeout: Duration) {
        let deadline = Instant::now() + timeout;
        self.commit_callbacks.wait_until_idle(deadline).await;
        self.core.begin_close(deadline.saturating_duration_since(Instant::now())).await;
    }

    /// Finishes closing: leaves the group, within the timeout.
    pub(super) async fn end_close(&self, timeout: Duration) -> Result<()> {
        let left = self.core.end_close(timeout).await;
        self.closed.store(true, Ordering::Release);
        if self.own_client {
            self.core.client().close();
        }
        left
    }

    /// Drops what `subscription()` returns.
    pub(super) fn forget_subscription_names(&self) {
        *self.subscription.lock() = None;
    }

    /// Runs once the consumer is closed: closes the interceptors, and drops the subscription and its
    /// callbacks, so that no reference cycle keeps the consumer alive.
    pub(super) fn release(&self, py: Python<'_>) -> PyResult<()> {
        self.listener.set(None, None, None);
        self.forget_subscription_names();
        self.interceptors.iter().try_for_each(|all| all.close(py))
    }

    /// Drops the callbacks that may refer to the consumer, which nothing else refers to any more.
    pub(super) fn forget_callbacks(&self) {
        self.listener.set(None, None, None);
        self.commit_callbacks.forget_completed();
    }

    /// Ends the consumer at once, without leaving the group: its application has forgotten it.
    pub(super) fn abandon(&self) {
        self.closed.store(true, Ordering::Release);
        self.core.start_closing();
        if self.own_client {
            self.core.client().close();
        }
        self.forget_callbacks();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }
}

impl Traverse for ConsumerHandle {
    fn traverse(&self, visit: &PyVisit<'_>) -> Visited {
        self.deserializers.traverse(visit)?;
        self.interceptors.traverse(visit)?;
        self.assignors.iter().try_for_each(|object| object.traverse(visit))?;
        self.listener.traverse(visit)?;
        self.commit_callbacks.traverse(visit)?;
        if self.own_client { token_callback::traverse(self.core.client(), visit) } else { Ok(()) }
    }
}

/// What the error of a conversion means for the records after it: Ctrl-C, unlike an error of the record, does not occur
/// again.
pub(crate) fn convert_error(py: Python<'_>, error: PyErr) -> ConvertError<PyErr> {
    match error.is_instance_of::<PyException>(py) {
        true => ConvertError::Record(error),
        false => ConvertError::Interrupted(error),
    }
}

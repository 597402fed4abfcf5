//! `AsyncConsumerBase`: the operations of `ottla.AsyncConsumer` as native futures. Their order and the
//! callbacks, which may be coroutines, are in `python/ottla/_internal/async_consumer.py`.
//!
//! Invariants: no call blocks the loop's thread. Records and batches are popped by calls that do not
//! wait, made once the application's task runs again, so that a cancelled wait takes nothing.

use std::sync::Arc;
use std::time::Duration;

use ottla_client::OffsetSpec;
use ottla_client::consumer::{ArrowLayout, PollTarget};
use pyo3::IntoPyObjectExt;
use pyo3::PyVisit;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use super::base::{ConsumerBase, repr};
use super::blocking::{deadline_after, default_deadline};
use super::docs::docs;
use super::hooks::Hooks;
use super::partitions;
use super::record::Record;
use crate::asyncio::{FutureResult, start};
use crate::client::asynchronous as async_client;
use crate::client::client_arg::{connect_if_new, resolve_client};
use crate::client::client_ops::SnapshotRequest;
use crate::client::docs::docs as client_docs;
use crate::consumer::async_call::ConsumerCall;
use crate::consumer::commit_callbacks::{CallbackCall, start_now};
use crate::consumer::consumer_handle::ConsumerHandle;
use crate::convert::errors;
use crate::convert::names::Names;
use crate::convert::number;
use crate::convert::offsets;
use crate::convert::record_batch::RecordBatch;
use crate::garbage::Visited;
use crate::runtime::seconds;
use crate::scan;
use crate::typed::{ColumnFormat, typed_columns};

/// The methods of ``AsyncConsumer`` that return native futures.
#[pyclass(frozen, subclass, generic, extends = ConsumerBase, module = "ottla._core")]
pub(crate) struct AsyncConsumerBase {
    /// The timeout of `connect()`.
    timeout: Duration,
    own_client: bool,
}

fn handle<'a>(this: &'a Bound<'_, AsyncConsumerBase>) -> PyResult<&'a Arc<ConsumerHandle>> {
    this.as_super().get().handle()
}

/// Returns the handle, even if the consumer was closed.
fn handle_even_if_closed<'a>(this: &'a Bound<'_, AsyncConsumerBase>) -> PyResult<&'a Arc<ConsumerHandle>> {
    this.as_super().get().handle_even_if_closed()
}

#[pymethods]
impl AsyncConsumerBase {
    #[new]
    #[pyo3(signature = (bootstrap=None, config=None, *, topics=None, key_deserializer=None, value_deserializer=None, interceptors=None, timeout=None, **kwargs))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        py: Python<'_>,
        bootstrap: Option<&Bound<'_, PyAny>>,
        config: Option<&Bound<'_, PyAny>>,
        topics: Option<&Bound<'_, PyAny>>,
        key_deserializer: Option<&Bound<'_, PyAny>>,
        value_deserializer: Option<&Bound<'_, PyAny>>,
        interceptors: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let (hooks, kwargs) =
            Hooks::from_arguments(key_deserializer, value_deserializer, interceptors, kwargs)?;
        let (client, own_client) = resolve_client(py, "AsyncConsumer", bootstrap, config, kwargs.as_ref())?;
        let timeout = seconds(timeout, client.config().default_api_timeout)?;
        let base = ConsumerBase::new(ConsumerHandle::new(py, client, own_client, None, hooks)?, topics)?;
        Ok(PyClassInitializer::from(base).add_subclass(Self { timeout, own_client }))
    }

    /// Connect to the cluster, unless it is connected already.
    ///
    /// ``async with`` and the first poll connect, too.
    ///
    /// Raises:
    ///     AuthenticationError: the credentials, or the certificate of either side, were rejected.
    ///     BootstrapError: no bootstrap server could be used; the message lists each with its
    ///         cause.
    fn connect<'py>(this: &Bound<'py, Self>) -> FutureResult<'py> {
        let client = handle(this)?.core.client().clone();
        let Self { own_client, timeout } = this.get();
        start(this.py(), connect_if_new(client, *own_client, *timeout), |py, ()| Ok(py.None()))
    }

    fn _lock_poll(this: &Bound<'_, Self>) -> PyResult<()> {
        handle(this)?.poll_lock.acquire("another task").map_err(|error| errors::raise(this.py(), &error))
    }

    fn _unlock_poll(this: &Bound<'_, Self>) -> PyResult<()> {
        handle_even_if_closed(this)?.poll_lock.release();
        Ok(())
    }

    fn _poll_records(
        this: &Bound<'_, Self>,
        #[pyo3(from_py_with = number::timeout)] timeout: f64,
        #[pyo3(from_py_with = number::max_records)] max_records: Option<usize>,
        partitions: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<ConsumerCall> {
        let handle = handle(this)?;
        let target = PollTarget::Records(handle.max_records(max_records), partitions::filter(partitions)?);
        handle.on_poll(this.py())?;
        Ok(ConsumerCall::poll(handle, target, deadline_after(timeout)?))
    }

    fn _pop_records<'py>(
        this: &Bound<'py, Self>,
        #[pyo3(from_py_with = number::max_records)] max_records: Option<usize>,
    ) -> PyResult<Option<Bound<'py, PyList>>> {
        let handle = handle(this)?;
        handle.take_records(this.py(), handle.max_records(max_records))
    }

    fn _pop_record(this: &Bound<'_, Self>) -> PyResult<Option<Py<Record>>> {
        handle(this)?.take_record(this.py())
    }

    fn _poll_batch(
        this: &Bound<'_, Self>,
        #[pyo3(from_py_with = number::timeout)] timeout: f64,
        #[pyo3(from_py_with = number::max_rows)] max_rows: usize,
        columns: Option<Names>,
        include_headers: bool,
        key_format: Option<&Bound<'_, ColumnFormat>>,
        value_format: Option<&Bound<'_, ColumnFormat>>,
    ) -> PyResult<ConsumerCall> {
        let (py, handle) = (this.py(), handle(this)?);
        let columns = scan::columns(py, columns, include_headers)?;
        let typed = typed_columns(py, key_format, value_format, &columns)?;
        handle.check_arrow(py)?;
        handle.on_poll(py)?;
        let target = PollTarget::Batch(ArrowLayout { columns, typed, max_rows, ..ArrowLayout::default() });
        Ok(ConsumerCall::poll(handle, target, deadline_after(timeout)?))
    }

    fn _pop_batch(this: &Bound<'_, Self>) -> PyResult<Option<Py<RecordBatch>>> {
        handle(this)?.take_batch(this.py())
    }

    fn _buffered_records(this: Py<Self>) -> BufferedRecords {
        BufferedRecords(this)
    }

    /// Unsubscribes; returns the steps that remain, for a task that holds the lock of polling.
    fn _unsubscribe(this: &Bound<'_, Self>) -> PyResult<ConsumerCall> {
        let handle = handle(this)?;
        handle.core.unsubscribe().map_err(|error| errors::raise(this.py(), &error))?;
        handle.forget_subscription_names();
        Ok(ConsumerCall::unsubscribe(handle, default_deadline(handle)))
    }

    #[doc = client_docs!(events, "consumer")]
    #[pyo3(signature = (*, all_topics=false, timeout=None))]
    fn events<'py>(
        this: &Bound<'py, Self>,
        all_topics: bool,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        async_client::events(this.py(), handle(this)?.core.client(), all_topics, timeout)
    }

    #[doc = client_docs!(topic_names)]
    #[pyo3(signature = (*, timeout=None))]
    fn topic_names<'py>(
        this: &Bound<'py, Self>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        async_client::topic_names(this.py(), handle(this)?.core.client(), timeout)
    }

    #[doc = client_docs!(cluster)]
    #[pyo3(signature = (topics=None, *, all_topics=false, refresh=false, timeout=None))]
    fn cluster<'py>(
        this: &Bound<'py, Self>,
        topics: Option<Names>,
        all_topics: bool,
        refresh: bool,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        let request = SnapshotRequest::new(topics, all_topics, refresh);
        async_client::cluster(this.py(), handle(this)?.core.client(), request, timeout)
    }

    #[doc = client_docs!(partitions_for)]
    #[pyo3(signature = (topic, *, timeout=None))]
    fn partitions_for<'py>(
        this: &Bound<'py, Self>,
        topic: &str,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        async_client::partitions_for(this.py(), handle(this)?.core.client(), topic, timeout)
    }

    #[doc = docs!(position)]
    #[pyo3(signature = (topic, partition, *, timeout=None))]
    fn position<'py>(
        this: &Bound<'py, Self>,
        topic: &str,
        #[pyo3(from_py_with = number::partition)] partition: i32,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        let handle = Arc::clone(handle(this)?);
        let timeout = handle.timeout(timeout)?;
        let partition = (topic.into(), partition);
        let work = async move { handle.core.position(&partition, timeout).await };
        start(this.py(), work, |py, offset| offset.into_py_any(py))
    }

    /// Commit offsets to the group; the future completes with the response.
    ///
    /// Commits are sent in the order of the calls, whether or not the future is awaited.
    ///
    #[doc = docs!(commit)]
    #[pyo3(signature = (offsets=None, *, timeout=None))]
    fn commit<'py>(
        this: &Bound<'py, Self>,
        offsets: Option<&Bound<'py, PyAny>>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        let handle = Arc::clone(handle(this)?);
        let timeout = handle.timeout(timeout)?;
        // The positions as of now: later polls must not change what is committed.
        let offsets = partitions::offsets(offsets)?.unwrap_or_else(|| handle.core.positions());
        let committing = Arc::clone(&handle);
        let work = start_now(async move { committing.core.commit(Some(offsets), timeout).await })?;
        start(this.py(), work, move |py, ()| handle.report_commits(py).map(|()| py.None()))
    }

    /// Commit offsets without a future. Commits are sent in the order of the calls.
    ///
    /// Args:
    ///     offsets: as for ``commit``. Default: the positions at the time of the call.
    ///     on_commit: a function or coroutine function. A later poll or ``close`` calls it with an
    ///         error or None, and the offsets; cancelling that call cancels it. Without it, errors
    ///         are logged.
    ///
    /// Raises:
    ///     ConfigError: an offset is negative.
    ///     StateError: 10,000 commits are in flight.
    #[pyo3(signature = (offsets=None, on_commit=None))]
    fn commit_async(
        this: &Bound<'_, Self>,
        offsets: Option<&Bound<'_, PyAny>>,
        on_commit: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        handle(this)?.commit_async(partitions::offsets(offsets)?, on_commit)
    }

    /// Returns the next commit callback to call, with its arguments.
    fn _next_commit_callback(this: &Bound<'_, Self>) -> PyResult<Option<CallbackCall>> {
        let handle = handle_even_if_closed(this)?;
        handle.report_commits(this.py())?;
        handle.commit_callbacks.next_call(this.py())
    }

    #[doc = docs!(committed)]
    #[pyo3(signature = (*partitions, timeout=None))]
    fn committed<'py>(
        this: &Bound<'py, Self>,
        partitions: &Bound<'py, PyTuple>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        let handle = Arc::clone(handle(this)?);
        let timeout = handle.timeout(timeout)?;
        let partitions = this.as_super().get().partitions_or_assigned(partitions)?;
        let work = async move { handle.core.committed(partitions, timeout).await };
        start(this.py(), work, |py, offsets| Ok(partitions::committed(py, offsets)?.into_any().unbind()))
    }

    #[doc = docs!(offsets_for_times)]
    #[pyo3(signature = (timestamps, *, timeout=None))]
    fn offsets_for_times<'py>(
        this: &Bound<'py, Self>,
        timestamps: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        let specs = offsets::specs(timestamps, "timestamps")?;
        let work = handle(this)?.list_offsets(this.py(), specs, None, timeout)?;
        start(this.py(), work, |py, offsets| {
            Ok(partitions::offsets_by_time(py, offsets)?.into_any().unbind())
        })
    }

    #[doc = docs!(beginning_offsets)]
    #[pyo3(signature = (*partitions, timeout=None))]
    fn beginning_offsets<'py>(
        this: &Bound<'py, Self>,
        partitions: &Bound<'py, PyTuple>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        let work = this.as_super().get().list_offsets(partitions, OffsetSpec::Earliest, None, timeout)?;
        start(this.py(), work, |py, offsets| Ok(partitions::offsets_only(py, offsets)?.into_any().unbind()))
    }

    #[doc = docs!(end_offsets)]
    #[pyo3(signature = (*partitions, isolation_level=None, timeout=None))]
    fn end_offsets<'py>(
        this: &Bound<'py, Self>,
        partitions: &Bound<'py, PyTuple>,
        isolation_level: Option<&str>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        let base = this.as_super().get();
        let work = base.list_offsets(partitions, OffsetSpec::Latest, isolation_level, timeout)?;
        start(this.py(), work, |py, offsets| Ok(partitions::offsets_only(py, offsets)?.into_any().unbind()))
    }

    #[doc = client_docs!(client_instance_id, "consumer")]
    #[pyo3(signature = (*, timeout=None))]
    fn client_instance_id<'py>(
        this: &Bound<'py, Self>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        let handle = Arc::clone(handle(this)?);
        let timeout = handle.timeout(timeout)?;
        let work = async move { handle.core.client_instance_id(timeout).await };
        start(this.py(), work, async_client::instance_id_to_python)
    }

    /// Begins to close; returns the steps that remain, or None if the consumer is closed.
    fn _start_closing(
        this: &Bound<'_, Self>,
        #[pyo3(from_py_with = number::timeout)] timeout: f64,
    ) -> PyResult<Option<ConsumerCall>> {
        let (handle, deadline) = (handle_even_if_closed(this)?, deadline_after(timeout)?);
        Ok(handle.start_closing().then(|| ConsumerCall::close(handle, deadline)))
    }

    /// Closes the interceptors and drops the subscription, once the consumer is closed.
    fn _release(this: &Bound<'_, Self>) -> PyResult<()> {
        handle_even_if_closed(this)?.release(this.py())
    }

    fn __repr__(this: &Bound<'_, Self>) -> String {
        repr("AsyncConsumer", this.as_super().get())
    }
}

/// Pops the records that are buffered, one by one, until there are none or a poll is due.
#[pyclass(frozen, module = "ottla._core")]
pub(crate) struct BufferedRecords(Py<AsyncConsumerBase>);

#[pymethods]
impl BufferedRecords {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Visited {
        visit.call(&self.0)
    }

    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<Record>>> {
        let handle = handle(self.0.bind(py))?;
        handle.poll_lock.acquire("another task").map_err(|error| errors::raise(py, &error))?;
        let buffered = handle.on_poll(py).and_then(|()| handle.take_buffered_record(py));
        handle.poll_lock.release();
        buffered
    }
}

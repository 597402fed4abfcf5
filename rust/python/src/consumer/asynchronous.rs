//! `AsyncConsumerBase`: what `ottla.AsyncConsumer` awaits, as native futures. The order in which it does,
//! and the program's callbacks, which may be coroutines, are Python's: `python/ottla/async_consumer.py`.
//!
//! Invariants: no call waits on the loop's thread. Records and batches are handed out by calls that do
//! not wait, made once the program runs again: a wait that is cancelled takes nothing with it.

use std::sync::Arc;
use std::time::Duration;

use ottla_client::OffsetSpec;
use pyo3::exceptions::PyStopIteration;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use pyo3::{IntoPyObjectExt, intern};

use super::assignors;
use super::base::{ConsumerBase, repr};
use super::deserializers::Deserializers;
use super::partitions;
use super::record::Record;
use super::sync::deadline_after;
use crate::asyncio::start;
use crate::client::asynchronous as async_client;
use crate::client::client_arg::{connect_if_new, resolve_client};
use crate::consumer::arrow_buffer::BatchLayout;
use crate::consumer::commit_callbacks::{CallbackCall, start_now};
use crate::consumer::consumer_handle::{ConsumerHandle, PollOutcome};
use crate::consumer::rebalance_change::RebalanceChange;
use crate::convert::errors;
use crate::convert::offsets;
use crate::convert::record_batch::RecordBatch;
use crate::runtime::seconds;
use crate::scan;

/// The methods of ``AsyncConsumer`` that are native futures.
#[pyclass(frozen, subclass, generic, extends = ConsumerBase, module = "ottla._core")]
pub(crate) struct AsyncConsumerBase {
    /// For connecting.
    timeout: Duration,
    own_client: bool,
}

fn handle<'a>(this: &'a Bound<'_, AsyncConsumerBase>) -> PyResult<&'a Arc<ConsumerHandle>> {
    this.as_super().get().handle()
}

/// The handle, closed or not.
fn handle_even_if_closed<'a>(this: &'a Bound<'_, AsyncConsumerBase>) -> PyResult<&'a Arc<ConsumerHandle>> {
    this.as_super().get().handle_even_if_closed()
}

/// A record that need not be waited for, to be awaited.
#[pyclass(module = "ottla._core")]
struct ReadyRecord(Option<Py<Record>>);

#[pymethods]
impl ReadyRecord {
    fn __await__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&mut self) -> PyResult<Py<PyAny>> {
        Err(PyStopIteration::new_err((self.0.take(),)))
    }
}

/// What was found, as the loop's side wants it: a change, or whether there may be something.
fn poll_outcome(py: Python<'_>, outcome: PollOutcome) -> PyResult<Py<PyAny>> {
    match outcome {
        PollOutcome::Ready => true.into_py_any(py),
        PollOutcome::Empty => false.into_py_any(py),
        PollOutcome::Rebalance(change) => RebalanceChange(change).into_py_any(py),
    }
}

#[pymethods]
impl AsyncConsumerBase {
    #[new]
    #[pyo3(signature = (bootstrap=None, config=None, *, topics=None, key_deserializer=None, value_deserializer=None, timeout=None, **kwargs))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        py: Python<'_>,
        bootstrap: Option<&Bound<'_, PyAny>>,
        config: Option<&Bound<'_, PyAny>>,
        topics: Option<&Bound<'_, PyAny>>,
        key_deserializer: Option<&Bound<'_, PyAny>>,
        value_deserializer: Option<&Bound<'_, PyAny>>,
        timeout: Option<f64>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let deserializers = Deserializers::new(key_deserializer, value_deserializer)?;
        let (assignors, kwargs) = assignors::extract(kwargs)?;
        let (client, own_client) = resolve_client(py, "AsyncConsumer", bootstrap, config, kwargs.as_ref())?;
        let timeout = seconds(timeout, client.config().default_api_timeout)?;
        let base =
            ConsumerBase::new(ConsumerHandle::new(client, own_client, deserializers, assignors), topics)?;
        Ok(PyClassInitializer::from(base).add_subclass(Self { timeout, own_client }))
    }

    /// Find the cluster, unless it was found before.
    ///
    /// ``async with`` and the first poll do the same.
    ///
    /// Raises:
    ///     AuthenticationError: the credentials, or the certificate of either side, were rejected.
    ///     BootstrapError: no bootstrap server could be used; the message lists each with its
    ///         cause.
    fn connect<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
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

    fn _wait_for_records<'py>(
        this: &Bound<'py, Self>,
        timeout: f64,
        max_records: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (handle, deadline) = (Arc::clone(handle(this)?), deadline_after(timeout)?);
        let max_records = handle.max_records(max_records);
        start(this.py(), async move { handle.wait_for_records(deadline, max_records).await }, poll_outcome)
    }

    fn _pop_records<'py>(
        this: &Bound<'py, Self>,
        max_records: Option<usize>,
    ) -> PyResult<Bound<'py, PyList>> {
        let handle = handle(this)?;
        PyList::new(this.py(), handle.pop_records(this.py(), handle.max_records(max_records))?)
    }

    fn _pop_record(this: &Bound<'_, Self>) -> PyResult<Option<Py<Record>>> {
        handle(this)?.pop_record(this.py())
    }

    fn _wait_for_batch<'py>(
        this: &Bound<'py, Self>,
        timeout: f64,
        max_rows: usize,
        columns: Option<Vec<String>>,
        include_headers: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (handle, deadline) = (Arc::clone(handle(this)?), deadline_after(timeout)?);
        let layout = BatchLayout { columns: scan::columns(this.py(), columns, include_headers)?, max_rows };
        start(this.py(), async move { handle.wait_for_batch(deadline, &layout).await }, poll_outcome)
    }

    fn _pop_batch(this: &Bound<'_, Self>) -> PyResult<Option<RecordBatch>> {
        Ok(handle(this)?.pop_batch().map(RecordBatch))
    }

    fn __aiter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __anext__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = this.py();
        let handle = handle(this)?;
        let buffered = {
            let raise = |error| errors::raise(py, &error);
            handle.poll_lock.acquire("another task").map_err(raise)?;
            let buffered = handle.pop_buffered_record(py);
            handle.poll_lock.release();
            buffered?
        };
        match buffered {
            Some(record) => ReadyRecord(Some(record)).into_bound_py_any(py),
            None => this.call_method0(intern!(py, "_next")),
        }
    }

    fn _begin_rebalance<'py>(
        this: &Bound<'py, Self>,
        change: &Bound<'py, RebalanceChange>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (handle, change) = (Arc::clone(handle(this)?), change.get().0.clone());
        let work = async move {
            handle.core.begin(&change).await;
            Ok(())
        };
        start(this.py(), work, |py, ()| Ok(py.None()))
    }

    fn _rebalance_callback(
        this: &Bound<'_, Self>,
        change: &Bound<'_, RebalanceChange>,
    ) -> PyResult<Option<Py<PyAny>>> {
        Ok(handle(this)?.listener.callback_for(this.py(), &change.get().0))
    }

    fn _wait_for_commits<'py>(
        this: &Bound<'py, Self>,
        change: &Bound<'py, RebalanceChange>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (handle, change) = (Arc::clone(handle(this)?), change.get().0.clone());
        let work = async move {
            handle.core.settle(&change).await;
            Ok(())
        };
        start(this.py(), work, |py, ()| Ok(py.None()))
    }

    fn _finish_rebalance(this: &Bound<'_, Self>, change: &Bound<'_, RebalanceChange>) -> PyResult<()> {
        let finished = handle(this)?.core.finish(&change.get().0);
        finished.map_err(|error| errors::raise(this.py(), &error))
    }

    fn _next_pending_rebalance(this: &Bound<'_, Self>) -> PyResult<Option<RebalanceChange>> {
        Ok(handle(this)?.core.leaving().map(RebalanceChange))
    }

    fn _unsubscribe(this: &Bound<'_, Self>) -> PyResult<()> {
        handle(this)?.core.unsubscribe().map_err(|error| errors::raise(this.py(), &error))?;
        this.as_super().get().forget_subscription();
        Ok(())
    }

    /// Return the changes of the cluster and of the connections, from now on.
    ///
    /// Args:
    ///     all_topics: whether to include all topics, instead of those that this consumer uses.
    ///     timeout: seconds for looking up the topics. Default: ``default.api.timeout.ms``.
    ///
    /// See ``AsyncClient.events``.
    #[pyo3(signature = (*, all_topics=false, timeout=None))]
    fn events<'py>(
        this: &Bound<'py, Self>,
        all_topics: bool,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        async_client::events(this.py(), handle(this)?.core.client(), all_topics, timeout)
    }

    /// Return the names of all topics, internal ones included, in order.
    ///
    /// Args:
    ///     timeout: seconds. Default: ``default.api.timeout.ms``.
    ///
    /// Raises:
    ///     TimeoutError: no broker has answered in time.
    #[pyo3(signature = (*, timeout=None))]
    fn list_topics<'py>(this: &Bound<'py, Self>, timeout: Option<f64>) -> PyResult<Bound<'py, PyAny>> {
        async_client::list_topics(this.py(), handle(this)?.core.client(), timeout)
    }

    /// Return the partitions of a topic by index.
    ///
    /// Args:
    ///     topic: the topic's name. It is not made if it does not exist.
    ///     timeout: seconds. Default: ``default.api.timeout.ms``.
    ///
    /// Returns:
    ///     A dict whose keys are the partitions' numbers, from 0 on.
    ///
    /// Raises:
    ///     UnknownTopicError: the topic does not exist; known within 5 s.
    ///     TimeoutError: no broker has answered in time.
    #[pyo3(signature = (topic, *, timeout=None))]
    fn partitions_for<'py>(
        this: &Bound<'py, Self>,
        topic: &str,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        async_client::partitions_for(this.py(), handle(this)?.core.client(), topic, timeout)
    }

    /// Return the offset of the next record, once it is known.
    ///
    /// Args:
    ///     topic: the topic.
    ///     partition: the partition.
    ///     timeout: seconds. Default: ``default.api.timeout.ms``.
    ///
    /// Raises:
    ///     OffsetError: there is no committed offset, and ``auto.offset.reset`` is ``none``.
    ///     StateError: the partition is not assigned.
    ///     TimeoutError: the position is not known in time.
    #[pyo3(signature = (topic, partition, *, timeout=None))]
    fn position<'py>(
        this: &Bound<'py, Self>,
        topic: &str,
        partition: i32,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let handle = Arc::clone(handle(this)?);
        let timeout = seconds(timeout, handle.core.client().config().default_api_timeout)?;
        let partition = (topic.into(), partition);
        let work = async move { handle.core.position(&partition, timeout).await };
        start(this.py(), work, |py, offset| offset.into_py_any(py))
    }

    /// Commit offsets to the group; the future completes with the response.
    ///
    /// The commit is under way when the call returns. Commits are sent in the order of the calls.
    ///
    /// Args:
    ///     offsets: the offset of the next record to read, or an ``OffsetAndMetadata``, by
    ///         ``(topic, partition)``. Default: the positions at the time of the call.
    ///     timeout: seconds. Default: ``default.api.timeout.ms``.
    ///
    /// Raises:
    ///     AuthorizationError: the principal may not commit for the group or a topic.
    ///     CommitFailedError: the group is rebalancing, or has removed this member; other members
    ///         may have its partitions.
    ///     ConfigError: there is no ``group.id``, or an offset is negative.
    ///     TimeoutError: the group's coordinator did not respond in time.
    #[pyo3(signature = (offsets=None, *, timeout=None))]
    fn commit<'py>(
        this: &Bound<'py, Self>,
        offsets: Option<&Bound<'py, PyAny>>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let handle = Arc::clone(handle(this)?);
        let timeout = seconds(timeout, handle.core.client().config().default_api_timeout)?;
        // What is committed is what was handed out when this was called.
        let offsets = partitions::offsets(offsets)?.unwrap_or_else(|| handle.core.positions());
        let work = start_now(async move { handle.core.commit(Some(offsets), timeout).await })?;
        start(this.py(), work, |py, ()| Ok(py.None()))
    }

    /// Commit offsets without a future. Commits are sent in the order of the calls.
    ///
    /// Args:
    ///     offsets: as for ``commit``; by default the positions at the time of the call.
    ///     on_commit: a function or coroutine function, called with an error or None, and the
    ///         offsets, inside a later poll or ``close``; cancelling that cancels it. Without it,
    ///         errors are logged.
    ///
    /// Raises:
    ///     ConfigError: an offset is negative.
    ///     StateError: 10,000 commits are under way.
    #[pyo3(signature = (offsets=None, on_commit=None))]
    fn commit_async(
        this: &Bound<'_, Self>,
        offsets: Option<&Bound<'_, PyAny>>,
        on_commit: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        handle(this)?.commit_async(partitions::offsets(offsets)?, on_commit)
    }

    /// The next commit that nobody has waited for, and that has ended.
    fn _next_commit_callback(this: &Bound<'_, Self>) -> PyResult<Option<CallbackCall>> {
        handle_even_if_closed(this)?.commit_callbacks.next_call(this.py())
    }

    /// Return the offsets that the group has committed.
    ///
    /// Args:
    ///     partitions: pairs of a topic and a number. Default: all assigned partitions.
    ///     timeout: seconds. Default: ``default.api.timeout.ms``.
    ///
    /// Returns:
    ///     The offsets by ``(topic, partition)``; None where nothing is committed.
    ///
    /// Raises:
    ///     AuthorizationError: the principal may not read the group's offsets.
    ///     ConfigError: there is no ``group.id``.
    ///     TimeoutError: the group's coordinator did not respond in time.
    #[pyo3(signature = (*partitions, timeout=None))]
    fn committed<'py>(
        this: &Bound<'py, Self>,
        partitions: &Bound<'py, PyTuple>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let handle = Arc::clone(handle(this)?);
        let timeout = seconds(timeout, handle.core.client().config().default_api_timeout)?;
        let named = this.as_super().get().partitions_or_assigned(partitions)?;
        let work = async move { handle.core.committed(named, timeout).await };
        start(this.py(), work, |py, found| Ok(partitions::committed(py, found)?.into_any().unbind()))
    }

    /// Return the first record of each partition that is not older than a time.
    ///
    /// Args:
    ///     timestamps: milliseconds since 1970, by ``(topic, partition)``.
    ///     timeout: seconds. Default: ``default.api.timeout.ms``.
    ///
    /// Returns:
    ///     Offset and timestamp by ``(topic, partition)``; None where all records are older.
    ///
    /// Raises:
    ///     UnknownTopicError: a topic or a partition does not exist.
    ///     TimeoutError: a leader did not respond in time.
    #[pyo3(signature = (timestamps, *, timeout=None))]
    fn offsets_for_times<'py>(
        this: &Bound<'py, Self>,
        timestamps: &Bound<'py, PyAny>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let work = handle(this)?.list_offsets(offsets::specs(timestamps)?, timeout)?;
        start(this.py(), work, |py, found| Ok(partitions::offsets_by_time(py, found)?.into_any().unbind()))
    }

    /// Return the first offset of partitions.
    ///
    /// Args:
    ///     partitions: pairs of a topic and a number. Default: all assigned partitions.
    ///     timeout: seconds. Default: ``default.api.timeout.ms``.
    ///
    /// Raises:
    ///     UnknownTopicError: a topic or a partition does not exist.
    ///     TimeoutError: a leader did not respond in time.
    #[pyo3(signature = (*partitions, timeout=None))]
    fn beginning_offsets<'py>(
        this: &Bound<'py, Self>,
        partitions: &Bound<'py, PyTuple>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Self::plain_offsets(this, partitions, OffsetSpec::Earliest, timeout)
    }

    /// Return the end offset of partitions: the offset of the next record that is written.
    ///
    /// With ``isolation.level=read_committed`` it is the last stable offset.
    ///
    /// Args:
    ///     partitions: pairs of a topic and a number. Default: all assigned partitions.
    ///     timeout: seconds. Default: ``default.api.timeout.ms``.
    ///
    /// Raises:
    ///     UnknownTopicError: a topic or a partition does not exist.
    ///     TimeoutError: a leader did not respond in time.
    #[pyo3(signature = (*partitions, timeout=None))]
    fn end_offsets<'py>(
        this: &Bound<'py, Self>,
        partitions: &Bound<'py, PyTuple>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Self::plain_offsets(this, partitions, OffsetSpec::Latest, timeout)
    }

    fn _start_closing(this: &Bound<'_, Self>) -> PyResult<bool> {
        Ok(handle_even_if_closed(this)?.start_closing())
    }

    /// Waits for the turn, for so many seconds at max_records; true if it came, until `_leave`.
    fn _acquire_poll_lock<'py>(this: &Bound<'py, Self>, timeout: f64) -> PyResult<Bound<'py, PyAny>> {
        let (handle, deadline) = (Arc::clone(handle_even_if_closed(this)?), deadline_after(timeout)?);
        let work = async move { Ok(handle.poll_lock.acquire_by(deadline).await) };
        start(this.py(), work, |py, came| came.into_py_any(py))
    }

    fn _begin_close<'py>(this: &Bound<'py, Self>, timeout: f64) -> PyResult<Bound<'py, PyAny>> {
        let handle = Arc::clone(handle_even_if_closed(this)?);
        let timeout = seconds(Some(timeout), Duration::ZERO)?;
        let work = async move {
            handle.begin_close(timeout).await;
            Ok(())
        };
        start(this.py(), work, |py, ()| Ok(py.None()))
    }

    fn _end_close<'py>(this: &Bound<'py, Self>, timeout: f64) -> PyResult<Bound<'py, PyAny>> {
        let handle = Arc::clone(handle_even_if_closed(this)?);
        let timeout = seconds(Some(timeout), Duration::ZERO)?;
        handle.forget_callbacks();
        this.as_super().get().forget_subscription();
        start(this.py(), async move { handle.end_close(timeout).await }, |py, ()| Ok(py.None()))
    }

    fn __repr__(this: &Bound<'_, Self>) -> String {
        repr("AsyncConsumer", this.as_super().get())
    }
}

impl AsyncConsumerBase {
    fn plain_offsets<'py>(
        this: &Bound<'py, Self>,
        given: &Bound<'py, PyTuple>,
        spec: OffsetSpec,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let base = this.as_super().get();
        let wanted = partitions::with_spec(base.partitions_or_assigned(given)?, spec);
        let work = base.handle()?.list_offsets(wanted, timeout)?;
        start(this.py(), work, |py, found| Ok(partitions::offsets_only(py, found)?.into_any().unbind()))
    }
}

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
use super::sync::until;
use crate::asyncio::start;
use crate::client::asynchronous as async_client;
use crate::client::client_arg::{connect, given_or_new};
use crate::consumer::arrow_buffer::Shape;
use crate::consumer::commit_callbacks::{Ended, begin, commit_async};
use crate::consumer::consumer_handle::{Engine, Found};
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

fn engine<'a>(this: &'a Bound<'_, AsyncConsumerBase>) -> PyResult<&'a Arc<Engine>> {
    this.as_super().get().engine()
}

/// The engine, closed or not.
fn closing<'a>(this: &'a Bound<'_, AsyncConsumerBase>) -> PyResult<&'a Arc<Engine>> {
    this.as_super().get().closing()
}

/// A record that need not be waited for, to be awaited.
#[pyclass(module = "ottla._core")]
struct Ready(Option<Py<Record>>);

#[pymethods]
impl Ready {
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
fn found(py: Python<'_>, found: Found) -> PyResult<Py<PyAny>> {
    match found {
        Found::Something => true.into_py_any(py),
        Found::Nothing => false.into_py_any(py),
        Found::Change(change) => RebalanceChange(change).into_py_any(py),
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
        let (assignors, kwargs) = assignors::take(kwargs)?;
        let (client, own_client) = given_or_new(py, "AsyncConsumer", bootstrap, config, kwargs.as_ref())?;
        let timeout = seconds(timeout, client.config().default_api_timeout)?;
        let base = ConsumerBase::new(Engine::new(client, own_client, deserializers, assignors), topics)?;
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
        let client = engine(this)?.core.client().clone();
        let Self { own_client, timeout } = this.get();
        start(this.py(), connect(client, *own_client, *timeout), |py, ()| Ok(py.None()))
    }

    fn _enter(this: &Bound<'_, Self>) -> PyResult<()> {
        engine(this)?.turn.enter("another task").map_err(|error| errors::raise(this.py(), &error))
    }

    fn _leave(this: &Bound<'_, Self>) -> PyResult<()> {
        closing(this)?.turn.leave();
        Ok(())
    }

    fn _find_records<'py>(
        this: &Bound<'py, Self>,
        timeout: f64,
        max_records: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (engine, deadline) = (Arc::clone(engine(this)?), until(timeout)?);
        let most = engine.most(max_records);
        start(this.py(), async move { engine.find_records(deadline, most).await }, found)
    }

    fn _take_records<'py>(
        this: &Bound<'py, Self>,
        max_records: Option<usize>,
    ) -> PyResult<Bound<'py, PyList>> {
        let engine = engine(this)?;
        PyList::new(this.py(), engine.hand_out(this.py(), engine.most(max_records))?)
    }

    fn _take_record(this: &Bound<'_, Self>) -> PyResult<Option<Py<Record>>> {
        engine(this)?.hand_out_one(this.py())
    }

    fn _find_columns<'py>(
        this: &Bound<'py, Self>,
        timeout: f64,
        max_rows: usize,
        columns: Option<Vec<String>>,
        include_headers: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (engine, deadline) = (Arc::clone(engine(this)?), until(timeout)?);
        let shape = Shape { columns: scan::columns(this.py(), columns, include_headers)?, max_rows };
        start(this.py(), async move { engine.find_columns(deadline, &shape).await }, found)
    }

    fn _take_columns(this: &Bound<'_, Self>) -> PyResult<Option<RecordBatch>> {
        Ok(engine(this)?.hand_out_columns().map(RecordBatch))
    }

    fn __aiter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __anext__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = this.py();
        let engine = engine(this)?;
        let at_hand = {
            let raise = |error| errors::raise(py, &error);
            engine.turn.enter("another task").map_err(raise)?;
            let at_hand = engine.hand_out_at_hand(py);
            engine.turn.leave();
            at_hand?
        };
        match at_hand {
            Some(record) => Ready(Some(record)).into_bound_py_any(py),
            None => this.call_method0(intern!(py, "_next")),
        }
    }

    fn _begin<'py>(
        this: &Bound<'py, Self>,
        change: &Bound<'py, RebalanceChange>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (engine, change) = (Arc::clone(engine(this)?), change.get().0.clone());
        let work = async move {
            engine.core.prepare_rebalance(&change).await;
            Ok(())
        };
        start(this.py(), work, |py, ()| Ok(py.None()))
    }

    fn _callback(this: &Bound<'_, Self>, change: &Bound<'_, RebalanceChange>) -> PyResult<Option<Py<PyAny>>> {
        Ok(engine(this)?.listeners.of(this.py(), &change.get().0))
    }

    fn _settle<'py>(
        this: &Bound<'py, Self>,
        change: &Bound<'py, RebalanceChange>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (engine, change) = (Arc::clone(engine(this)?), change.get().0.clone());
        let work = async move {
            engine.core.await_pending_commits(&change).await;
            Ok(())
        };
        start(this.py(), work, |py, ()| Ok(py.None()))
    }

    fn _finish(this: &Bound<'_, Self>, change: &Bound<'_, RebalanceChange>) -> PyResult<()> {
        let finished = engine(this)?.core.complete_rebalance(&change.get().0);
        finished.map_err(|error| errors::raise(this.py(), &error))
    }

    fn _leaving(this: &Bound<'_, Self>) -> PyResult<Option<RebalanceChange>> {
        Ok(engine(this)?.core.next_closing_event().map(RebalanceChange))
    }

    fn _unsubscribe(this: &Bound<'_, Self>) -> PyResult<()> {
        engine(this)?.core.unsubscribe().map_err(|error| errors::raise(this.py(), &error))?;
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
        async_client::events(this.py(), engine(this)?.core.client(), all_topics, timeout)
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
        async_client::list_topics(this.py(), engine(this)?.core.client(), timeout)
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
        async_client::partitions_for(this.py(), engine(this)?.core.client(), topic, timeout)
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
        let engine = Arc::clone(engine(this)?);
        let timeout = seconds(timeout, engine.core.client().config().default_api_timeout)?;
        let partition = (topic.into(), partition);
        let work = async move { engine.core.position(&partition, timeout).await };
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
        let engine = Arc::clone(engine(this)?);
        let timeout = seconds(timeout, engine.core.client().config().default_api_timeout)?;
        // What is committed is what was handed out when this was called.
        let offsets = partitions::offsets(offsets)?.unwrap_or_else(|| engine.core.positions());
        let work = begin(async move { engine.core.commit(Some(offsets), timeout).await })?;
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
        commit_async(engine(this)?, partitions::offsets(offsets)?, on_commit)
    }

    /// The next commit that nobody has waited for, and that has ended.
    fn _ended(this: &Bound<'_, Self>) -> PyResult<Option<Ended>> {
        closing(this)?.outcomes.next(this.py())
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
        let engine = Arc::clone(engine(this)?);
        let timeout = seconds(timeout, engine.core.client().config().default_api_timeout)?;
        let named = this.as_super().get().named(partitions)?;
        let work = async move { engine.core.committed(named, timeout).await };
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
        let work = engine(this)?.list_offsets(offsets::specs(timestamps)?, timeout)?;
        start(this.py(), work, |py, found| Ok(partitions::by_time(py, found)?.into_any().unbind()))
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
        Ok(closing(this)?.start_closing())
    }

    /// Waits for the turn, for so many seconds at most; true if it came, until `_leave`.
    fn _wait_for_turn<'py>(this: &Bound<'py, Self>, timeout: f64) -> PyResult<Bound<'py, PyAny>> {
        let (engine, deadline) = (Arc::clone(closing(this)?), until(timeout)?);
        let work = async move { Ok(engine.turn.wait(deadline).await) };
        start(this.py(), work, |py, came| came.into_py_any(py))
    }

    fn _begin_close<'py>(this: &Bound<'py, Self>, timeout: f64) -> PyResult<Bound<'py, PyAny>> {
        let engine = Arc::clone(closing(this)?);
        let timeout = seconds(Some(timeout), Duration::ZERO)?;
        let work = async move {
            engine.begin_close(timeout).await;
            Ok(())
        };
        start(this.py(), work, |py, ()| Ok(py.None()))
    }

    fn _end_close<'py>(this: &Bound<'py, Self>, timeout: f64) -> PyResult<Bound<'py, PyAny>> {
        let engine = Arc::clone(closing(this)?);
        let timeout = seconds(Some(timeout), Duration::ZERO)?;
        engine.forget_callbacks();
        this.as_super().get().forget_subscription();
        start(this.py(), async move { engine.end_close(timeout).await }, |py, ()| Ok(py.None()))
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
        let wanted = partitions::each(base.named(given)?, spec);
        let work = base.engine()?.list_offsets(wanted, timeout)?;
        start(this.py(), work, |py, found| Ok(partitions::plain(py, found)?.into_any().unbind()))
    }
}

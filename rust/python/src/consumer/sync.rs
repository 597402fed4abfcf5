//! `Consumer`: a consumer for threads.

use std::future::Future;
use std::time::Duration;

use ottla_client::consumer::group::RebalanceEvent;
use ottla_client::{Error, Kind, OffsetSpec};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use tokio::time::{Instant, timeout_at};

use super::assignors;
use super::base::{ConsumerBase, repr};
use super::deserializers::Deserializers;
use super::partitions;
use super::record::Record;
use crate::client::events::Events;
use crate::client::sync as sync_client;
use crate::client::sync::Client;
use crate::consumer::arrow_buffer::Shape;
use crate::consumer::commit_callbacks::commit_async;
use crate::consumer::consumer_handle::{Engine, Found};
use crate::consumer::rebalance_change::told;
use crate::convert::errors;
use crate::convert::offsets;
use crate::convert::record_batch::RecordBatch;
use crate::runtime::{seconds, wait, wait_for};
use crate::scan;

/// How long a poll waits for the turn and `for` waits for a record: for good.
const FOREVER: f64 = f64::MAX;

/// A consumer. Iterate over it, or poll; use it in a ``with`` block, or ``close()`` it.
///
/// Iterating returns record after record, without end; a record counts as consumed once it was
/// returned. One thread polls or iterates at a time; any thread may call the other methods.
///
/// A ``with`` block that ends with an exception, Ctrl-C included, commits nothing automatically:
/// the records that were being processed are read again.
///
/// Args:
///     bootstrap: addresses as ``host:port``, or a ``Client`` or ``AsyncClient`` whose metadata it
///         shares; it makes its own connections.
///     config: configuration by Kafka's dotted names; keyword arguments are the same names with
///         underscores, and win. See ``Client``. ``partition_assignment_strategy`` also takes
///         objects: see ``ottla.assignors``.
///     topics: topics to subscribe to at once, as ``subscribe(topics)`` does.
///     key_deserializer: turns the bytes of keys into objects: see ``ottla.deserializers``. Arrow
///         columns keep the bytes.
///     value_deserializer: the same for values.
///     timeout: seconds in which the cluster must be found, as for ``Client``.
///
/// Raises:
///     AuthenticationError: the credentials, or the certificate of either side, were rejected.
///     BootstrapError: no bootstrap server could be used; the message lists each with its cause.
///     ConfigError: a key or a value is wrong, or a client was given together with configuration.
#[pyclass(frozen, generic, extends = ConsumerBase, module = "ottla")]
pub(crate) struct Consumer;

fn base<'a>(this: &'a Bound<'_, Consumer>) -> &'a ConsumerBase {
    this.as_super().get()
}

/// The end of a time that begins now.
pub(super) fn until(timeout: f64) -> PyResult<Instant> {
    Ok(Instant::now() + seconds(Some(timeout), Duration::ZERO)?)
}

/// The end of what nobody has set a time for.
fn patience(engine: &Engine) -> Instant {
    Instant::now() + engine.core.client().config().default_api_timeout
}

fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

/// Does what a rebalance wants, the program's callback included. What that raises is raised once the
/// change is finished; commits are waited for until the deadline.
fn work_off(
    this: &Bound<'_, Consumer>,
    engine: &Engine,
    change: &RebalanceEvent,
    deadline: Instant,
) -> PyResult<()> {
    let py = this.py();
    wait(py, engine.core.prepare_rebalance(change))?;
    let called = match engine.listeners.of(py, change) {
        Some(callback) => told(py, change).and_then(|told| callback.call1(py, (this, told))).map(drop),
        None => Ok(()),
    };
    // Who raises is not kept waiting.
    let settled = async { timeout_at(deadline, engine.core.await_pending_commits(change)).await };
    let called = called.and_then(|()| wait(py, settled).map(drop));
    let finished = engine.core.complete_rebalance(change).map_err(|error| errors::raise(py, &error));
    called.and(finished)
}

/// Works off what a membership that ends has for the program. The first error is raised at the end.
fn work_off_all(this: &Bound<'_, Consumer>, engine: &Engine, deadline: Instant) -> PyResult<()> {
    let mut first = Ok(());
    while Instant::now() < deadline
        && let Some(change) = engine.core.next_closing_event()
    {
        first = first.and(work_off(this, engine, &change, deadline));
    }
    first
}

/// Calls `find` and `take` until something was taken, or the time is over.
fn poll<T>(
    this: &Bound<'_, Consumer>,
    deadline: Instant,
    find: impl AsyncFind,
    mut take: impl FnMut(&Engine) -> PyResult<Option<T>>,
) -> PyResult<Option<T>> {
    let py = this.py();
    let engine = base(this).engine()?;
    let _turn = engine.turn.hold().map_err(|error| errors::raise(py, &error))?;
    loop {
        engine.outcomes.tell(py)?;
        match wait_for(py, find.find(engine, deadline))? {
            Found::Change(change) => work_off(this, engine, &change, patience(engine))?,
            Found::Nothing => return Ok(None),
            Found::Something => {
                if let Some(taken) = take(engine)? {
                    return Ok(Some(taken));
                }
            }
        }
    }
}

/// What a poll looks for.
trait AsyncFind {
    fn find(
        &self,
        engine: &Engine,
        deadline: Instant,
    ) -> impl Future<Output = ottla_client::Result<Found>> + Send;
}

struct Records(usize);

impl AsyncFind for Records {
    async fn find(&self, engine: &Engine, deadline: Instant) -> ottla_client::Result<Found> {
        engine.find_records(deadline, self.0).await
    }
}

impl AsyncFind for &Shape {
    async fn find(&self, engine: &Engine, deadline: Instant) -> ottla_client::Result<Found> {
        engine.find_columns(deadline, self).await
    }
}

#[pymethods]
impl Consumer {
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
        let (client, own_client) =
            Client::given_or_connected(py, "Consumer", bootstrap, config, timeout, kwargs.as_ref())?;
        let base = ConsumerBase::new(Engine::new(client, own_client, deserializers, assignors), topics)?;
        Ok(PyClassInitializer::from(base).add_subclass(Self))
    }

    /// Give up all partitions, and leave the group. ``on_revoked`` is called before.
    fn unsubscribe(this: &Bound<'_, Self>) -> PyResult<()> {
        let (py, base) = (this.py(), base(this));
        let engine = base.engine()?;
        engine.core.unsubscribe().map_err(|error| errors::raise(py, &error))?;
        base.forget_subscription();
        // Who polls works it off; also this thread, if this is a callback.
        let Ok(_turn) = engine.turn.hold() else { return Ok(()) };
        work_off_all(this, engine, patience(engine))
    }

    /// Return records as soon as there are any; an empty list if there are none in time.
    ///
    /// The position moves past the records at once.
    ///
    /// Args:
    ///     timeout: seconds to wait.
    ///     max_records: the maximum number of records. Default: ``max.poll.records``, 500.
    ///
    /// Raises:
    ///     OffsetError: a partition has no position, and ``auto.offset.reset`` is ``none``.
    ///     SerializationError: the next record cannot be deserialized. The position stays before
    ///         it; ``seek`` past it to continue.
    ///     StateError: nothing is subscribed to or assigned, or another thread polls.
    ///     WakeupError: ``wakeup()`` was called.
    ///     ClosedError: the consumer was closed, before or while it polled.
    #[pyo3(signature = (timeout=1.0, max_records=None))]
    fn poll<'py>(
        this: &Bound<'py, Self>,
        timeout: f64,
        max_records: Option<usize>,
    ) -> PyResult<Bound<'py, PyList>> {
        let py = this.py();
        let most = base(this).engine()?.most(max_records);
        let records = poll(this, until(timeout)?, Records(most), |engine| {
            let records = engine.hand_out(py, most)?;
            Ok((!records.is_empty()).then_some(records))
        })?;
        PyList::new(py, records.unwrap_or_default())
    }

    /// Return records as Arrow columns, or None if there are none in time.
    ///
    /// The position moves past the records at once.
    ///
    /// Args:
    ///     timeout: seconds to wait.
    ///     max_rows: the maximum number of rows. About 4 MB of keys, values and headers end a
    ///         batch, too.
    ///     columns: the columns, in that order: any of ``key``, ``value``, ``topic``,
    ///         ``partition``, ``offset``, ``timestamp``, ``timestampType`` and ``headers``.
    ///         Default: all but ``headers``.
    ///     include_headers: whether to add ``headers`` to the default columns.
    ///
    /// Raises:
    ///     ConfigError: a column does not exist, or is named twice.
    ///     KafkaError: as from ``poll``, except ``SerializationError``: columns have the bytes.
    #[pyo3(signature = (timeout=1.0, max_rows=50_000, columns=None, include_headers=false))]
    fn poll_arrow(
        this: &Bound<'_, Self>,
        timeout: f64,
        max_rows: usize,
        columns: Option<Vec<String>>,
        include_headers: bool,
    ) -> PyResult<Option<RecordBatch>> {
        let shape = Shape { columns: scan::columns(this.py(), columns, include_headers)?, max_rows };
        let batch = poll(this, until(timeout)?, &shape, |engine| Ok(engine.hand_out_columns()))?;
        Ok(batch.map(RecordBatch))
    }

    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(this: &Bound<'_, Self>) -> PyResult<Option<Py<Record>>> {
        let py = this.py();
        {
            let engine = base(this).engine()?;
            let _turn = engine.turn.hold().map_err(|error| errors::raise(py, &error))?;
            if let Some(record) = engine.hand_out_at_hand(py)? {
                return Ok(Some(record));
            }
        }
        let most = base(this).engine()?.most(None);
        loop {
            let record = poll(this, until(FOREVER)?, Records(most), |engine| engine.hand_out_one(py))?;
            if record.is_some() {
                return Ok(record);
            }
        }
    }

    /// Return the changes of the cluster and of the connections, from now on.
    ///
    /// Args:
    ///     all_topics: whether to include all topics, instead of those that this consumer uses.
    ///     timeout: seconds for looking up the topics. Default: ``default.api.timeout.ms``.
    ///
    /// See ``Client.events``.
    #[pyo3(signature = (*, all_topics=false, timeout=None))]
    fn events(this: &Bound<'_, Self>, all_topics: bool, timeout: Option<f64>) -> PyResult<Events> {
        sync_client::events(this.py(), base(this).engine()?.core.client(), all_topics, timeout)
    }

    /// Return the names of all topics, internal ones included, in order.
    ///
    /// Args:
    ///     timeout: seconds. Default: ``default.api.timeout.ms``.
    ///
    /// Raises:
    ///     TimeoutError: no broker has answered in time.
    #[pyo3(signature = (*, timeout=None))]
    fn list_topics(this: &Bound<'_, Self>, timeout: Option<f64>) -> PyResult<Vec<String>> {
        sync_client::list_topics(this.py(), base(this).engine()?.core.client(), timeout)
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
    ) -> PyResult<Bound<'py, PyDict>> {
        sync_client::partitions_for(this.py(), base(this).engine()?.core.client(), topic, timeout)
    }

    /// Return the offset of the next record, and wait until it is known.
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
    fn position(this: &Bound<'_, Self>, topic: &str, partition: i32, timeout: Option<f64>) -> PyResult<i64> {
        let core = &base(this).engine()?.core;
        let timeout = seconds(timeout, core.client().config().default_api_timeout)?;
        wait_for(this.py(), core.position(&(topic.into(), partition), timeout))
    }

    /// Commit offsets to the group, and wait for the response.
    ///
    /// Args:
    ///     offsets: the offset of the next record to read, or an ``OffsetAndMetadata``, by
    ///         ``(topic, partition)``. Default: the positions of all assigned partitions.
    ///     timeout: seconds. Default: ``default.api.timeout.ms``.
    ///
    /// Raises:
    ///     AuthorizationError: the principal may not commit for the group or a topic.
    ///     CommitFailedError: the group is rebalancing, or has removed this member; other members
    ///         may have its partitions.
    ///     ConfigError: there is no ``group.id``, or an offset is negative.
    ///     TimeoutError: the group's coordinator did not respond in time.
    #[pyo3(signature = (offsets=None, *, timeout=None))]
    fn commit(
        this: &Bound<'_, Self>,
        offsets: Option<&Bound<'_, PyAny>>,
        timeout: Option<f64>,
    ) -> PyResult<()> {
        let engine = base(this).engine()?;
        let timeout = seconds(timeout, engine.core.client().config().default_api_timeout)?;
        let committed = wait_for(this.py(), engine.core.commit(partitions::offsets(offsets)?, timeout));
        engine.outcomes.tell(this.py())?;
        committed
    }

    /// Commit offsets without waiting. Commits are sent in the order of the calls.
    ///
    /// Args:
    ///     offsets: as for ``commit``; by default the positions at the time of the call.
    ///     on_commit: called with an error or None, and the offsets, inside a later poll, commit or
    ///         close. Without it, errors are logged.
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
        commit_async(base(this).engine()?, partitions::offsets(offsets)?, on_commit)
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
    ) -> PyResult<Bound<'py, PyDict>> {
        let (py, base) = (this.py(), base(this));
        let core = &base.engine()?.core;
        let timeout = seconds(timeout, core.client().config().default_api_timeout)?;
        partitions::committed(py, wait_for(py, core.committed(base.named(partitions)?, timeout))?)
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
    ) -> PyResult<Bound<'py, PyDict>> {
        let (py, engine) = (this.py(), base(this).engine()?);
        let wanted = offsets::specs(timestamps)?;
        partitions::by_time(py, wait_for(py, engine.list_offsets(wanted, timeout)?)?)
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
    ) -> PyResult<Bound<'py, PyDict>> {
        let (py, base) = (this.py(), base(this));
        let wanted = partitions::each(base.named(partitions)?, OffsetSpec::Earliest);
        partitions::plain(py, wait_for(py, base.engine()?.list_offsets(wanted, timeout)?)?)
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
    ) -> PyResult<Bound<'py, PyDict>> {
        let (py, base) = (this.py(), base(this));
        let wanted = partitions::each(base.named(partitions)?, OffsetSpec::Latest);
        partitions::plain(py, wait_for(py, base.engine()?.list_offsets(wanted, timeout)?)?)
    }

    /// Leave the group, and close the consumer.
    ///
    /// With ``enable.auto.commit`` it commits the positions before. ``on_revoked`` is called before
    /// the partitions are given up. A poll in another thread ends with ``ClosedError``. Closing a
    /// consumer again has no effect.
    ///
    /// Args:
    ///     timeout: seconds for all of it.
    ///
    /// Raises:
    ///     TimeoutError: the group's coordinator did not respond in time; the consumer is closed.
    ///     StateError: a callback of this consumer calls it.
    #[pyo3(signature = (timeout=30.0))]
    fn close(this: &Bound<'_, Self>, timeout: f64) -> PyResult<()> {
        let (py, base) = (this.py(), base(this));
        let engine = base.closing()?;
        let deadline = until(timeout)?;
        if engine.turn.is_mine() {
            let words = "close() in a callback of the consumer: return first, or call wakeup()";
            return Err(errors::raise(py, &Error::new(Kind::State, words)));
        }
        if !engine.start_closing() {
            return Ok(());
        }
        let turn = wait(py, engine.turn.wait(deadline))?.then(|| engine.turn.taken());
        let mut outcome = engine.outcomes.tell(py);
        wait(py, engine.begin_close(left(deadline)))?;
        // Who is still in a callback after all that time holds up nobody else.
        if turn.is_some() {
            outcome = outcome.and(work_off_all(this, engine, deadline));
        }
        let left = wait_for(py, engine.end_close(left(deadline)));
        outcome = outcome.and(engine.outcomes.tell(py)).and(left);
        engine.forget_callbacks();
        base.forget_subscription();
        outcome
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __exit__(
        this: &Bound<'_, Self>,
        kind: Option<&Bound<'_, PyAny>>,
        _error: Option<&Bound<'_, PyAny>>,
        _trace: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        if kind.is_none() {
            return Self::close(this, 30.0);
        }
        let base = base(this);
        base._stop_auto_commit()?;
        let closed = Self::close(this, 30.0);
        errors::keep_that_of_the_block(this.py(), closed, |error| base._closing_failed(error))
    }

    fn __repr__(this: &Bound<'_, Self>) -> String {
        repr("Consumer", base(this))
    }
}

//! `Consumer`: a consumer for threads.

use std::future::Future;
use std::time::Duration;

use ottla_client::consumer::group::Change;
use ottla_client::{Error, Kind, OffsetSpec};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use tokio::time::{Instant, timeout_at};

use super::assignors;
use super::base::{ConsumerBase, repr};
use super::deserializers::Deserializers;
use super::partitions;
use super::record::Record;
use crate::client::client_arg::resolve_connected_client;
use crate::client::events::Events;
use crate::client::sync as sync_client;
use crate::consumer::arrow_buffer::BatchLayout;
use crate::consumer::consumer_handle::{ConsumerHandle, PollOutcome};
use crate::consumer::rebalance_change::changed_partitions;
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
pub(super) fn deadline_after(timeout: f64) -> PyResult<Instant> {
    Ok(Instant::now() + seconds(Some(timeout), Duration::ZERO)?)
}

/// The end of what nobody has set a time for.
fn default_deadline(handle: &ConsumerHandle) -> Instant {
    Instant::now() + handle.core.client().config().default_api_timeout
}

fn time_left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

/// Does what a rebalance wants, the program's callback included. What that raises is raised once the
/// change is finished; commits are waited for until the deadline.
fn handle_rebalance(
    this: &Bound<'_, Consumer>,
    handle: &ConsumerHandle,
    change: &Change,
    deadline: Instant,
) -> PyResult<()> {
    let py = this.py();
    wait(py, handle.core.begin(change))?;
    let called = match handle.listener.callback_for(py, change) {
        Some(callback) => changed_partitions(py, change)
            .and_then(|changed_partitions| callback.call1(py, (this, changed_partitions)))
            .map(drop),
        None => Ok(()),
    };
    // Who raises is not kept waiting.
    let settled = async { timeout_at(deadline, handle.core.settle(change)).await };
    let called = called.and_then(|()| wait(py, settled).map(drop));
    let finished = handle.core.finish(change).map_err(|error| errors::raise(py, &error));
    called.and(finished)
}

/// Works off what a membership that ends has for the program. The first error is raised at the end.
fn handle_pending_rebalances(
    this: &Bound<'_, Consumer>,
    handle: &ConsumerHandle,
    deadline: Instant,
) -> PyResult<()> {
    let mut first = Ok(());
    while Instant::now() < deadline
        && let Some(change) = handle.core.leaving()
    {
        first = first.and(handle_rebalance(this, handle, &change, deadline));
    }
    first
}

/// Calls `find` and `take` until something was taken, or the time is over.
fn poll<T>(
    this: &Bound<'_, Consumer>,
    deadline: Instant,
    target: impl PollTarget,
    mut take: impl FnMut(&ConsumerHandle) -> PyResult<Option<T>>,
) -> PyResult<Option<T>> {
    let py = this.py();
    let handle = base(this).handle()?;
    let _guard = handle.poll_lock.lock().map_err(|error| errors::raise(py, &error))?;
    loop {
        handle.commit_callbacks.invoke_completed(py)?;
        match wait_for(py, target.wait(handle, deadline))? {
            PollOutcome::Rebalance(change) => {
                handle_rebalance(this, handle, &change, default_deadline(handle))?
            }
            PollOutcome::Empty => return Ok(None),
            PollOutcome::Ready => {
                if let Some(taken) = take(handle)? {
                    return Ok(Some(taken));
                }
            }
        }
    }
}

/// What a poll looks for.
trait PollTarget {
    fn wait(
        &self,
        handle: &ConsumerHandle,
        deadline: Instant,
    ) -> impl Future<Output = ottla_client::Result<PollOutcome>> + Send;
}

struct UpTo(usize);

impl PollTarget for UpTo {
    async fn wait(&self, handle: &ConsumerHandle, deadline: Instant) -> ottla_client::Result<PollOutcome> {
        handle.wait_for_records(deadline, self.0).await
    }
}

impl PollTarget for &BatchLayout {
    async fn wait(&self, handle: &ConsumerHandle, deadline: Instant) -> ottla_client::Result<PollOutcome> {
        handle.wait_for_batch(deadline, self).await
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
        let (assignors, kwargs) = assignors::extract(kwargs)?;
        let (client, own_client) =
            resolve_connected_client(py, "Consumer", bootstrap, config, timeout, kwargs.as_ref())?;
        let base =
            ConsumerBase::new(ConsumerHandle::new(client, own_client, deserializers, assignors), topics)?;
        Ok(PyClassInitializer::from(base).add_subclass(Self))
    }

    /// Give up all partitions, and leave the group. ``on_revoked`` is called before.
    fn unsubscribe(this: &Bound<'_, Self>) -> PyResult<()> {
        let (py, base) = (this.py(), base(this));
        let handle = base.handle()?;
        handle.core.unsubscribe().map_err(|error| errors::raise(py, &error))?;
        base.forget_subscription();
        // Who polls works it off; also this thread, if this is a callback.
        let Ok(_guard) = handle.poll_lock.lock() else { return Ok(()) };
        handle_pending_rebalances(this, handle, default_deadline(handle))
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
        let max_records = base(this).handle()?.max_records(max_records);
        let records = poll(this, deadline_after(timeout)?, UpTo(max_records), |handle| {
            let records = handle.pop_records(py, max_records)?;
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
        let layout = BatchLayout { columns: scan::columns(this.py(), columns, include_headers)?, max_rows };
        let batch = poll(this, deadline_after(timeout)?, &layout, |handle| Ok(handle.pop_batch()))?;
        Ok(batch.map(RecordBatch))
    }

    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(this: &Bound<'_, Self>) -> PyResult<Option<Py<Record>>> {
        let py = this.py();
        {
            let handle = base(this).handle()?;
            let _guard = handle.poll_lock.lock().map_err(|error| errors::raise(py, &error))?;
            if let Some(record) = handle.pop_buffered_record(py)? {
                return Ok(Some(record));
            }
        }
        let max_records = base(this).handle()?.max_records(None);
        loop {
            let record =
                poll(this, deadline_after(FOREVER)?, UpTo(max_records), |handle| handle.pop_record(py))?;
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
        sync_client::events(this.py(), base(this).handle()?.core.client(), all_topics, timeout)
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
        sync_client::list_topics(this.py(), base(this).handle()?.core.client(), timeout)
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
        sync_client::partitions_for(this.py(), base(this).handle()?.core.client(), topic, timeout)
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
        let core = &base(this).handle()?.core;
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
        let handle = base(this).handle()?;
        let timeout = seconds(timeout, handle.core.client().config().default_api_timeout)?;
        let committed = wait_for(this.py(), handle.core.commit(partitions::offsets(offsets)?, timeout));
        handle.commit_callbacks.invoke_completed(this.py())?;
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
        base(this).handle()?.commit_async(partitions::offsets(offsets)?, on_commit)
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
        let core = &base.handle()?.core;
        let timeout = seconds(timeout, core.client().config().default_api_timeout)?;
        partitions::committed(
            py,
            wait_for(py, core.committed(base.partitions_or_assigned(partitions)?, timeout))?,
        )
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
        let (py, handle) = (this.py(), base(this).handle()?);
        let wanted = offsets::specs(timestamps)?;
        partitions::offsets_by_time(py, wait_for(py, handle.list_offsets(wanted, timeout)?)?)
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
        let wanted = partitions::with_spec(base.partitions_or_assigned(partitions)?, OffsetSpec::Earliest);
        partitions::offsets_only(py, wait_for(py, base.handle()?.list_offsets(wanted, timeout)?)?)
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
        let wanted = partitions::with_spec(base.partitions_or_assigned(partitions)?, OffsetSpec::Latest);
        partitions::offsets_only(py, wait_for(py, base.handle()?.list_offsets(wanted, timeout)?)?)
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
        let handle = base.handle_even_if_closed()?;
        let deadline = deadline_after(timeout)?;
        if handle.poll_lock.is_held_by_this_thread() {
            let message = "close() in a callback of the consumer: return first, or call wakeup()";
            return Err(errors::raise(py, &Error::new(Kind::State, message)));
        }
        if !handle.start_closing() {
            return Ok(());
        }
        let guard = wait(py, handle.poll_lock.acquire_by(deadline))?.then(|| handle.poll_lock.adopt());
        let mut result = handle.commit_callbacks.invoke_completed(py);
        wait(py, handle.begin_close(time_left(deadline)))?;
        // Who is still in a callback after all that time holds up nobody else.
        if guard.is_some() {
            result = result.and(handle_pending_rebalances(this, handle, deadline));
        }
        let left = wait_for(py, handle.end_close(time_left(deadline)));
        result = result.and(handle.commit_callbacks.invoke_completed(py)).and(left);
        handle.forget_callbacks();
        base.forget_subscription();
        result
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
        errors::prefer_block_error(this.py(), closed, |error| base._closing_failed(error))
    }

    fn __repr__(this: &Bound<'_, Self>) -> String {
        repr("Consumer", base(this))
    }
}

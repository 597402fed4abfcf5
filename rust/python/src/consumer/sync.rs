//! `Consumer`: the consumer for threads; `blocking` has its poll loop.

use std::sync::Arc;

use ottla_client::OffsetSpec;
use ottla_client::consumer::{ArrowLayout, PollTarget};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use super::base::{ConsumerBase, repr};
use super::blocking::{self, default_deadline, poll, poll_args};
use super::docs::docs;
use super::hooks::Hooks;
use super::partitions;
use super::record::Record;
use crate::client::client_arg::{Connecting, resolve_connected_client};
use crate::client::client_ops::SnapshotRequest;
use crate::client::cluster::Cluster;
use crate::client::docs::docs as client_docs;
use crate::client::events::Events;
use crate::client::first_connect::FirstConnect;
use crate::client::sync as sync_client;
use crate::consumer::consumer_handle::ConsumerHandle;
use crate::consumer::poll_guard::Activity;
use crate::convert::errors;
use crate::convert::names::Names;
use crate::convert::number;
use crate::convert::offsets;
use crate::convert::record_batch::RecordBatch;
use crate::convert::renamed;
use crate::runtime::wait_for;
use crate::scan;
use crate::typed::{ColumnFormat, typed_columns};

/// A consumer: iterate over it or ``poll()`` it.
///
/// Use it in a ``with`` block, or ``close()`` it. Iterating returns records without end; a record
/// counts as consumed once it was returned. One thread polls or iterates at a time; any thread may
/// call the other methods.
///
/// A ``with`` block that ends with an exception, including Ctrl-C, commits nothing automatically:
/// the records in processing are read again.
///
/// Args:
///     bootstrap: addresses as ``host:port``, or a ``Client`` or ``AsyncClient`` whose metadata to
///         share; the consumer opens its own connections.
///     config: configuration by Kafka's dotted names. Keyword arguments are the same names with
///         underscores and take precedence. See ``Client``. ``partition_assignment_strategy``
///         also takes objects: see ``ottla.assignors``.
///     topics: topics to subscribe to, as with ``subscribe(topics)``. Default: none.
///     key_deserializer: converts the bytes of keys; see ``ottla.deserializers``. Arrow columns
///         keep the bytes. Default: keys stay bytes.
///     value_deserializer: the same for values.
///     interceptors: see what a poll returns, and may replace it, and are notified of commits; see
///         ``ottla.interceptors``.
///     timeout: seconds to find the cluster, as for ``Client``.
///     connect: whether to connect now. Otherwise the first poll does, within its own timeout; what
///         is not found then, later polls go on to look for.
///
/// Raises:
///     AuthenticationError: the credentials, or the certificate of either side, were rejected.
///     BootstrapError: no bootstrap server could be used; the message lists each with its cause.
///     ConfigError: a key or a value is invalid, or a client is combined with configuration.
#[pyclass(frozen, generic, extends = ConsumerBase, module = "ottla")]
pub(crate) struct Consumer;

fn base<'a>(this: &'a Bound<'_, Consumer>) -> &'a ConsumerBase {
    this.as_super().get()
}

fn handle<'a>(this: &'a Bound<'_, Consumer>) -> PyResult<&'a Arc<ConsumerHandle>> {
    base(this).handle()
}

#[pymethods]
impl Consumer {
    #[new]
    #[pyo3(signature = (bootstrap=None, config=None, *, topics=None, key_deserializer=None, value_deserializer=None, interceptors=None, timeout=None, connect=true, **kwargs))]
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
        connect: bool,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let (hooks, kwargs) =
            Hooks::from_arguments(key_deserializer, value_deserializer, interceptors, kwargs)?;
        let connecting = Connecting { connect, timeout };
        let (client, own_client) =
            resolve_connected_client(py, "Consumer", bootstrap, config, connecting, kwargs.as_ref())?;
        let first_connect = FirstConnect::of(&client, own_client, connecting)?;
        let handle = ConsumerHandle::new(py, client, own_client, first_connect, hooks)?;
        Ok(PyClassInitializer::from(ConsumerBase::new(handle, topics)?).add_subclass(Self))
    }

    /// Give up all partitions, and leave the group; calls ``on_revoked`` first.
    fn unsubscribe(this: &Bound<'_, Self>) -> PyResult<()> {
        let (py, base) = (this.py(), base(this));
        let handle = base.handle()?;
        handle.core.unsubscribe().map_err(|error| errors::raise(py, &error))?;
        handle.forget_subscription_names();
        // If the lock is held, the poll handles the change; this thread may be in a callback of it.
        let Ok(_guard) = handle.poll_lock.lock(Activity::Callback) else { return Ok(()) };
        blocking::handle_pending_rebalances(this, handle, default_deadline(handle))
    }

    /// Return records as soon as there are any, or an empty list after the timeout.
    ///
    /// The positions move past the returned records.
    ///
    /// Args:
    ///     timeout: seconds to wait. Default: 1.
    ///     max_records: the maximum number of records. Default: ``max.poll.records``, 500.
    ///         A list also ends after about 16 MB of records.
    ///     partitions: return records of these partitions only, as pairs of a topic and a number.
    ///         Records of others stay for later polls. Default: all.
    ///
    /// Raises:
    ///     OffsetError: a partition has no valid position, and ``auto.offset.reset`` is ``none``.
    ///     SerializationError: the next record cannot be deserialized. The position stays before
    ///         it; ``seek`` past it to continue.
    ///     StateError: there is no subscription or assignment, or another thread or task polls.
    ///     WakeupError: ``wakeup()`` was called.
    ///     ClosedError: the consumer was closed before or during the poll.
    #[pyo3(signature = (*, timeout=1.0, max_records=None, partitions=None))]
    fn poll<'py>(
        this: &Bound<'py, Self>,
        #[pyo3(from_py_with = number::timeout)] timeout: f64,
        #[pyo3(from_py_with = number::max_records)] max_records: Option<usize>,
        partitions: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let py = this.py();
        let max_records = handle(this)?.max_records(max_records);
        let args = poll_args(PollTarget::Records(max_records, partitions::filter(partitions)?), timeout)?;
        handle(this)?.on_poll(py)?;
        let records = poll(this, handle(this)?, &args, |handle| handle.take_records(py, max_records))?;
        Ok(records.unwrap_or_else(|| PyList::empty(py)))
    }

    /// Return records as Arrow columns, or None after the timeout.
    ///
    /// The positions move past the returned records.
    ///
    /// Args:
    ///     timeout: seconds to wait. Default: 1.
    ///     max_rows: the maximum number of rows. A batch also ends after about 4 MB of keys, values
    ///         and headers.
    ///     columns: the columns, in this order: any of ``key``, ``value``, ``topic``,
    ///         ``partition``, ``offset``, ``timestamp``, ``timestampType`` and ``headers``.
    ///         Default: all but ``headers``.
    ///     include_headers: whether to add ``headers`` to the default columns.
    ///     key_format: how keys with a schema are decoded, such as ``ottla.schema.Avro(registry)``.
    ///         Pass the same object each time. Default: keys stay bytes.
    ///     value_format: the same for values.
    ///
    /// Raises:
    ///     ConfigError: a column does not exist or is listed twice, or an interceptor has no
    ///         ``on_consume_arrow``.
    ///     SchemaError: there is no schema to read with, or it cannot be used.
    ///     SerializationError: the next key or value cannot be decoded. The position stays before
    ///         it; ``seek`` past it to continue.
    ///     KafkaError: as for ``poll``, and the errors of the schema registry. No record is lost.
    #[pyo3(signature = (*, timeout=1.0, max_rows=50_000, columns=None, include_headers=false, key_format=None, value_format=None, **renamed), text_signature = "($self, *, timeout=1.0, max_rows=50000, columns=None, include_headers=False, key_format=None, value_format=None)")]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn poll_arrow(
        this: &Bound<'_, Self>,
        #[pyo3(from_py_with = number::timeout)] timeout: f64,
        #[pyo3(from_py_with = number::max_rows)] max_rows: usize,
        columns: Option<Names>,
        include_headers: bool,
        key_format: Option<&Bound<'_, ColumnFormat>>,
        value_format: Option<&Bound<'_, ColumnFormat>>,
        renamed: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Option<Py<RecordBatch>>> {
        let py = this.py();
        renamed::refuse_old_formats(py, "poll_arrow", renamed)?;
        let columns = scan::columns(py, columns, include_headers)?;
        let typed = typed_columns(py, key_format, value_format, &columns)?;
        handle(this)?.check_arrow(py)?;
        let target = PollTarget::Batch(ArrowLayout { columns, typed, max_rows, ..ArrowLayout::default() });
        let args = poll_args(target, timeout)?;
        handle(this)?.on_poll(py)?;
        poll(this, handle(this)?, &args, |handle| handle.take_batch(py))
    }

    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(this: &Bound<'_, Self>) -> PyResult<Option<Py<Record>>> {
        blocking::next_record(this, handle(this)?).map(Some)
    }

    #[doc = client_docs!(events, "consumer")]
    #[pyo3(signature = (*, all_topics=false, timeout=None))]
    fn events(
        this: &Bound<'_, Self>,
        all_topics: bool,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Events> {
        sync_client::events(this.py(), handle(this)?.core.client(), all_topics, timeout)
    }

    #[doc = client_docs!(topic_names)]
    #[pyo3(signature = (*, timeout=None))]
    fn topic_names(
        this: &Bound<'_, Self>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Vec<String>> {
        sync_client::topic_names(this.py(), handle(this)?.core.client(), timeout)
    }

    #[doc = client_docs!(cluster)]
    #[pyo3(signature = (topics=None, *, all_topics=false, refresh=false, timeout=None))]
    fn cluster(
        this: &Bound<'_, Self>,
        topics: Option<Names>,
        all_topics: bool,
        refresh: bool,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Cluster> {
        let request = SnapshotRequest::new(topics, all_topics, refresh);
        sync_client::cluster(this.py(), handle(this)?.core.client(), request, timeout)
    }

    #[doc = client_docs!(partitions_for)]
    #[pyo3(signature = (topic, *, timeout=None))]
    fn partitions_for<'py>(
        this: &Bound<'py, Self>,
        topic: &str,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        sync_client::partitions_for(this.py(), handle(this)?.core.client(), topic, timeout)
    }

    #[doc = docs!(position)]
    #[pyo3(signature = (topic, partition, *, timeout=None))]
    fn position(
        this: &Bound<'_, Self>,
        topic: &str,
        #[pyo3(from_py_with = number::partition)] partition: i32,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<i64> {
        let handle = handle(this)?;
        let timeout = handle.timeout(timeout)?;
        wait_for(this.py(), handle.core.position(&(topic.into(), partition), timeout))
    }

    /// Commit offsets to the group, and wait for the response.
    ///
    #[doc = docs!(commit)]
    #[pyo3(signature = (offsets=None, *, timeout=None))]
    fn commit(
        this: &Bound<'_, Self>,
        offsets: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<()> {
        let handle = handle(this)?;
        let timeout = handle.timeout(timeout)?;
        let committed = wait_for(this.py(), handle.core.commit(partitions::offsets(offsets)?, timeout));
        handle.invoke_commit_callbacks(this.py())?;
        committed
    }

    /// Commit offsets without waiting. Commits are sent in the order of the calls.
    ///
    /// Args:
    ///     offsets: as for ``commit``. Default: the positions at the time of the call.
    ///     on_commit: a callback that a later poll, commit or close calls with an error or None,
    ///         and the offsets. Without it, errors are logged.
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

    #[doc = docs!(committed)]
    #[pyo3(signature = (*partitions, timeout=None))]
    fn committed<'py>(
        this: &Bound<'py, Self>,
        partitions: &Bound<'py, PyTuple>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (py, base) = (this.py(), base(this));
        let handle = base.handle()?;
        let timeout = handle.timeout(timeout)?;
        let partitions = base.partitions_or_assigned(partitions)?;
        partitions::committed(py, wait_for(py, handle.core.committed(partitions, timeout))?)
    }

    #[doc = docs!(offsets_for_times)]
    #[pyo3(signature = (timestamps, *, timeout=None))]
    fn offsets_for_times<'py>(
        this: &Bound<'py, Self>,
        timestamps: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (py, handle) = (this.py(), handle(this)?);
        let specs = offsets::specs(timestamps, "timestamps")?;
        partitions::offsets_by_time(py, wait_for(py, handle.list_offsets(py, specs, None, timeout)?)?)
    }

    #[doc = docs!(beginning_offsets)]
    #[pyo3(signature = (*partitions, timeout=None))]
    fn beginning_offsets<'py>(
        this: &Bound<'py, Self>,
        partitions: &Bound<'py, PyTuple>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let offsets = base(this).list_offsets(partitions, OffsetSpec::Earliest, None, timeout)?;
        partitions::offsets_only(this.py(), wait_for(this.py(), offsets)?)
    }

    #[doc = docs!(end_offsets)]
    #[pyo3(signature = (*partitions, isolation_level=None, timeout=None))]
    fn end_offsets<'py>(
        this: &Bound<'py, Self>,
        partitions: &Bound<'py, PyTuple>,
        isolation_level: Option<&str>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let base = base(this);
        let offsets = base.list_offsets(partitions, OffsetSpec::Latest, isolation_level, timeout)?;
        partitions::offsets_only(this.py(), wait_for(this.py(), offsets)?)
    }

    #[doc = client_docs!(client_instance_id, "consumer")]
    #[pyo3(signature = (*, timeout=None))]
    fn client_instance_id(
        this: &Bound<'_, Self>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<String> {
        let handle = base(this).handle()?;
        let timeout = handle.timeout(timeout)?;
        Ok(wait_for(this.py(), handle.core.client_instance_id(timeout))?.to_string())
    }

    /// Leave the group, and close the consumer.
    ///
    /// It first commits the positions (with ``enable.auto.commit``) and calls ``on_revoked``. A
    /// poll in progress ends with ``ClosedError``. Closing a closed consumer has no effect. In
    /// blocking code a signal handler may call it, also while this thread polls: the poll ends
    /// after the handler with its exception, or else with ``ClosedError``.
    ///
    /// Args:
    ///     timeout: seconds for all of this. Default: 30.
    ///
    /// Raises:
    ///     TimeoutError: the group's coordinator did not respond in time; the consumer is closed.
    ///     StateError: a callback of this consumer called it.
    #[pyo3(signature = (*, timeout=30.0))]
    fn close(this: &Bound<'_, Self>, #[pyo3(from_py_with = number::timeout)] timeout: f64) -> PyResult<()> {
        blocking::close(this, base(this).handle_even_if_closed()?, timeout)
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

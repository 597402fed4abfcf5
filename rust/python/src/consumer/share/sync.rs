//! `ShareConsumer`: the share consumer for threads.

use std::sync::Arc;

use ottla_client::Error;
use ottla_client::Kind;
use ottla_client::consumer::ArrowLayout;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use tokio::time::Instant;

use super::base::{ShareConsumerBase, repr};
use super::handle::{ShareConsumerHandle, Target, commit_results};
use crate::client::client_arg::{Connecting, resolve_connected_client};
use crate::client::first_connect::FirstConnect;
use crate::consumer::blocking::deadline_after;
use crate::consumer::deserializers::Deserializers;
use crate::consumer::poll_guard::Activity;
use crate::consumer::record::Record;
use crate::convert::errors;
use crate::convert::names::Names;
use crate::convert::number;
use crate::convert::record_batch::RecordBatch;
use crate::runtime::wait_for;
use crate::scan;

/// A member of a share group (KIP-932): iterate over it or ``poll()`` it.
///
/// The members of a share group read the same partitions together: each acquires records, under a
/// lock with a time limit, and acknowledges them one by one. So a group may have more members than
/// partitions, and a record that fails is delivered again, to any member. Kafka 4.2 or newer.
///
/// With ``share_acknowledgement_mode="implicit"``, the default, the next poll or a commit accepts
/// the records of the last poll. With ``"explicit"``, the application acknowledges each record
/// before the next poll.
///
/// Use it in a ``with`` block, or ``close()`` it. Both release the records that were not
/// acknowledged, those of the last poll included: call ``commit()`` first if they are processed.
/// One thread polls at a time; any thread may call ``wakeup``.
///
/// Args:
///     bootstrap: addresses as ``host:port``, or a ``Client`` or ``AsyncClient`` whose metadata to
///         share; the consumer opens its own connections.
///     config: configuration by Kafka's dotted names; ``group.id`` is required. Keyword arguments
///         are the same names with underscores and take precedence. See ``Client``.
///     topics: topics to subscribe to, as with ``subscribe(topics)``. Default: none.
///     key_deserializer: converts the bytes of keys; see ``ottla.deserializers``; or a format of
///         ``ottla.schema``. Arrow columns keep the bytes. Default: keys stay bytes.
///     value_deserializer: the same for values.
///     timeout: seconds to find the cluster, as for ``Client``.
///     connect: whether to connect now; otherwise the first poll does, as of a ``Consumer``.
///
/// Raises:
///     AuthenticationError: the credentials, or the certificate of either side, were rejected.
///     BootstrapError: no bootstrap server could be used; the message lists each with its cause.
///     ConfigError: a key or a value is invalid, ``group.id`` is missing, or a client is combined
///         with configuration.
#[pyclass(frozen, generic, extends = ShareConsumerBase, module = "ottla")]
pub(crate) struct ShareConsumer {
    /// With `connect=False`.
    first_connect: Option<FirstConnect>,
}

fn base<'a>(this: &'a Bound<'_, ShareConsumer>) -> &'a ShareConsumerBase {
    this.as_super().get()
}

fn handle<'a>(this: &'a Bound<'_, ShareConsumer>) -> PyResult<&'a Arc<ShareConsumerHandle>> {
    base(this).handle()
}

/// Polls until `pop` returns something, or until the deadline.
fn poll<T>(
    this: &Bound<'_, ShareConsumer>,
    target: Target,
    deadline: Instant,
    pop: impl Fn(&ShareConsumerHandle) -> PyResult<Option<T>>,
) -> PyResult<Option<T>> {
    let (py, handle) = (this.py(), handle(this)?);
    let _guard = handle.poll_lock.lock(Activity::Callback).map_err(|error| errors::raise(py, &error))?;
    handle.invoke_callback(py)?;
    handle.poll_lock.set_activity(Activity::Interruptible);
    FirstConnect::wait(&this.get().first_connect, py, deadline)?;
    let mut is_ready = wait_for(py, async {
        handle.core.begin_poll()?;
        handle.wait(target, deadline).await
    })?;
    while is_ready {
        handle.poll_lock.set_activity(Activity::Callback);
        handle.invoke_callback(py)?;
        handle.poll_lock.set_activity(Activity::Interruptible);
        let popped = pop(handle)?;
        handle.check_not_closed()?;
        if popped.is_some() {
            return Ok(popped);
        }
        is_ready = wait_for(py, handle.wait(target, deadline))?;
    }
    Ok(None)
}

fn close(this: &Bound<'_, ShareConsumer>, timeout: f64) -> PyResult<()> {
    let (py, handle) = (this.py(), base(this).handle_even_if_closed()?);
    let interrupted = handle.poll_lock.activity_of_this_thread();
    if interrupted == Some(Activity::Callback) {
        let message = "close() in a callback of the consumer: return first, or call wakeup()";
        return Err(errors::raise(py, &Error::new(Kind::State, message)));
    }
    let timeout = handle.timeout(Some(timeout))?;
    // In a signal handler, the poll that it interrupts ends when the handler returns.
    let closed = wait_for(py, handle.close(timeout, interrupted.is_none()));
    closed.and(handle.invoke_callback(py))
}

#[pymethods]
impl ShareConsumer {
    #[new]
    #[pyo3(signature = (bootstrap=None, config=None, *, topics=None, key_deserializer=None, value_deserializer=None, timeout=None, connect=true, **kwargs))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        py: Python<'_>,
        bootstrap: Option<&Bound<'_, PyAny>>,
        config: Option<&Bound<'_, PyAny>>,
        topics: Option<&Bound<'_, PyAny>>,
        key_deserializer: Option<&Bound<'_, PyAny>>,
        value_deserializer: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
        connect: bool,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let deserializers = Deserializers::new(key_deserializer, value_deserializer)?;
        let connecting = Connecting { connect, timeout };
        let (client, own_client) =
            resolve_connected_client(py, "ShareConsumer", bootstrap, config, connecting, kwargs)?;
        let first_connect = FirstConnect::of(&client, own_client, connecting)?;
        let handle = ShareConsumerHandle::new(client, own_client, deserializers);
        let base = ShareConsumerBase::new(handle.map_err(|error| errors::raise(py, &error))?, topics)?;
        Ok(PyClassInitializer::from(base).add_subclass(Self { first_connect }))
    }

    /// Acquire and return records as soon as there are any, or an empty list after the timeout.
    ///
    /// First the records of the last poll are acknowledged. Records whose lock was renewed are
    /// returned again.
    ///
    /// Args:
    ///     timeout: seconds to wait. Default: 1.
    ///     max_records: the maximum number of records. Default: ``max.poll.records``, 500.
    ///         A list also ends after about 16 MB of records.
    ///
    /// Raises:
    ///     SerializationError: a record cannot be deserialized. It is released, unless
    ///         ``acknowledge_offsets`` says otherwise before the next poll.
    ///     StateError: there is no subscription, another thread or task polls, or records of the
    ///         last poll are not acknowledged with ``share.acknowledgement.mode=explicit``.
    ///     UnsupportedVersionError: the brokers have no share groups.
    ///     WakeupError: ``wakeup()`` was called.
    ///     ClosedError: the consumer was closed before or during the poll.
    #[pyo3(signature = (*, timeout=1.0, max_records=None))]
    fn poll<'py>(
        this: &Bound<'py, Self>,
        #[pyo3(from_py_with = number::timeout)] timeout: f64,
        #[pyo3(from_py_with = number::max_records)] max_records: Option<usize>,
    ) -> PyResult<Bound<'py, PyList>> {
        let py = this.py();
        let max_records = handle(this)?.max_records(max_records);
        let records = poll(this, Target::Records, deadline_after(timeout)?, |handle| {
            let records = handle.pop_records(py, max_records)?;
            Ok((!records.is_empty()).then_some(records))
        })?;
        PyList::new(py, records.unwrap_or_default())
    }

    /// Acquire and return records as Arrow columns, or None after the timeout.
    ///
    /// First the records of the last poll are acknowledged.
    ///
    /// Args:
    ///     timeout: seconds to wait. Default: 1.
    ///     max_rows: the maximum number of rows.
    ///     columns: the columns, in this order: any of ``key``, ``value``, ``topic``,
    ///         ``partition``, ``offset``, ``timestamp``, ``timestampType`` and ``headers``.
    ///         Default: all but ``headers``. The column ``deliveryCount`` (int16) is always added
    ///         as the last one: 1 for a record that is delivered for the first time.
    ///     include_headers: whether to add ``headers`` to the default columns.
    ///
    /// Raises:
    ///     ConfigError: a column does not exist or is listed twice.
    ///     KafkaError: as for ``poll``, except ``SerializationError``: columns keep the bytes.
    #[pyo3(signature = (*, timeout=1.0, max_rows=50_000, columns=None, include_headers=false))]
    fn poll_arrow(
        this: &Bound<'_, Self>,
        #[pyo3(from_py_with = number::timeout)] timeout: f64,
        #[pyo3(from_py_with = number::max_rows)] max_rows: usize,
        columns: Option<Names>,
        include_headers: bool,
    ) -> PyResult<Option<RecordBatch>> {
        let py = this.py();
        let columns = scan::columns(py, columns, include_headers)?;
        let layout = ArrowLayout { columns, max_rows, ..ArrowLayout::default() };
        poll(this, Target::Batch, deadline_after(timeout)?, |handle| handle.pop_batch(py, &layout))
    }

    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(this: &Bound<'_, Self>) -> PyResult<Option<Py<Record>>> {
        let (py, handle) = (this.py(), handle(this)?);
        let buffered = handle.take_buffered_record(py, |lock| lock.lock(Activity::Interruptible))?;
        if buffered.is_some() {
            return Ok(buffered);
        }
        let deadline = deadline_after(f64::MAX)?;
        poll(this, Target::Records, deadline, |handle| Ok(handle.pop_records(py, 1)?.pop()))
    }

    /// Send the acknowledgements of delivered records, and wait for the results.
    ///
    /// With ``share.acknowledgement.mode=implicit`` it accepts the records of the last poll; with
    /// ``explicit`` it sends what was acknowledged.
    ///
    /// Args:
    ///     timeout: seconds. Default: ``default.api.timeout.ms``.
    ///
    /// Returns:
    ///     The result by ``(topic, partition)``: None, or the ``KafkaError`` for which records of
    ///     the partition were not acknowledged, or may not have been; those are delivered again.
    #[pyo3(signature = (*, timeout=None))]
    fn commit<'py>(
        this: &Bound<'py, Self>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (py, handle) = (this.py(), handle(this)?);
        let timeout = handle.timeout(timeout)?;
        let results = wait_for(py, handle.core.commit(timeout))?;
        handle.invoke_callback(py)?;
        commit_results(py, results)
    }

    /// Send pending acknowledgements, release all other records, and leave the group.
    ///
    /// With ``share.acknowledgement.mode=implicit``, the records of the last poll are released and
    /// delivered again, to any member: only the next poll or ``commit()`` accepts them.
    ///
    /// A poll in progress ends with ``ClosedError``. Closing a closed consumer has no effect. In
    /// blocking code a signal handler may call it, also while this thread polls: the poll ends
    /// after the handler with its exception, or else with ``ClosedError``.
    ///
    /// Args:
    ///     timeout: seconds for all of this. Default: 30.
    ///
    /// Raises:
    ///     TimeoutError: a broker did not respond in time; the consumer is closed.
    ///     StateError: a callback of this consumer called it.
    #[pyo3(signature = (*, timeout=30.0))]
    fn close(this: &Bound<'_, Self>, #[pyo3(from_py_with = number::timeout)] timeout: f64) -> PyResult<()> {
        close(this, timeout)
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
        let closed = close(this, 30.0);
        if kind.is_none() {
            return closed;
        }
        errors::prefer_block_error(this.py(), closed, |error| base(this)._closing_failed(error))
    }

    fn __repr__(this: &Bound<'_, Self>) -> String {
        repr("ShareConsumer", base(this))
    }
}

//! `AsyncShareConsumerBase`: the operations of `ottla.AsyncShareConsumer` as native futures. Their order and
//! the callback, which may be a coroutine function, are in `python/ottla/_internal/async_share_consumer.py`.
//!
//! Invariant: no call blocks the loop's thread. Records are delivered by calls that do not wait, made once
//! the application's task runs again, so that a cancelled wait delivers nothing.

use std::sync::Arc;
use std::time::Duration;

use ottla_client::consumer::ArrowLayout;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::base::{ShareConsumerBase, repr};
use super::handle::{CallbackCall, ShareConsumerHandle, Target, commit_results};
use crate::asyncio::{FutureResult, start};
use crate::client::client_arg::{connect_if_new, resolve_client};
use crate::consumer::blocking::deadline_after;
use crate::consumer::deserializers::Deserializers;
use crate::consumer::record::Record;
use crate::convert::errors;
use crate::convert::names::Names;
use crate::convert::number;
use crate::convert::record_batch::RecordBatch;
use crate::runtime::seconds;
use crate::scan;
use pyo3::IntoPyObjectExt;

/// The methods of ``AsyncShareConsumer`` that return native futures.
#[pyclass(frozen, subclass, generic, extends = ShareConsumerBase, module = "ottla._core")]
pub(crate) struct AsyncShareConsumerBase {
    /// The timeout of `connect()`.
    timeout: Duration,
    own_client: bool,
}

fn handle<'a>(this: &'a Bound<'_, AsyncShareConsumerBase>) -> PyResult<&'a Arc<ShareConsumerHandle>> {
    this.as_super().get().handle()
}

/// Returns the handle, even if the consumer was closed.
fn handle_even_if_closed<'a>(
    this: &'a Bound<'_, AsyncShareConsumerBase>,
) -> PyResult<&'a Arc<ShareConsumerHandle>> {
    this.as_super().get().handle_even_if_closed()
}

#[pymethods]
impl AsyncShareConsumerBase {
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
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let deserializers = Deserializers::new(key_deserializer, value_deserializer)?;
        let (client, own_client) = resolve_client(py, "AsyncShareConsumer", bootstrap, config, kwargs)?;
        let timeout = seconds(timeout, client.config().default_api_timeout)?;
        let handle = ShareConsumerHandle::new(client, own_client, deserializers);
        let base = ShareConsumerBase::new(handle.map_err(|error| errors::raise(py, &error))?, topics)?;
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

    /// Pops the next record if there is one without waiting.
    fn _take_buffered_record(this: &Bound<'_, Self>) -> PyResult<Option<Py<Record>>> {
        handle(this)?.take_buffered_record(this.py(), |lock| {
            lock.acquire("another task")?;
            Ok(lock.adopt())
        })
    }

    /// Begins a poll, unless one has begun, and waits; returns whether records, or a batch, can be popped.
    fn _wait<'py>(
        this: &Bound<'py, Self>,
        #[pyo3(from_py_with = number::timeout)] timeout: f64,
        begins: bool,
        is_batch: bool,
    ) -> FutureResult<'py> {
        let (handle, deadline) = (Arc::clone(handle(this)?), deadline_after(timeout)?);
        let target = if is_batch { Target::Batch } else { Target::Records };
        let work = async move {
            if begins {
                handle.core.begin_poll()?;
            }
            handle.wait(target, deadline).await
        };
        start(this.py(), work, |py, is_ready| is_ready.into_py_any(py))
    }

    fn _pop_records<'py>(
        this: &Bound<'py, Self>,
        #[pyo3(from_py_with = number::max_records)] max_records: Option<usize>,
    ) -> PyResult<Bound<'py, PyList>> {
        let handle = handle(this)?;
        PyList::new(this.py(), handle.pop_records(this.py(), handle.max_records(max_records))?)
    }

    fn _pop_batch(
        this: &Bound<'_, Self>,
        #[pyo3(from_py_with = number::max_rows)] max_rows: usize,
        columns: Option<Names>,
        include_headers: bool,
    ) -> PyResult<Option<RecordBatch>> {
        let columns = scan::columns(this.py(), columns, include_headers)?;
        let layout = ArrowLayout { columns, max_rows, ..ArrowLayout::default() };
        handle(this)?.pop_batch(this.py(), &layout)
    }

    fn _commit<'py>(
        this: &Bound<'py, Self>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        let handle = Arc::clone(handle(this)?);
        let timeout = handle.timeout(timeout)?;
        let work = async move { handle.core.commit(timeout).await };
        start(this.py(), work, |py, results| Ok(commit_results(py, results)?.into_any().unbind()))
    }

    /// Returns the next callback to call, with its arguments.
    fn _next_callback(this: &Bound<'_, Self>) -> PyResult<Option<CallbackCall>> {
        handle_even_if_closed(this)?.next_callback(this.py())
    }

    fn _close<'py>(
        this: &Bound<'py, Self>,
        #[pyo3(from_py_with = number::timeout)] timeout: f64,
    ) -> FutureResult<'py> {
        let handle = Arc::clone(handle_even_if_closed(this)?);
        let timeout = handle.timeout(Some(timeout))?;
        let work = async move { handle.close(timeout, true).await };
        start(this.py(), work, |py, ()| Ok(py.None()))
    }

    fn __repr__(this: &Bound<'_, Self>) -> String {
        repr("AsyncShareConsumer", this.as_super().get())
    }
}

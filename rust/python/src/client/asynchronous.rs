//! `AsyncClient`: `Client` for asyncio, over the same `client_ops`.
//!
//! Its free functions serve the same methods of `AsyncProducer` and `AsyncConsumer`.

use std::time::Duration;

use ottla_client::Client as Core;
use ottla_protocol::wire::Uuid;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::asyncio::{FutureResult, start};
use crate::client::async_events::AsyncEvents;
use crate::client::base::ClientBase;
use crate::client::client_ops::{self, SnapshotRequest};
use crate::client::cluster::{self, Cluster};
use crate::client::docs::docs;
use crate::client::sync::LAST_METRICS;
use crate::config;
use crate::convert::item_errors::ItemErrors;
use crate::convert::names::Names;
use crate::convert::number;
use crate::convert::offsets;
use crate::runtime::{CLOSE_TIMEOUT, seconds};
use crate::scan::{AsyncScanBase, RangeArguments, ScanArgs, ScanRequest, scan_request};
use crate::token_callback;
use crate::typed::ColumnFormat;

/// A client of one Kafka cluster for asyncio; it mirrors ``Client``.
///
/// Methods that block there return a native future of the running loop here and use no thread.
/// Cancelling the future cancels the request. Several loops may use one client.
///
/// Creating a client does not connect it: ``async with``, ``connect()`` or the first call does.
///
/// Args:
///     bootstrap: addresses as ``host:port``, as a string or a list (``bootstrap.servers``); one
///         that responds is enough.
///     config: configuration by Kafka's dotted names. Keyword arguments are the same names with
///         underscores and take precedence. See ``Client``.
///     timeout: seconds for ``connect()`` to find the cluster, in which servers that fail are tried
///         again. Default: ``default.api.timeout.ms``, 60 s.
///
/// Raises:
///     ConfigError: a key or a value is invalid.
#[pyclass(frozen, extends = ClientBase, module = "ottla")]
pub(crate) struct AsyncClient {
    /// For connecting.
    timeout: Duration,
}

fn base<'a>(this: &'a Bound<'_, AsyncClient>) -> &'a ClientBase {
    this.as_super().get()
}

impl AsyncClient {
    /// Creates a client over an existing core, which connects within `timeout`.
    fn with_timeout(core: Core, timeout: Duration) -> PyClassInitializer<Self> {
        PyClassInitializer::from(ClientBase::new(core)).add_subclass(Self { timeout })
    }

    /// Creates a client over an existing core.
    pub(crate) fn of(core: Core) -> PyClassInitializer<Self> {
        let timeout = core.config().default_api_timeout;
        Self::with_timeout(core, timeout)
    }
}

#[pymethods]
impl AsyncClient {
    #[new]
    #[pyo3(signature = (bootstrap=None, config=None, *, timeout=None, **kwargs))]
    fn new(
        py: Python<'_>,
        bootstrap: Option<&Bound<'_, PyAny>>,
        config: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let (config, environment) = config::config(py, bootstrap, config, kwargs)?;
        let timeout = seconds(timeout, config.default_api_timeout)?;
        let core = config::new_client(py, config, environment)?;
        Ok(Self::with_timeout(core, timeout))
    }

    /// Connect to the cluster, unless it is connected already.
    ///
    /// Raises:
    ///     AuthenticationError: the credentials, or the certificate of either side, were rejected.
    ///     BootstrapError: no bootstrap server could be used; the message lists each with its
    ///         cause.
    fn connect<'py>(this: &Bound<'py, Self>) -> FutureResult<'py> {
        let (core, timeout) = (base(this).core()?.clone(), this.get().timeout);
        start(this.py(), async move { core.find_cluster(timeout).await }, |py, ()| Ok(py.None()))
    }

    #[doc = docs!(cluster)]
    #[pyo3(signature = (topics=None, *, all_topics=false, refresh=false, timeout=None))]
    fn cluster<'py>(
        this: &Bound<'py, Self>,
        topics: Option<Names>,
        all_topics: bool,
        refresh: bool,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        let request = SnapshotRequest::new(topics, all_topics, refresh);
        cluster(this.py(), base(this).core()?, request, timeout)
    }

    #[doc = docs!(topic_names)]
    #[pyo3(signature = (*, timeout=None))]
    fn topic_names<'py>(
        this: &Bound<'py, Self>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        topic_names(this.py(), base(this).core()?, timeout)
    }

    #[doc = docs!(partitions_for)]
    #[pyo3(signature = (topic, *, timeout=None))]
    fn partitions_for<'py>(
        this: &Bound<'py, Self>,
        topic: &str,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        partitions_for(this.py(), base(this).core()?, topic, timeout)
    }

    #[doc = docs!(events, "client")]
    #[pyo3(signature = (*, all_topics=false, timeout=None))]
    fn events<'py>(
        this: &Bound<'py, Self>,
        all_topics: bool,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        events(this.py(), base(this).core()?, all_topics, timeout)
    }

    #[doc = docs!(client_instance_id, "client")]
    #[pyo3(signature = (*, timeout=None))]
    fn client_instance_id<'py>(
        this: &Bound<'py, Self>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        let py = this.py();
        let (core, timeout) = base(this).call(timeout)?;
        start(py, async move { core.client_instance_id(timeout).await }, instance_id_to_python)
    }

    #[doc = docs!(list_offsets)]
    #[pyo3(signature = (specs, *, isolation_level=None, errors="raise", timeout=None))]
    fn list_offsets<'py>(
        this: &Bound<'py, Self>,
        specs: &Bound<'py, PyAny>,
        isolation_level: Option<&str>,
        errors: &str,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        let py = this.py();
        let (core, timeout) = base(this).call(timeout)?;
        let errors = ItemErrors::parse(py, errors)?;
        let specs = offsets::specs(specs, "specs")?;
        let read_committed = offsets::read_committed(py, &core, isolation_level)?;
        let call = async move { Ok(core.list_offsets_each(specs, read_committed, timeout).await) };
        start(py, call, move |py, listed| offsets::to_dict(py, listed, errors))
    }

    #[pyo3(signature = (ranges, *, columns, include_headers, max_rows, target_bytes, fail_on_data_loss, timeout, key_format, value_format))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn _scan<'py>(
        this: &Bound<'py, Self>,
        #[pyo3(from_py_with = scan_request::range_arguments)] ranges: Vec<RangeArguments>,
        columns: Option<Names>,
        include_headers: bool,
        #[pyo3(from_py_with = number::max_rows)] max_rows: usize,
        #[pyo3(from_py_with = number::target_bytes)] target_bytes: usize,
        fail_on_data_loss: bool,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
        key_format: Option<&Bound<'py, ColumnFormat>>,
        value_format: Option<&Bound<'py, ColumnFormat>>,
    ) -> FutureResult<'py> {
        let py = this.py();
        let core = base(this).core()?.clone();
        let options = ScanArgs {
            columns,
            include_headers,
            max_rows,
            target_bytes,
            fail_on_data_loss,
            timeout,
            key_format,
            value_format,
        };
        let request = ScanRequest::new(py, &core, ranges, options)?;
        token_callback::share(&core);
        let work = async move {
            request.resolve().await?;
            Ok(request.start(core))
        };
        start(py, work, |py, scan| AsyncScanBase::of(scan).into_py_any(py))
    }

    #[doc = docs!(close)]
    #[pyo3(signature = (*, timeout=None))]
    fn close<'py>(
        this: &Bound<'py, Self>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        let py = this.py();
        let timeout = seconds(timeout, CLOSE_TIMEOUT)?.min(LAST_METRICS);
        let core = base(this).core_even_if_closed()?.clone();
        start(
            py,
            async move {
                core.close_telemetry(timeout).await;
                core.close();
                Ok(())
            },
            |py, ()| Ok(py.None()),
        )
    }

    fn __aenter__<'py>(this: &Bound<'py, Self>) -> FutureResult<'py> {
        let py = this.py();
        let (core, timeout) = (base(this).core()?.clone(), this.get().timeout);
        let this = this.clone().into_any().unbind();
        start(py, async move { core.find_cluster(timeout).await }, |_, ()| Ok(this))
    }

    #[pyo3(signature = (*_args))]
    fn __aexit__<'py>(this: &Bound<'py, Self>, _args: &Bound<'py, PyAny>) -> FutureResult<'py> {
        Self::close(this, None)
    }
}

/// Returns a snapshot of the cluster's metadata.
pub(crate) fn cluster<'py>(
    py: Python<'py>,
    core: &Core,
    request: SnapshotRequest,
    timeout: Option<f64>,
) -> FutureResult<'py> {
    let timeout = seconds(timeout, core.config().default_api_timeout)?;
    start(py, client_ops::cluster(core.clone(), request, timeout), |py, snapshot| {
        Cluster::from(snapshot).into_py_any(py)
    })
}

/// Returns the partitions of an existing topic, by number.
pub(crate) fn partitions_for<'py>(
    py: Python<'py>,
    core: &Core,
    topic: &str,
    timeout: Option<f64>,
) -> FutureResult<'py> {
    let timeout = seconds(timeout, core.config().default_api_timeout)?;
    start(py, client_ops::topic(core.clone(), topic.into(), timeout), |py, topic| {
        cluster::partitions(py, &topic)?.into_py_any(py)
    })
}

/// Returns the names of all topics, in alphabetical order.
pub(crate) fn topic_names<'py>(py: Python<'py>, core: &Core, timeout: Option<f64>) -> FutureResult<'py> {
    let timeout = seconds(timeout, core.config().default_api_timeout)?;
    start(py, client_ops::topic_names(core.clone(), timeout), |py, names| names.into_py_any(py))
}

/// Subscribes to changes of the cluster and of the connections.
pub(crate) fn events<'py>(
    py: Python<'py>,
    core: &Core,
    all_topics: bool,
    timeout: Option<f64>,
) -> FutureResult<'py> {
    let timeout = seconds(timeout, core.config().default_api_timeout)?;
    start(py, client_ops::events(core.clone(), all_topics, timeout), |py, (receiver, subscription)| {
        AsyncEvents::new(receiver, subscription).into_py_any(py)
    })
}

/// Converts a client instance id.
pub(crate) fn instance_id_to_python(py: Python<'_>, id: Uuid) -> PyResult<Py<PyAny>> {
    Ok(id.to_string().into_pyobject(py)?.into_any().unbind())
}

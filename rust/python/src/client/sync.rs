//! `Client`: metadata, offsets, events and scans, for threads.
//!
//! Its free functions serve the same methods of `Producer` and `Consumer`.

use std::time::Duration;

use ottla_client::Client as Core;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::client::base::ClientBase;
use crate::client::client_ops::{self, SnapshotRequest};
use crate::client::cluster::{self, Cluster};
use crate::client::docs::docs;
use crate::client::events::Events;
use crate::config;
use crate::convert::item_errors::ItemErrors;
use crate::convert::names::Names;
use crate::convert::number;
use crate::convert::offsets;
use crate::convert::renamed;
use crate::runtime::{CLOSE_TIMEOUT, runtime, seconds, wait, wait_for};
use crate::scan::{RangeArguments, Scan, ScanArgs, ScanRequest, scan_request};
use crate::token_callback;
use crate::typed::ColumnFormat;

/// The longest time that closing a client waits for the last metrics.
pub(crate) const LAST_METRICS: Duration = Duration::from_secs(1);

/// A client of one Kafka cluster: metadata, offsets, events and scans.
///
/// Use it in a ``with`` block, or ``close()`` it. Any thread may use it. Producers, consumers and
/// admins can share it.
///
/// Args:
///     bootstrap: addresses as ``host:port``, as a string or a list (``bootstrap.servers``); one
///         that responds is enough.
///     config: configuration by Kafka's dotted names. Keyword arguments are the same names with
///         underscores and take precedence. ``sasl_oauth_token`` is a callable for OAUTHBEARER
///         (KIP-255), called on a thread of its own whenever a new token is needed. It returns a
///         token, ``(token, expiry)`` or ``(token, expiry, extensions)``: the expiry in seconds
///         since 1970 or as an aware ``datetime``, the extensions as a dict.
///     timeout: seconds to find the cluster; the error comes as soon as every server has failed.
///         Default: ``default.api.timeout.ms``, 60 s.
///     connect: whether to connect now. Otherwise the configuration is checked, nothing is started,
///         and each call that needs the cluster connects within its own timeout.
///
/// Raises:
///     AuthenticationError: the credentials, or the certificate of either side, were rejected.
///     BootstrapError: no bootstrap server could be used; the message lists each with its cause.
///     ConfigError: a key or a value is invalid.
#[pyclass(frozen, extends = ClientBase, module = "ottla")]
pub(crate) struct Client;

fn base<'a>(this: &'a Bound<'_, Client>) -> &'a ClientBase {
    this.as_super().get()
}

impl Client {
    /// A client over an existing engine.
    pub(crate) fn of(core: Core) -> PyClassInitializer<Self> {
        PyClassInitializer::from(ClientBase::new(core)).add_subclass(Self)
    }

    /// Creates a core, and connects it if `connect` is set.
    fn new_core(
        py: Python<'_>,
        bootstrap: Option<&Bound<'_, PyAny>>,
        config: Option<&Bound<'_, PyAny>>,
        timeout: Option<f64>,
        connect: bool,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Core> {
        let (config, environment) = config::config(py, bootstrap, config, kwargs)?;
        let timeout = seconds(timeout, config.default_api_timeout)?;
        let core = if connect {
            wait_for(py, Core::connect(config, environment, timeout))
        } else {
            config::new_client(py, config, environment)
        }?;
        Ok(core)
    }
}

#[pymethods]
impl Client {
    #[new]
    #[pyo3(signature = (bootstrap=None, config=None, *, timeout=None, connect=true, **kwargs))]
    fn new(
        py: Python<'_>,
        bootstrap: Option<&Bound<'_, PyAny>>,
        config: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
        connect: bool,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        Self::new_core(py, bootstrap, config, timeout, connect, kwargs).map(Self::of)
    }

    #[doc = docs!(cluster)]
    #[pyo3(signature = (topics=None, *, all_topics=false, refresh=false, timeout=None))]
    fn cluster(
        this: &Bound<'_, Self>,
        topics: Option<Names>,
        all_topics: bool,
        refresh: bool,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Cluster> {
        let request = SnapshotRequest::new(topics, all_topics, refresh);
        cluster(this.py(), base(this).core()?, request, timeout)
    }

    #[doc = docs!(topic_names)]
    #[pyo3(signature = (*, timeout=None))]
    fn topic_names(
        this: &Bound<'_, Self>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Vec<String>> {
        topic_names(this.py(), base(this).core()?, timeout)
    }

    #[doc = docs!(partitions_for)]
    #[pyo3(signature = (topic, *, timeout=None))]
    fn partitions_for<'py>(
        this: &Bound<'py, Self>,
        topic: &str,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        partitions_for(this.py(), base(this).core()?, topic, timeout)
    }

    #[doc = docs!(events, "client")]
    #[pyo3(signature = (*, all_topics=false, timeout=None))]
    fn events(
        this: &Bound<'_, Self>,
        all_topics: bool,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Events> {
        events(this.py(), base(this).core()?, all_topics, timeout)
    }

    #[doc = docs!(client_instance_id, "client")]
    #[pyo3(signature = (*, timeout=None))]
    fn client_instance_id(
        this: &Bound<'_, Self>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<String> {
        let py = this.py();
        let timeout = base(this).timeout(timeout)?;
        Ok(wait_for(py, base(this).core()?.client_instance_id(timeout))?.to_string())
    }

    #[doc = docs!(list_offsets)]
    #[pyo3(signature = (specs, *, isolation_level=None, errors="raise", timeout=None))]
    fn list_offsets(
        this: &Bound<'_, Self>,
        specs: &Bound<'_, PyAny>,
        isolation_level: Option<&str>,
        errors: &str,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Py<PyAny>> {
        let py = this.py();
        let core = base(this).core()?;
        let errors = ItemErrors::parse(py, errors)?;
        let specs = offsets::specs(specs, "specs")?;
        let read_committed = offsets::read_committed(py, core, isolation_level)?;
        let timeout = base(this).timeout(timeout)?;
        let listed = wait(py, core.list_offsets_each(specs, read_committed, timeout))?;
        offsets::to_dict(py, listed, errors)
    }

    /// Read ranges of offsets as Arrow batches; ``ottla.scan`` takes topics and times.
    ///
    /// Args:
    ///     ranges: ``(topic, partition, start, end)``; ``end`` is exclusive. With an end of None,
    ///         the scan follows the log until it is closed.
    ///     columns: the columns to read, in this order. Default: all but ``headers``.
    ///     include_headers: whether to add ``headers`` to the default columns.
    ///     max_rows: the maximum number of rows in a batch.
    ///     target_bytes: the number of bytes of keys, values and headers that ends a batch.
    ///     fail_on_data_loss: whether to raise if records of a range were deleted. Otherwise
    ///         they are skipped with a warning.
    ///     timeout: seconds without progress after which the scan fails. Default:
    ///         ``default.api.timeout.ms``.
    ///     key_format: how keys with a schema are decoded, such as ``ottla.schema.Avro(registry)``.
    ///         Default: keys stay bytes.
    ///     value_format: the same for values.
    ///
    /// Returns:
    ///     A scan, which starts reading in the background. Iterating over it raises read errors.
    ///
    /// Raises:
    ///     ConfigError: a range, a column or a limit is invalid.
    ///     SchemaError: there is no schema to read with, or it cannot be used.
    #[pyo3(signature = (ranges, *, columns=None, include_headers=false, max_rows=50_000, target_bytes=4_194_304, fail_on_data_loss=true, timeout=None, key_format=None, value_format=None, **renamed), text_signature = "($self, ranges, *, columns=None, include_headers=False, max_rows=50000, target_bytes=4194304, fail_on_data_loss=True, timeout=None, key_format=None, value_format=None)")]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn scan(
        this: &Bound<'_, Self>,
        #[pyo3(from_py_with = scan_request::range_arguments)] ranges: Vec<RangeArguments>,
        columns: Option<Names>,
        include_headers: bool,
        #[pyo3(from_py_with = number::max_rows)] max_rows: usize,
        #[pyo3(from_py_with = number::target_bytes)] target_bytes: usize,
        fail_on_data_loss: bool,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
        key_format: Option<&Bound<'_, ColumnFormat>>,
        value_format: Option<&Bound<'_, ColumnFormat>>,
        renamed: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Scan> {
        let py = this.py();
        renamed::refuse_old_formats(py, "scan", renamed)?;
        let core = base(this).core()?;
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
        let request = ScanRequest::new(py, core, ranges, options)?;
        wait_for(py, request.resolve())?;
        let runtime = runtime()?;
        let _entered = runtime.enter();
        token_callback::share(core);
        Ok(Scan::of(request.start(core.clone())))
    }

    #[doc = docs!(close)]
    #[pyo3(signature = (*, timeout=None))]
    fn close(
        this: &Bound<'_, Self>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<()> {
        let py = this.py();
        let core = base(this).core_even_if_closed()?;
        let timeout = seconds(timeout, CLOSE_TIMEOUT)?.min(LAST_METRICS);
        if core.has_telemetry() {
            wait(py, core.close_telemetry(timeout))?;
        }
        py.detach(|| core.close());
        Ok(())
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (*_args))]
    fn __exit__(this: &Bound<'_, Self>, _args: &Bound<'_, PyAny>) -> PyResult<()> {
        Self::close(this, None)
    }
}

/// Returns a snapshot of the cluster's metadata.
pub(crate) fn cluster(
    py: Python<'_>,
    core: &Core,
    request: SnapshotRequest,
    timeout: Option<f64>,
) -> PyResult<Cluster> {
    let timeout = seconds(timeout, core.config().default_api_timeout)?;
    let snapshot = match client_ops::cached_snapshot(core, &request) {
        Some(snapshot) => snapshot,
        None => wait_for(py, client_ops::cluster(core.clone(), request, timeout))?,
    };
    Ok(Cluster::from(snapshot))
}

/// Returns the partitions of an existing topic, by number.
pub(crate) fn partitions_for<'py>(
    py: Python<'py>,
    core: &Core,
    topic: &str,
    timeout: Option<f64>,
) -> PyResult<Bound<'py, PyDict>> {
    let timeout = seconds(timeout, core.config().default_api_timeout)?;
    cluster::partitions(py, &*wait_for(py, client_ops::topic(core.clone(), topic.into(), timeout))?)
}

/// Returns the names of all topics, in alphabetical order.
pub(crate) fn topic_names(py: Python<'_>, core: &Core, timeout: Option<f64>) -> PyResult<Vec<String>> {
    let timeout = seconds(timeout, core.config().default_api_timeout)?;
    wait_for(py, client_ops::topic_names(core.clone(), timeout))
}

/// Subscribes to changes of the cluster and of the connections.
pub(crate) fn events(
    py: Python<'_>,
    core: &Core,
    all_topics: bool,
    timeout: Option<f64>,
) -> PyResult<Events> {
    let timeout = seconds(timeout, core.config().default_api_timeout)?;
    let (receiver, subscription) = wait_for(py, client_ops::events(core.clone(), all_topics, timeout))?;
    Ok(Events::new(receiver, subscription))
}

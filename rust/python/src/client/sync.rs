//! `Client`: metadata, offsets, events and scans, for threads.
//!
//! Its free functions serve the same methods of `Producer` and `Consumer`.

use std::time::Duration;

use ottla_client::Client as Core;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::client::client_ops::{self, SnapshotRequest};
use crate::client::cluster::{self, Cluster};
use crate::client::connections::{Connections, connections};
use crate::client::events::Events;
use crate::client::metrics::metrics;
use crate::client::request_statistics::{RequestStatistics, request_statistics};
use crate::config;
use crate::convert::errors;
use crate::convert::item_errors::ItemErrors;
use crate::convert::names::Names;
use crate::convert::number;
use crate::convert::offsets;
use crate::convert::renamed;
use crate::runtime::{CLOSE_TIMEOUT, ProcessLocal, runtime, seconds, wait, wait_for};
use crate::scan::{RangeArguments, Scan, ScanArgs, ScanRequest, scan_request};
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
///     timeout: seconds to find the cluster, in which servers that fail are tried again. Default:
///         ``default.api.timeout.ms``, 60 s.
///     connect: whether to connect now. Otherwise the first call connects.
///
/// Raises:
///     AuthenticationError: the credentials, or the certificate of either side, were rejected.
///     BootstrapError: no bootstrap server could be used; the message lists each with its cause.
///     ConfigError: a key or a value is invalid.
#[pyclass(frozen, module = "ottla")]
pub(crate) struct Client {
    core: ProcessLocal<Core>,
}

impl Client {
    /// A client over an existing engine.
    pub(crate) fn of(core: Core) -> Self {
        Self { core: ProcessLocal::new(core) }
    }

    /// Returns the core, unless the client was closed.
    pub(crate) fn core(&self) -> PyResult<&Core> {
        let core = self.core.get()?;
        if core.is_closed() { Err(errors::closed("this client was closed")) } else { Ok(core) }
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
            Core::new(config, environment).map_err(|error| errors::raise(py, &error))
        }?;
        Ok(core)
    }

    fn timeout(&self, timeout: Option<f64>) -> PyResult<Duration> {
        seconds(timeout, self.core()?.config().default_api_timeout)
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
    ) -> PyResult<Self> {
        let core = Self::new_core(py, bootstrap, config, timeout, connect, kwargs)?;
        Ok(Self { core: ProcessLocal::new(core) })
    }

    /// Return a snapshot of the cluster's metadata.
    ///
    /// Args:
    ///     topics: topics that the snapshot must contain. Unknown topics are looked up, and
    ///         refreshed until they were unused for ``metadata.max.idle.ms`` (5 minutes).
    ///     all_topics: whether to look up all topics of the cluster, for this call only.
    ///     refresh: whether to request new metadata even if everything is cached.
    ///     timeout: seconds. Default: ``default.api.timeout.ms``.
    ///
    /// Raises:
    ///     UnknownTopicError: a topic does not exist.
    ///     TimeoutError: the cluster did not respond in time.
    #[pyo3(signature = (topics=None, *, all_topics=false, refresh=false, timeout=None))]
    fn cluster(
        &self,
        py: Python<'_>,
        topics: Option<Names>,
        all_topics: bool,
        refresh: bool,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Cluster> {
        let core = self.core()?;
        let request = SnapshotRequest::new(topics, all_topics, refresh);
        let snapshot = match client_ops::cached_snapshot(core, &request) {
            Some(snapshot) => snapshot,
            None => wait_for(py, client_ops::cluster(core.clone(), request, self.timeout(timeout)?))?,
        };
        Ok(Cluster::from(snapshot))
    }

    /// Return the names of all topics, internal ones included, in alphabetical order.
    ///
    /// Args:
    ///     timeout: seconds. Default: ``default.api.timeout.ms``.
    ///
    /// Raises:
    ///     TimeoutError: the cluster did not respond in time.
    #[pyo3(signature = (*, timeout=None))]
    fn topic_names(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Vec<String>> {
        topic_names(py, self.core()?, timeout)
    }

    /// The old name of ``topic_names()``, which raises an ``AttributeError``.
    #[getter]
    fn list_topics(&self) -> PyResult<Py<PyAny>> {
        Err(renamed::old_method("Client.list_topics()", "topic_names()"))
    }

    /// Return the partitions of a topic, by number.
    ///
    /// Args:
    ///     topic: the topic's name. A topic that does not exist is not created.
    ///     timeout: seconds. Default: ``default.api.timeout.ms``.
    ///
    /// Returns:
    ///     A dict whose keys are the partitions' numbers, starting at 0.
    ///
    /// Raises:
    ///     UnknownTopicError: the topic does not exist; raised within 5 s.
    ///     TimeoutError: no broker responded in time.
    #[pyo3(signature = (topic, *, timeout=None))]
    fn partitions_for<'py>(
        &self,
        py: Python<'py>,
        topic: &str,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        partitions_for(py, self.core()?, topic, timeout)
    }

    /// Return the id of a partition's leader from cached metadata, without waiting.
    ///
    /// Args:
    ///     topic: the topic's name.
    ///     partition: the partition's number.
    ///
    /// Returns:
    ///     The id, or None if the partition has no leader or is not known.
    fn leader(
        &self,
        topic: &str,
        #[pyo3(from_py_with = number::partition)] partition: i32,
    ) -> PyResult<Option<i32>> {
        Ok(self.core()?.leader(topic, partition))
    }

    /// Subscribe to changes of the cluster and of the connections.
    ///
    /// While the returned object exists, metadata is refreshed every ``events.metadata.max.age.ms``
    /// (5 s), so that an idle client notices changes.
    ///
    /// Args:
    ///     all_topics: whether to include all topics, new ones too, instead of only those that this
    ///         client uses. Existing topics cause no events.
    ///     timeout: seconds for looking up the topics. Default: ``default.api.timeout.ms``.
    ///
    /// Raises:
    ///     TimeoutError: the cluster did not respond in time.
    #[pyo3(signature = (*, all_topics=false, timeout=None))]
    fn events(
        &self,
        py: Python<'_>,
        all_topics: bool,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Events> {
        events(py, self.core()?, all_topics, timeout)
    }

    /// Return the state of each connection, by broker, without waiting.
    fn connections(&self) -> PyResult<Connections> {
        Ok(connections(self.core()?))
    }

    /// Return the client's metrics, by the Java client's names, without waiting.
    ///
    /// See ``ottla.Metrics`` for their meaning.
    fn metrics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        metrics(py, self.core()?.metrics())
    }

    /// Return statistics of the client's requests: by API, the slowest, and retries.
    fn request_statistics(&self, py: Python<'_>) -> PyResult<RequestStatistics> {
        request_statistics(py, self.core()?)
    }

    /// Return the id under which the cluster receives the metrics of this client (KIP-714).
    ///
    /// Brokers that support client telemetry assign it to each client. A client
    /// without producers and consumers pushes its metrics from this call on.
    ///
    /// Args:
    ///     timeout: seconds. Default: ``default.api.timeout.ms``.
    ///
    /// Returns:
    ///     22 characters, as in the brokers' logs and in ``match`` of a subscription.
    ///
    /// Raises:
    ///     ConfigError: ``enable.metrics.push`` is false.
    ///     BrokerError: the brokers do not support client telemetry.
    ///     TimeoutError: no broker has assigned an id in time.
    #[pyo3(signature = (*, timeout=None))]
    fn client_instance_id(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<String> {
        let timeout = self.timeout(timeout)?;
        Ok(wait_for(py, self.core()?.client_instance_id(timeout))?.to_string())
    }

    /// Look up offsets of partitions (Kafka's ListOffsets).
    ///
    /// Args:
    ///     specs: by ``(topic, partition)``, which offset: ``"earliest"``, ``"latest"``,
    ///         ``"max_timestamp"`` (KIP-734), ``"earliest_local"`` or ``"latest_tiered"`` (tiered
    ///         storage), ``"earliest_pending_upload"`` (KIP-1023), or a time: the first record with
    ///         this time or a later one, as an aware ``datetime`` or in ms since 1970.
    ///     isolation_level: ``read_uncommitted`` or ``read_committed``. With ``read_committed``,
    ///         ``"latest"`` is the last stable offset: the end, or the first record of an open
    ///         transaction. Default: the client's ``isolation.level``.
    ///     errors: what to do with the error of one partition: ``"raise"`` the first one, or
    ///         ``"return"`` each in place of the offset.
    ///     timeout: seconds. Default: ``default.api.timeout.ms``.
    ///
    /// Returns:
    ///     The offsets by ``(topic, partition)``; an offset of None means that no record matches.
    ///
    /// Raises:
    ///     AuthorizationError: the principal may not describe a topic.
    ///     BrokerError: a broker does not support the name of an offset.
    ///     ConfigError: a specification or the isolation level is invalid.
    ///     UnknownTopicError: a topic or a partition does not exist.
    ///     TimeoutError: a leader did not respond in time.
    #[pyo3(signature = (specs, *, isolation_level=None, errors="raise", timeout=None))]
    fn list_offsets(
        &self,
        py: Python<'_>,
        specs: &Bound<'_, PyAny>,
        isolation_level: Option<&str>,
        errors: &str,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Py<PyAny>> {
        let core = self.core()?;
        let errors = ItemErrors::parse(py, errors)?;
        let specs = offsets::specs(specs, "specs")?;
        let read_committed = offsets::read_committed(py, core, isolation_level)?;
        let timeout = self.timeout(timeout)?;
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
        &self,
        py: Python<'_>,
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
        renamed::refuse_old_formats(py, "scan", renamed)?;
        let core = self.core()?;
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
        Ok(Scan::of(request.start(core.clone())))
    }

    /// Close all connections. Calls that wait for a response fail with ``ClosedError``.
    ///
    /// After ``client_instance_id()``, it first pushes the last metrics, for a second at most;
    /// nothing else waits.
    ///
    /// Args:
    ///     timeout: seconds for all of this. Default: 30.
    #[pyo3(signature = (*, timeout=None))]
    fn close(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<()> {
        let core = self.core.get()?;
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
    fn __exit__(&self, py: Python<'_>, _args: &Bound<'_, PyAny>) -> PyResult<()> {
        self.close(py, None)
    }

    fn __repr__(&self) -> String {
        repr("Client", self.core.peek())
    }
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

/// Returns the `repr` of a client; `core` is `None` in a forked child.
pub(crate) fn repr(class: &str, core: Option<&Core>) -> String {
    let Some(core) = core else { return format!("{class}(created in another process)") };
    let snapshot = core.snapshot();
    format!(
        "{class}(bootstrap={:?}, cluster_id={:?}, brokers={}{})",
        core.config().bootstrap_servers.join(","),
        snapshot.cluster_id.as_deref().unwrap_or_default(),
        snapshot.brokers.len(),
        if core.is_closed() { ", closed" } else { "" }
    )
}

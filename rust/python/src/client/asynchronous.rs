//! `AsyncClient` and `AsyncEvents`: `Client` and `Events` for asyncio, over the same `client_ops`.
//!
//! Invariant: an event is removed only when it is delivered, so that a cancelled wait loses none.

use std::sync::Arc;
use std::time::Duration;

use ottla_client::Client as Core;
use ottla_client::metadata::Event as CoreEvent;
use ottla_protocol::wire::Uuid;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyStopAsyncIteration;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::asyncio::{FutureResult, start};
use crate::client::client_ops::{self, SnapshotRequest};
use crate::client::cluster::{self, Cluster};
use crate::client::connections::{Connections, connections};
use crate::client::events::{Event, EventSubscription};
use crate::client::metrics::metrics;
use crate::client::request_statistics::{RequestStatistics, request_statistics};
use crate::client::sync as sync_client;
use crate::client::sync::LAST_METRICS;
use crate::config;
use crate::convert::errors;
use crate::convert::item_errors::ItemErrors;
use crate::convert::names::Names;
use crate::convert::number;
use crate::convert::offsets;
use crate::convert::renamed;
use crate::runtime::{CLOSE_TIMEOUT, ProcessLocal, seconds};
use crate::scan::{AsyncScanBase, RangeArguments, ScanArgs, ScanRequest, scan_request};
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
#[pyclass(frozen, module = "ottla")]
pub(crate) struct AsyncClient {
    core: ProcessLocal<Core>,
    /// For connecting.
    timeout: Duration,
}

impl AsyncClient {
    /// Creates a client over an existing core.
    pub(crate) fn of(core: Core) -> Self {
        let timeout = core.config().default_api_timeout;
        Self { core: ProcessLocal::new(core), timeout }
    }

    pub(crate) fn core(&self) -> PyResult<&Core> {
        let core = self.core.get()?;
        if core.is_closed() { Err(errors::closed("this client was closed")) } else { Ok(core) }
    }

    /// Returns a core to move into a call's future, and the call's timeout.
    fn call(&self, timeout: Option<f64>) -> PyResult<(Core, Duration)> {
        let core = self.core()?;
        Ok((core.clone(), seconds(timeout, core.config().default_api_timeout)?))
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
    ) -> PyResult<Self> {
        let (config, environment) = config::config(py, bootstrap, config, kwargs)?;
        let timeout = seconds(timeout, config.default_api_timeout)?;
        let core = Core::new(config, environment).map_err(|error| errors::raise(py, &error))?;
        Ok(Self { core: ProcessLocal::new(core), timeout })
    }

    /// Connect to the cluster, unless it is connected already.
    ///
    /// Raises:
    ///     AuthenticationError: the credentials, or the certificate of either side, were rejected.
    ///     BootstrapError: no bootstrap server could be used; the message lists each with its
    ///         cause.
    fn connect<'py>(&self, py: Python<'py>) -> FutureResult<'py> {
        let (core, timeout) = (self.core()?.clone(), self.timeout);
        start(py, async move { core.find_cluster(timeout).await }, |py, ()| Ok(py.None()))
    }

    /// Return a snapshot of the cluster's metadata.
    ///
    /// Args:
    ///     topics: topics that the snapshot must contain. Unknown topics are looked up.
    ///     all_topics: whether to look up all topics of the cluster, for this call only.
    ///     refresh: whether to request new metadata even if everything is cached.
    ///     timeout: seconds. Default: ``default.api.timeout.ms``.
    ///
    /// Raises:
    ///     UnknownTopicError: a topic does not exist.
    ///     TimeoutError: the cluster did not respond in time.
    #[pyo3(signature = (topics=None, *, all_topics=false, refresh=false, timeout=None))]
    fn cluster<'py>(
        &self,
        py: Python<'py>,
        topics: Option<Names>,
        all_topics: bool,
        refresh: bool,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        let (core, timeout) = self.call(timeout)?;
        let request = SnapshotRequest::new(topics, all_topics, refresh);
        start(py, client_ops::cluster(core, request, timeout), |py, snapshot| {
            Cluster::from(snapshot).into_py_any(py)
        })
    }

    /// Return the names of all topics, internal ones included, in alphabetical order.
    ///
    /// Args:
    ///     timeout: seconds. Default: ``default.api.timeout.ms``.
    ///
    /// Raises:
    ///     TimeoutError: the cluster did not respond in time.
    #[pyo3(signature = (*, timeout=None))]
    fn topic_names<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        topic_names(py, self.core()?, timeout)
    }

    /// The old name of ``topic_names()``, which raises an ``AttributeError``.
    #[getter]
    fn list_topics(&self) -> PyResult<Py<PyAny>> {
        Err(renamed::old_method("AsyncClient.list_topics()", "topic_names()"))
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
    ) -> FutureResult<'py> {
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

    /// Subscribe to changes: ``async for event in await client.events(): ...``.
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
    fn events<'py>(
        &self,
        py: Python<'py>,
        all_topics: bool,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
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
    fn client_instance_id<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        let (core, timeout) = self.call(timeout)?;
        start(py, async move { core.client_instance_id(timeout).await }, instance_id_to_python)
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
    fn list_offsets<'py>(
        &self,
        py: Python<'py>,
        specs: &Bound<'py, PyAny>,
        isolation_level: Option<&str>,
        errors: &str,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        let (core, timeout) = self.call(timeout)?;
        let errors = ItemErrors::parse(py, errors)?;
        let specs = offsets::specs(specs, "specs")?;
        let read_committed = offsets::read_committed(py, &core, isolation_level)?;
        let call = async move { Ok(core.list_offsets_each(specs, read_committed, timeout).await) };
        start(py, call, move |py, listed| offsets::to_dict(py, listed, errors))
    }

    #[pyo3(signature = (ranges, *, columns, include_headers, max_rows, target_bytes, fail_on_data_loss, timeout, key_format, value_format))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn _scan<'py>(
        &self,
        py: Python<'py>,
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
        let core = self.core()?.clone();
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
        let work = async move {
            request.resolve().await?;
            Ok(request.start(core))
        };
        start(py, work, |py, scan| AsyncScanBase::of(scan).into_py_any(py))
    }

    /// Close all connections. Calls that wait for a response fail with ``ClosedError``.
    ///
    /// After ``client_instance_id()``, it first pushes the last metrics, for a second at most;
    /// nothing else waits.
    ///
    /// Args:
    ///     timeout: seconds for all of this. Default: 30.
    #[pyo3(signature = (*, timeout=None))]
    fn close<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        let timeout = seconds(timeout, CLOSE_TIMEOUT)?.min(LAST_METRICS);
        let core = self.core.get()?.clone();
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
        let client = this.get();
        let (core, timeout) = (client.core()?.clone(), client.timeout);
        let this = this.clone().into_any().unbind();
        start(py, async move { core.find_cluster(timeout).await }, |_, ()| Ok(this))
    }

    #[pyo3(signature = (*_args))]
    fn __aexit__<'py>(&self, py: Python<'py>, _args: &Bound<'py, PyAny>) -> FutureResult<'py> {
        self.close(py, None)
    }

    fn __repr__(&self) -> String {
        sync_client::repr("AsyncClient", self.core.peek())
    }
}

/// Changes of the cluster and of the client's connections, for asyncio.
///
/// ``async for`` waits for the next event and ends when the client is closed. At most 1,024 unread
/// events are buffered; then the oldest are dropped, and an event of kind ``missed`` reports it.
/// Cancelling a wait loses no event. Several tasks may wait; each event goes to one of them.
#[pyclass(frozen, module = "ottla")]
pub(crate) struct AsyncEvents {
    source: ProcessLocal<Arc<Mutex<EventSource>>>,
    _subscription: EventSubscription,
}

struct EventSource {
    receiver: Receiver<CoreEvent>,
    /// An event that was received and not delivered yet; `Closed`, the last one, stays.
    buffered: Option<CoreEvent>,
}

impl AsyncEvents {
    fn new(receiver: Receiver<CoreEvent>, subscription: EventSubscription) -> Self {
        let source = EventSource { receiver, buffered: None };
        Self { source: ProcessLocal::new(Arc::new(Mutex::new(source))), _subscription: subscription }
    }

    /// Returns a future of what `to_value` makes of the next event, or of `None` if none comes in time.
    fn next_with<'py>(
        &self,
        py: Python<'py>,
        timeout: Option<f64>,
        to_value: impl FnOnce(Python<'_>, Option<CoreEvent>) -> PyResult<Py<PyAny>> + Send + 'static,
    ) -> FutureResult<'py> {
        let timeout = seconds(timeout, Duration::MAX)?;
        let event = wait_for_event(Arc::clone(self.source.get()?));
        let work = async move { Ok(tokio::time::timeout(timeout, event).await.ok()) };
        start(py, work, |py, source| to_value(py, source.and_then(|mut source| source.take_buffered())))
    }
}

/// Waits for an event, and locks the source until the event is delivered or the wait is cancelled.
async fn wait_for_event(source: Arc<Mutex<EventSource>>) -> OwnedMutexGuard<EventSource> {
    let mut source = source.lock_owned().await;
    if source.buffered.is_none() {
        source.buffered = Some(match source.receiver.recv().await {
            Ok(event) => event,
            Err(RecvError::Lagged(missed)) => CoreEvent::Missed(missed),
            Err(RecvError::Closed) => CoreEvent::Closed,
        });
    }
    source
}

impl EventSource {
    fn take_buffered(&mut self) -> Option<CoreEvent> {
        match &self.buffered {
            Some(CoreEvent::Closed) => Some(CoreEvent::Closed),
            _ => self.buffered.take(),
        }
    }
}

#[pymethods]
impl AsyncEvents {
    /// Return the next event.
    ///
    /// Args:
    ///     timeout: seconds to wait. Default: no limit.
    ///
    /// Returns:
    ///     The event, or None if none came in time.
    ///
    /// Raises:
    ///     ClosedError: the client was closed.
    #[pyo3(signature = (*, timeout=None))]
    fn next<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        self.next_with(py, timeout, |py, event| match event {
            Some(CoreEvent::Closed) => Err(errors::closed("the client was closed: there are no more events")),
            Some(event) => Event::from(&event).into_py_any(py),
            None => Ok(py.None()),
        })
    }

    fn __aiter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __anext__<'py>(&self, py: Python<'py>) -> FutureResult<'py> {
        self.next_with(py, None, |py, event| match event {
            Some(CoreEvent::Closed) | None => Err(PyStopAsyncIteration::new_err(())),
            Some(event) => Event::from(&event).into_py_any(py),
        })
    }
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

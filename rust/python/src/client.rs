//! `Client`: the cluster, its topology, offsets, scans.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use ottla_client::connection::{ConnectionState, Lane, Status};
use ottla_client::consumer::{FOLLOW, Range, ScanOptions};
use ottla_client::metrics::Metric;
use ottla_client::producer::Producer;
use ottla_client::{Client as Core, Kind};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::calls::{self, Wanted};
use crate::cluster::Cluster;
use crate::events::Events;
use crate::given_client::{connect, given_or_new};
use crate::runtime::{Owned, runtime, seconds, wait_for};
use crate::scan::Scan;
use crate::{cluster, config, errors, offsets, scan};

/// A connection as it is now.
#[pyclass(frozen, get_all, module = "ottla")]
pub(crate) struct ConnectionStatus {
    broker: i32,
    lane: &'static str,
    address: String,
    state: &'static str,
    phase: Option<String>,
    in_flight: usize,
    round_trip_time: Option<f64>,
    throttled_for: Option<f64>,
    last_error: Option<String>,
}

impl From<Status> for ConnectionStatus {
    fn from(status: Status) -> Self {
        Self {
            broker: status.broker,
            lane: match status.lane {
                Lane::Data => "data",
                Lane::Coordinator => "coordinator",
            },
            address: status.address,
            state: match status.state {
                ConnectionState::Connected => "connected",
                ConnectionState::Connecting => "connecting",
                ConnectionState::BackingOff => "backing_off",
                ConnectionState::Disconnected => "disconnected",
            },
            phase: status.phase.map(|phase| phase.to_string()),
            in_flight: status.in_flight,
            round_trip_time: status.round_trip.map(|time| time.as_secs_f64()),
            throttled_for: status.throttled_for.map(|time| time.as_secs_f64()),
            last_error: status.last_error.map(|error| error.to_string()),
        }
    }
}

#[pymethods]
impl ConnectionStatus {
    fn __repr__(&self) -> String {
        format!(
            "ConnectionStatus(broker={}, lane={:?}, address={:?}, state={:?})",
            self.broker, self.lane, self.address, self.state
        )
    }
}

/// A client of one cluster.
#[pyclass(frozen, module = "ottla")]
pub(crate) struct Client {
    core: Owned<Core>,
}

impl Client {
    /// The core, unless the client was closed.
    pub(crate) fn core(&self) -> PyResult<&Core> {
        let core = self.core.get()?;
        if core.is_closed() { Err(errors::closed("this client was closed")) } else { Ok(core) }
    }

    /// Connects a new core.
    pub(crate) fn connect_core(
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

    /// The core of a client that was given in place of addresses, or a new one that is connected; and
    /// whether it is new.
    pub(crate) fn given_or_connected(
        py: Python<'_>,
        what: &str,
        bootstrap: Option<&Bound<'_, PyAny>>,
        config: Option<&Bound<'_, PyAny>>,
        timeout: Option<f64>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<(Core, bool)> {
        let (core, is_new) = given_or_new(py, what, bootstrap, config, kwargs)?;
        let timeout = seconds(timeout, core.config().default_api_timeout)?;
        wait_for(py, connect(core.clone(), is_new, timeout))?;
        Ok((core, is_new))
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
        timeout: Option<f64>,
        connect: bool,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let core = Self::connect_core(py, bootstrap, config, timeout, connect, kwargs)?;
        Ok(Self { core: Owned::new(core) })
    }

    #[pyo3(signature = (topics=None, *, all_topics=false, refresh=false, timeout=None))]
    fn cluster(
        &self,
        py: Python<'_>,
        topics: Option<Vec<String>>,
        all_topics: bool,
        refresh: bool,
        timeout: Option<f64>,
    ) -> PyResult<Cluster> {
        let core = self.core()?;
        let wanted = Wanted::new(topics, all_topics, refresh);
        let snapshot = match calls::known(core, &wanted) {
            Some(snapshot) => snapshot,
            None => wait_for(py, calls::cluster(core.clone(), wanted, self.timeout(timeout)?))?,
        };
        Ok(Cluster::from(snapshot))
    }

    /// Return the names of all topics, internal ones included, in order.
    ///
    /// Args:
    ///     timeout: seconds. Default: ``default.api.timeout.ms``.
    ///
    /// Raises:
    ///     TimeoutError: no broker has answered in time.
    #[pyo3(signature = (*, timeout=None))]
    fn list_topics(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Vec<String>> {
        list_topics(py, self.core()?, timeout)
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
        &self,
        py: Python<'py>,
        topic: &str,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        partitions_for(py, self.core()?, topic, timeout)
    }

    fn leader(&self, topic: &str, partition: i32) -> PyResult<Option<i32>> {
        Ok(self.core()?.leader(topic, partition))
    }

    #[pyo3(signature = (*, all_topics=false, timeout=None))]
    fn events(&self, py: Python<'_>, all_topics: bool, timeout: Option<f64>) -> PyResult<Events> {
        events(py, self.core()?, all_topics, timeout)
    }

    fn connections(&self) -> PyResult<Vec<ConnectionStatus>> {
        Ok(connections(self.core()?))
    }

    fn metrics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        metrics(py, self.core()?.metrics())
    }

    #[pyo3(signature = (spec, *, isolation_level=None, timeout=None))]
    fn list_offsets<'py>(
        &self,
        py: Python<'py>,
        spec: &Bound<'py, PyAny>,
        isolation_level: Option<&str>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let core = self.core()?;
        let wanted = offsets::specs(spec)?;
        let read_committed = read_committed(py, core, isolation_level)?;
        let timeout = self.timeout(timeout)?;
        let found = wait_for(py, calls::list_offsets(core.clone(), wanted, read_committed, timeout))?;
        offsets::to_dict(py, found)
    }

    #[pyo3(signature = (ranges, *, columns=None, include_headers=false, max_rows=50_000, target_bytes=4_194_304, fail_on_data_loss=true, timeout=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn scan(
        &self,
        py: Python<'_>,
        ranges: Vec<(String, i32, i64, Option<i64>)>,
        columns: Option<Vec<String>>,
        include_headers: bool,
        max_rows: usize,
        target_bytes: usize,
        fail_on_data_loss: bool,
        timeout: Option<f64>,
    ) -> PyResult<Scan> {
        let core = self.core()?;
        let columns = scan::columns(py, columns, include_headers)?;
        for (name, given) in [("max_rows", max_rows), ("target_bytes", target_bytes)] {
            if given == 0 {
                return Err(errors::config(py, format!("{name} is 0: expected 1 or more")));
            }
        }
        let mut names: HashMap<String, Arc<str>> = HashMap::new();
        let ranges = ranges
            .into_iter()
            .map(|(topic, partition, start, end)| {
                if start < 0 {
                    let words = format!(
                        "{topic}-{partition}: the range starts at {start}; expected an offset, 0 or more"
                    );
                    return Err(errors::config(py, words));
                }
                let topic = names.entry(topic).or_insert_with_key(|name| name.as_str().into());
                Ok(Range { partition: (Arc::clone(topic), partition), start, end: end.unwrap_or(FOLLOW) })
            })
            .collect::<PyResult<Vec<_>>>()?;
        let config = core.config();
        let options = ScanOptions {
            fail_on_data_loss,
            read_committed: config.isolation_level == ottla_client::config::IsolationLevel::ReadCommitted,
            // Large answers cost the least CPU a record; the whole answer is bounded all the same.
            max_bytes: config.fetch_max_bytes.min(scan::FETCH_BYTES),
            timeout: self.timeout(timeout)?,
        };
        let runtime = runtime()?;
        let _entered = runtime.enter();
        Scan::start(core.clone(), ranges, options, columns, max_rows, target_bytes)
    }

    #[pyo3(signature = (timeout=None))]
    fn close(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<()> {
        // Nothing of a client needs time to close; the argument is for symmetry with producers.
        let _ = timeout;
        let core = self.core.get()?;
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

/// The state of each connection, by broker.
pub(crate) fn connections(core: &Core) -> Vec<ConnectionStatus> {
    core.connections().into_iter().map(ConnectionStatus::from).collect()
}

/// The partitions of a topic that exists, by index.
pub(crate) fn partitions_for<'py>(
    py: Python<'py>,
    core: &Core,
    topic: &str,
    timeout: Option<f64>,
) -> PyResult<Bound<'py, PyDict>> {
    let timeout = seconds(timeout, core.config().default_api_timeout)?;
    cluster::partitions(py, &*wait_for(py, calls::topic(core.clone(), topic.into(), timeout))?)
}

/// The names of all topics.
pub(crate) fn list_topics(py: Python<'_>, core: &Core, timeout: Option<f64>) -> PyResult<Vec<String>> {
    let timeout = seconds(timeout, core.config().default_api_timeout)?;
    wait_for(py, calls::list_topics(core.clone(), timeout))
}

/// The changes from now on.
pub(crate) fn events(
    py: Python<'_>,
    core: &Core,
    all_topics: bool,
    timeout: Option<f64>,
) -> PyResult<Events> {
    let timeout = seconds(timeout, core.config().default_api_timeout)?;
    let (receiver, kept_fresh) = wait_for(py, calls::events(core.clone(), all_topics, timeout))?;
    Ok(Events::new(receiver, kept_fresh))
}

/// What was counted and measured, by name.
pub(crate) fn metrics(py: Python<'_>, all: Vec<Metric>) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    for metric in all {
        dict.set_item(metric.name, metric.value)?;
    }
    Ok(dict)
}

/// The same of a producer's topics.
pub(crate) fn topic_metrics<'py>(py: Python<'py>, core: &Producer) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (topic, all) in core.topic_metrics() {
        dict.set_item(&*topic, metrics(py, all)?)?;
    }
    Ok(dict)
}

/// What is printed of a client; it has no core in a forked child.
pub(crate) fn repr(class: &str, core: Option<&Core>) -> String {
    let Some(core) = core else { return format!("{class}(made in another process)") };
    let snapshot = core.snapshot();
    format!(
        "{class}(bootstrap={:?}, cluster_id={:?}, brokers={}{})",
        core.config().bootstrap_servers.join(","),
        snapshot.cluster_id.as_deref().unwrap_or_default(),
        snapshot.brokers.len(),
        if core.is_closed() { ", closed" } else { "" }
    )
}

/// Whether only committed records count at an isolation level, by Kafka's name; without one, at that of
/// the client's configuration.
pub(crate) fn read_committed(py: Python<'_>, client: &Core, level: Option<&str>) -> PyResult<bool> {
    match level {
        None => Ok(client.config().isolation_level == ottla_client::config::IsolationLevel::ReadCommitted),
        Some("read_committed") => Ok(true),
        Some("read_uncommitted") => Ok(false),
        Some(level) => {
            let words = format!("isolation.level={level:?}: expected read_uncommitted or read_committed");
            Err(errors::raise(py, &ottla_client::Error::new(Kind::Config, words)))
        }
    }
}

//! `Gateway`: a gateway in this process, for `ottla.testing` and `ottla gateway`.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ottla_faults::{FaultId, Match};
use ottla_gateway::addresses::Routing;
use ottla_gateway::monitoring::{self, AccessLog, StatusServer};
use ottla_gateway::{
    AccessRules, FaultError, FindBrokersError, Gateway as Core, GatewayConfig, Limits, RuleOptions,
    SaslConfig, TlsConfig,
};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyDict};

use crate::config;
use crate::convert::{errors, number};
use crate::faults;
use crate::runtime::{ProcessLocal, runtime, seconds, wait};

/// How long requests in flight may take by default when a gateway closes.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the last lines of an access log may take by default.
const LOG_TIMEOUT: Duration = Duration::from_secs(1);

/// The gateway behind ``ottla.testing.Gateway`` and ``ottla gateway``.
#[pyclass(frozen, module = "ottla._core")]
pub(crate) struct Gateway {
    core: ProcessLocal<Arc<Core>>,
    /// Whether it closes: only one call does that.
    closing: AtomicBool,
    closed: AtomicBool,
}

impl Gateway {
    /// The core, unless it was closed.
    fn open(&self) -> PyResult<&Arc<Core>> {
        if self.closed.load(Ordering::Acquire) {
            return Err(errors::closed("this gateway was closed"));
        }
        self.core.get()
    }
}

#[pymethods]
impl Gateway {
    #[new]
    #[pyo3(signature = (config, *, listen, advertised_host, ports=None, first_broker=0, server_name=None, tls=None, client_auth=false, users=None, allow_plaintext_passwords=false, reauthenticate=None, limits=None, rules=None, allow_faults=false, keep_ended=false))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        py: Python<'_>,
        config: &Bound<'_, PyAny>,
        listen: (String, u16),
        advertised_host: String,
        ports: Option<(u16, u16)>,
        first_broker: i32,
        server_name: Option<String>,
        tls: Option<&Bound<'_, PyAny>>,
        client_auth: bool,
        users: Option<PathBuf>,
        allow_plaintext_passwords: bool,
        #[pyo3(from_py_with = number::timeout)] reauthenticate: Option<f64>,
        limits: Option<&Bound<'_, PyDict>>,
        rules: Option<&Bound<'_, PyDict>>,
        allow_faults: bool,
        keep_ended: bool,
    ) -> PyResult<Self> {
        let (cluster, environment) = config::config(py, None, Some(config), None)?;
        let (host, port) = listen;
        let ip = ip(py, "listen", &host)?;
        let routing = match (ports, server_name) {
            (None, Some(pattern)) => Routing::ServerName { pattern },
            (Some((first, last)), _) => {
                let port = |port| {
                    NonZeroU16::new(port).ok_or_else(|| errors::config(py, "ports: expected ports from 1"))
                };
                Routing::Ports { first: port(first)?, last: port(last)?, first_broker }
            }
            (None, None) => Routing::FreePorts,
        };
        let files = tls.map(|tls| config::config(py, None, Some(tls), None)).transpose()?;
        let tls = files.map(|(files, _)| TlsConfig { files, client_auth });
        let listen = SocketAddr::new(ip, port);
        let lifetime =
            reauthenticate.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
        let sasl = users.map(|users| SaslConfig { users, allow_plaintext_passwords, lifetime });
        let limits = limits.map_or_else(|| Ok(Limits::default()), read_limits)?;
        let rules = rules.map_or_else(|| Ok(AccessRules::default()), |rules| read_rules(py, rules))?;
        let config = GatewayConfig {
            listen,
            advertised_host,
            routing,
            cluster,
            tls,
            sasl,
            rules,
            limits,
            allow_faults,
            keep_ended,
        };
        let core = wait(py, Core::start(config, environment))?;
        let core = core.map_err(|error| errors::config(py, error.to_string()))?;
        let core = ProcessLocal::new(Arc::new(core));
        Ok(Self { core, closing: AtomicBool::new(false), closed: AtomicBool::new(false) })
    }

    /// The address at which clients bootstrap, as ``host:port``.
    #[getter]
    fn bootstrap(&self) -> PyResult<String> {
        Ok(self.open()?.bootstrap().to_string())
    }

    /// The address of each known broker behind the gateway as ``host:port``, by id.
    #[getter]
    fn brokers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (id, address) in self.open()?.brokers() {
            dict.set_item(id, address.to_string())?;
        }
        Ok(dict)
    }

    /// Return the open client connections as a JSON list.
    fn connections(&self) -> PyResult<String> {
        Ok(monitoring::open_connections(self.open()?).line())
    }

    /// Return what all connections did since the start as a JSON object.
    fn totals(&self) -> PyResult<String> {
        Ok(monitoring::totals(self.core.get()?).line())
    }

    /// Return the connections that ended since the last call as a JSON list.
    ///
    /// They are the oldest first, and are kept from the first call on.
    fn take_ended(&self) -> PyResult<String> {
        Ok(monitoring::ended_connections(self.core.get()?).0.line())
    }

    /// Return what happened after the event with this number as a JSON list.
    fn events(&self, after: u64) -> PyResult<String> {
        Ok(monitoring::events(self.core.get()?, after).line())
    }

    /// Wait until the gateway has an address for each broker of the cluster.
    fn find_brokers(&self, py: Python<'_>) -> PyResult<()> {
        match wait(py, self.open()?.find_brokers())? {
            Ok(()) => Ok(()),
            Err(FindBrokersError::Cluster(error)) => Err(errors::raise(py, &error)),
            Err(error) => Err(errors::config(py, error.to_string())),
        }
    }

    /// Read all files again, and follow the cluster of this configuration from now on.
    ///
    /// Open connections stay. If a file or the configuration cannot be used, nothing changes.
    fn reload(&self, py: Python<'_>, config: &Bound<'_, PyAny>) -> PyResult<()> {
        let (cluster, _) = config::config(py, None, Some(config), None)?;
        let core = self.open()?;
        py.detach(|| core.reload(cluster)).map_err(|error| errors::config(py, error.to_string()))
    }

    /// Inject a fault, a dict with one key, and return its id.
    #[pyo3(signature = (reaction, *, api=None, broker=None, topic=None, partition=None, client_id=None, skip=0, times=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn inject(
        &self,
        py: Python<'_>,
        reaction: &Bound<'_, PyDict>,
        api: Option<&str>,
        #[pyo3(from_py_with = number::broker)] broker: Option<i32>,
        topic: Option<String>,
        #[pyo3(from_py_with = number::partition)] partition: Option<i32>,
        client_id: Option<String>,
        #[pyo3(from_py_with = number::skip)] skip: u64,
        #[pyo3(from_py_with = number::times)] times: Option<u64>,
    ) -> PyResult<u64> {
        let on = Match { broker, topic, partition, client_id, skip, ..Match::default() };
        let fault = faults::fault(reaction, api, on, times)?;
        Ok(self.open()?.inject(fault).map_err(|error| refused(py, &error))?.0)
    }

    /// Return the number of requests or connections that a fault has hit.
    fn fault_hits(&self, #[pyo3(from_py_with = number::fault)] fault: u64) -> PyResult<u64> {
        Ok(self.open()?.fault_hits(FaultId(fault)))
    }

    /// Remove a fault; return whether it was there.
    fn remove_fault(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number::fault)] fault: u64,
    ) -> PyResult<bool> {
        self.open()?.remove_fault(FaultId(fault)).map_err(|error| refused(py, &error))
    }

    /// Remove all faults; return how many there were.
    fn clear_faults(&self, py: Python<'_>) -> PyResult<usize> {
        self.open()?.clear_faults().map_err(|error| refused(py, &error))
    }

    /// Stop accepting connections, let requests in flight finish, and close.
    ///
    /// Return the number of connections that were cut off.
    #[pyo3(signature = (timeout=None))]
    fn close(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<usize> {
        let timeout = seconds(timeout, DRAIN_TIMEOUT)?;
        let core = Arc::clone(self.core.get()?);
        if self.closing.swap(true, Ordering::AcqRel) {
            return Ok(0);
        }
        let runtime = runtime()?;
        let _entered = runtime.enter();
        let cut_off = wait(py, async move { core.drain(timeout).await });
        match cut_off {
            Ok(_) => self.closed.store(true, Ordering::Release),
            // A signal has interrupted it: another call may close what is left.
            Err(_) => self.closing.store(false, Ordering::Release),
        }
        cut_off
    }
}

fn refused(py: Python<'_>, error: &FaultError) -> PyErr {
    errors::config(py, error.to_string())
}

/// What clients may not do, by names; what is missing has its default.
fn read_rules(py: Python<'_>, given: &Bound<'_, PyDict>) -> PyResult<AccessRules> {
    let flag = |name| given.get_item(name)?.map_or(Ok(false), |value| value.extract::<bool>());
    let list =
        |name| given.get_item(name)?.map_or_else(|| Ok(Vec::new()), |value| value.extract::<Vec<String>>());
    let options = RuleOptions {
        read_only: flag("read_only")?,
        no_admin: flag("no_admin")?,
        deny_apis: list("deny_apis")?,
        allow_topics: list("allow_topics")?,
        deny_topics: list("deny_topics")?,
        allow_groups: list("allow_groups")?,
        deny_groups: list("deny_groups")?,
    };
    AccessRules::try_from(options).map_err(|error| errors::config(py, error))
}

/// The limits by name; those that are absent have their defaults.
fn read_limits(given: &Bound<'_, PyDict>) -> PyResult<Limits> {
    let mut limits = Limits::default();
    for (name, value) in given {
        match name.extract::<String>()?.as_str() {
            "connections" => limits.connections = value.extract()?,
            "connections_per_address" => limits.connections_per_address = value.extract()?,
            "setup" => limits.setup = seconds(Some(value.extract()?), limits.setup)?,
            other => return Err(errors::config(given.py(), format!("limits: there is no {other}"))),
        }
    }
    Ok(limits)
}

/// The status of a gateway over HTTP, until it is closed.
///
/// Args:
///     gateway: the gateway.
///     host: the IP address to listen at.
///     port: the port; 0 takes any free one.
///
/// Raises:
///     ConfigError: the address cannot be opened.
#[pyclass(frozen, module = "ottla._core")]
pub(crate) struct GatewayStatus {
    server: Mutex<Option<StatusServer>>,
    address: SocketAddr,
}

#[pymethods]
impl GatewayStatus {
    #[new]
    fn new(py: Python<'_>, gateway: &Gateway, host: &str, port: u16) -> PyResult<Self> {
        let at = SocketAddr::new(ip(py, "host", host)?, port);
        let core = Arc::clone(gateway.open()?);
        let server = wait(py, async move { StatusServer::start(&core, at) })?;
        let server = server
            .map_err(|error| errors::config(py, format!("--status: cannot listen at {at}: {error}")))?;
        let address = server.address();
        Ok(Self { server: Mutex::new(Some(server)), address })
    }

    /// The address at which it listens, as ``host:port``.
    #[getter]
    fn address(&self) -> String {
        self.address.to_string()
    }

    /// Stop serving.
    fn close(&self) {
        self.server.lock().take();
    }
}

/// The access log of a gateway: a line of JSON for each connection that has ended.
///
/// Args:
///     gateway: the gateway.
///     path: the file to append to; ``-`` for standard error.
///
/// Raises:
///     ConfigError: the file cannot be opened.
#[pyclass(frozen, module = "ottla._core")]
pub(crate) struct GatewayAccessLog(AccessLog);

#[pymethods]
impl GatewayAccessLog {
    #[new]
    fn new(py: Python<'_>, gateway: &Gateway, path: PathBuf) -> PyResult<Self> {
        let core = Arc::clone(gateway.open()?);
        let opened = py.detach(|| AccessLog::open(&core, &path));
        let opened = opened
            .map_err(|error| errors::config(py, format!("--access-log: {}: {error}", path.display())))?;
        Ok(Self(opened))
    }

    /// Let the connections that have ended be written, without waiting for it.
    ///
    /// Those that cannot be written are counted; the first failure of several is a warning.
    fn write(&self) {
        self.0.write();
    }

    /// Write the connections that have ended, and wait for it at most this many seconds.
    ///
    /// Return whether it is done.
    fn flush(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<bool> {
        let timeout = seconds(timeout, LOG_TIMEOUT)?;
        Ok(py.detach(|| self.0.flush(timeout)))
    }

    /// Open the file again, as after another program has renamed it.
    fn reopen(&self, py: Python<'_>) -> PyResult<()> {
        let reopened = py.detach(|| self.0.reopen());
        reopened.map_err(|error| errors::config(py, format!("--access-log: {error}")))
    }
}

fn ip(py: Python<'_>, what: &str, host: &str) -> PyResult<IpAddr> {
    host.parse().map_err(|_| {
        errors::config(py, format!("{what}: {host:?} is not an IP address, such as 127.0.0.1 or 0.0.0.0"))
    })
}

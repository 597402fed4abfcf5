//! `Gateway`: a gateway in this process, for `ottla.testing` and `ottla gateway`.

use std::net::SocketAddr;
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ottla_gateway::addresses::Routing;
use ottla_gateway::{Gateway as Core, GatewayConfig, Limits, SaslConfig, SessionInfo, TlsConfig};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyDict};

use crate::config;
use crate::convert::{errors, number};
use crate::runtime::{ProcessLocal, runtime, seconds, wait};

/// How long requests in flight may take by default when a gateway closes.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);

/// The gateway behind ``ottla.testing.Gateway`` and ``ottla gateway``.
#[pyclass(frozen, module = "ottla._core")]
pub(crate) struct Gateway {
    core: Mutex<Option<ProcessLocal<Arc<Core>>>>,
}

impl Gateway {
    fn core(&self) -> PyResult<Arc<Core>> {
        let owned = self.core.lock();
        let owned = owned.as_ref().ok_or_else(|| errors::closed("this gateway was closed"))?;
        owned.get().cloned()
    }
}

#[pymethods]
impl Gateway {
    #[new]
    #[pyo3(signature = (config, *, listen, advertised_host, ports=None, first_broker=0, server_name=None, tls=None, client_auth=false, users=None, allow_plaintext_passwords=false, reauthenticate=None, limits=None))]
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
    ) -> PyResult<Self> {
        let (cluster, environment) = config::config(py, None, Some(config), None)?;
        let (host, port) = listen;
        let ip = host.parse().map_err(|_| {
            errors::config(py, format!("listen: {host:?} is not an IP address, such as 127.0.0.1 or 0.0.0.0"))
        })?;
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
        let config = GatewayConfig { listen, advertised_host, routing, cluster, tls, sasl, limits };
        let core = wait(py, Core::start(config, environment))?;
        let core = core.map_err(|error| errors::config(py, error.to_string()))?;
        Ok(Self { core: Mutex::new(Some(ProcessLocal::new(Arc::new(core)))) })
    }

    /// The address at which clients bootstrap, as ``host:port``.
    #[getter]
    fn bootstrap(&self) -> PyResult<String> {
        Ok(self.core()?.bootstrap().to_string())
    }

    /// The address of each known broker behind the gateway as ``host:port``, by id.
    #[getter]
    fn brokers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (id, address) in self.core()?.brokers() {
            dict.set_item(id, address.to_string())?;
        }
        Ok(dict)
    }

    /// Return the open client connections as plain values.
    fn sessions<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.core()?.sessions().iter().map(|session| session_dict(py, session)).collect()
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
        let Some(owned) = self.core.lock().take() else { return Ok(0) };
        let core = Arc::clone(owned.get()?);
        let runtime = runtime()?;
        let _entered = runtime.enter();
        wait(py, async move { core.drain(timeout).await })
    }
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

fn session_dict<'py>(py: Python<'py>, session: &SessionInfo) -> PyResult<Bound<'py, PyDict>> {
    let requests = PyDict::new(py);
    for (api, count) in &session.requests {
        requests.set_item(api.name(), (count.requests, count.responses, count.waited.as_secs_f64()))?;
    }
    let dict = PyDict::new(py);
    dict.set_item("id", session.id)?;
    dict.set_item("peer", session.peer.to_string())?;
    dict.set_item("broker", session.broker)?;
    dict.set_item("client_id", &session.client_id)?;
    dict.set_item("software", session.software.as_deref())?;
    dict.set_item("received", session.received)?;
    dict.set_item("sent", session.sent)?;
    dict.set_item("age", session.age.as_secs_f64())?;
    dict.set_item("requests", requests)?;
    Ok(dict)
}

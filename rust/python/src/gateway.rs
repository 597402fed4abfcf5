//! `Gateway`: a gateway in this process, for `ottla.testing` and `ottla gateway`.

use std::net::SocketAddr;
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use ottla_gateway::addresses::Routing;
use ottla_gateway::{
    AccessRules, Coordinated, Counts, Event, Gateway as Core, GatewayConfig, Limits, NameRule, Role,
    SaslConfig, SessionInfo, TlsConfig,
};
use ottla_protocol::ErrorCode;
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
    #[pyo3(signature = (config, *, listen, advertised_host, ports=None, first_broker=0, server_name=None, tls=None, client_auth=false, users=None, allow_plaintext_passwords=false, reauthenticate=None, limits=None, rules=None))]
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
        let rules = rules.map_or_else(|| Ok(AccessRules::default()), |rules| read_rules(py, rules))?;
        let config = GatewayConfig { listen, advertised_host, routing, cluster, tls, sasl, rules, limits };
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

    /// Return the open client connections as plain values.
    fn sessions<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.open()?.sessions().iter().map(|session| session_dict(py, session)).collect()
    }

    /// Return what all connections did since the start, as plain values.
    fn totals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let totals = self.core.get()?.totals();
        let dict = counts_dict(py, &totals.counts)?;
        dict.set_item("open", totals.open)?;
        dict.set_item("accepted", totals.accepted)?;
        dict.set_item("refused", totals.refused)?;
        Ok(dict)
    }

    /// Return the connections that ended since the last call, and how many are missing.
    ///
    /// They are plain values, the oldest first, and are kept from the first call on.
    fn take_ended<'py>(&self, py: Python<'py>) -> PyResult<(Vec<Bound<'py, PyDict>>, u64)> {
        let (ended, lost) = self.core.get()?.take_ended();
        let dicts = ended.iter().map(|session| {
            let dict = session_dict(py, &session.info)?;
            dict.set_item("end", &session.end)?;
            Ok(dict)
        });
        Ok((dicts.collect::<PyResult<_>>()?, lost))
    }

    /// Return what happened after the event with this number as plain values.
    fn events<'py>(&self, py: Python<'py>, after: u64) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.core.get()?.events(after).iter().map(|event| event_dict(py, event)).collect()
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
        self.closed.store(true, Ordering::Release);
        cut_off
    }
}

/// What clients may not do, by names; what is missing has its default.
fn read_rules(py: Python<'_>, given: &Bound<'_, PyDict>) -> PyResult<AccessRules> {
    let flag = |name| given.get_item(name)?.map_or(Ok(false), |value| value.extract::<bool>());
    let list =
        |name| given.get_item(name)?.map_or_else(|| Ok(Vec::new()), |value| value.extract::<Vec<String>>());
    let mut rules = AccessRules::default();
    if flag("read_only")? {
        rules = rules.read_only();
    }
    if flag("no_admin")? {
        rules = rules.no_admin();
    }
    for name in list("deny_apis")? {
        rules = rules.deny_api(&name).map_err(|error| errors::config(py, error))?;
    }
    let names = |allowed, denied| {
        let rule = NameRule::new(&list(allowed)?, &list(denied)?);
        rule.map_err(|error| errors::config(py, error))
    };
    let topics = names("allow_topics", "deny_topics")?;
    Ok(rules.with_topics(topics).with_groups(names("allow_groups", "deny_groups")?))
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
    let dict = counts_dict(py, &session.counts)?;
    dict.set_item("id", session.id)?;
    dict.set_item("peer", session.peer.to_string())?;
    dict.set_item("broker", session.broker)?;
    dict.set_item("roles", session.roles.iter().map(|role| role.name()).collect::<Vec<_>>())?;
    let (ids, groups): (Vec<_>, Vec<_>) =
        session.coordinated.iter().partition(|named| named.role == Role::Transaction);
    let names =
        |named: Vec<&Coordinated>| named.into_iter().map(|named| named.name.clone()).collect::<Vec<_>>();
    dict.set_item("groups", names(groups))?;
    dict.set_item("transactional_ids", names(ids))?;
    dict.set_item("client_id", &session.client_id)?;
    dict.set_item("software", session.software.as_deref())?;
    dict.set_item("user", session.user.as_deref())?;
    dict.set_item("in_flight", session.in_flight)?;
    let last_error =
        session.last_error.map(|last| (last.api.name(), code_name(last.code), last.age.as_secs_f64()));
    dict.set_item("last_error", last_error)?;
    dict.set_item("age", session.age.as_secs_f64())?;
    dict.set_item("idle", session.idle.map(|idle| idle.as_secs_f64()))?;
    Ok(dict)
}

fn counts_dict<'py>(py: Python<'py>, counts: &Counts) -> PyResult<Bound<'py, PyDict>> {
    let apis = PyDict::new(py);
    for (api, count) in &counts.apis {
        apis.set_item(api.name(), (count.requests, count.responses, count.waited.as_secs_f64()))?;
    }
    let errors: Vec<_> =
        counts.errors.iter().map(|((api, code), count)| (api.name(), code_name(*code), *count)).collect();
    let dict = PyDict::new(py);
    dict.set_item("received", counts.received)?;
    dict.set_item("sent", counts.sent)?;
    dict.set_item("apis", apis)?;
    dict.set_item("errors", errors)?;
    dict.set_item("throttled", counts.throttled.as_secs_f64())?;
    Ok(dict)
}

fn code_name(code: i16) -> &'static str {
    ErrorCode::from(code).name()
}

fn event_dict<'py>(py: Python<'py>, event: &Event) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let time = event.time.duration_since(UNIX_EPOCH).unwrap_or_default();
    dict.set_item("number", event.number)?;
    dict.set_item("time", time.as_secs_f64())?;
    dict.set_item("kind", event.kind.name())?;
    dict.set_item("count", event.count)?;
    dict.set_item("broker", event.broker)?;
    dict.set_item("name", event.name.as_deref())?;
    dict.set_item("client_id", event.client_id.as_deref())?;
    dict.set_item("peer", event.peer.map(|peer| peer.to_string()))?;
    dict.set_item("detail", event.detail.as_deref())?;
    Ok(dict)
}

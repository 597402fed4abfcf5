//! How a connection comes up: DNS → TCP → TLS → ApiVersions → SASL → ready.
//!
//! The phases are in `opening.rs`; here each address of the name gets its share of the time, and
//! every failure says which phase, which address and why.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicI32;

use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore, mpsc, watch};
use tokio::time::{Duration, Instant, timeout, timeout_at};

use super::authenticate::SaslInfo;
use super::in_flight::{Shared, State};
use super::io::drive;
use super::meter::Meter;
use super::opening::{Opened, Opening, resolve, shown, unresolved};
use super::{Connection, Endpoint, Settings, reauthenticate};
use crate::environment::Environment;
use crate::error::{Error, Kind, Phase, Result};

/// Brings up a connection to `endpoint`, by `deadline` if there is one. Its addresses are tried one
/// after the other, each for no more than its share of the time; if none works, all that failed is
/// told.
pub async fn connect(
    endpoint: &Endpoint,
    settings: &Settings,
    environment: &Environment,
    deadline: Option<Instant>,
) -> Result<Arc<Connection>> {
    let within = share(settings, deadline, 1);
    settings.progress.enter(Phase::Dns);
    let addresses = match timeout(within, resolve(endpoint, environment)).await {
        Ok(resolved) => resolved?,
        Err(_) => {
            return Err(unresolved(endpoint, &format_args!("no answer within {} ms", within.as_millis())));
        }
    };
    let mut failures: Vec<Error> = Vec::new();
    for (tried, address) in (0..).zip(&addresses) {
        let left = u32::try_from(addresses.len() - tried).unwrap_or(u32::MAX);
        let share = share(settings, deadline, left);
        match connect_address(endpoint, *address, settings, environment, share).await {
            Ok(connection) => return Ok(connection),
            // Whoever was refused at one address is refused at the others.
            Err(error) if error.kind() == Kind::Authentication => {
                settings.metrics.authentication_failed.count();
                return Err(error);
            }
            Err(error) => failures.push(error),
        }
    }
    let Some(last) = failures.pop() else {
        return Err(unresolved(endpoint, &"it has no address"));
    };
    // The last one's place is shown by itself.
    let words = failures.iter().rev();
    let error = words.fold(last.clone(), |last, failure| last.because(format_args!("{failure}; then")));
    failures.push(last);
    Err(error.with_attempts(failures))
}

/// How long one step may take when `left` steps share the time until `deadline`.
fn share(settings: &Settings, deadline: Option<Instant>, left: u32) -> Duration {
    match deadline {
        None => settings.setup_timeout,
        Some(deadline) => {
            settings.setup_timeout.min(deadline.saturating_duration_since(Instant::now()) / left.max(1))
        }
    }
}

async fn connect_address(
    endpoint: &Endpoint,
    address: SocketAddr,
    settings: &Settings,
    environment: &Environment,
    within: Duration,
) -> Result<Arc<Connection>> {
    let name = shown(endpoint, address);
    let deadline = Instant::now() + within;
    let late = |phase: Phase| {
        let millis = (within + Duration::from_micros(500)).as_millis();
        let words = match within == settings.setup_timeout {
            true => format!("no answer within socket.connection.setup.timeout.ms ({millis} ms)"),
            false => format!("no answer within {millis} ms"),
        };
        Error::new(Kind::Connection, words).phase(phase).address(&name)
    };
    let progress = &settings.progress;
    progress.enter(Phase::Tcp);
    let connecting = Opening::tcp(endpoint, address, settings, environment);
    let mut opening = timeout_at(deadline, connecting).await.unwrap_or_else(|_| Err(late(Phase::Tcp)))?;
    progress.enter(Phase::Tls);
    timeout_at(deadline, opening.tls()).await.unwrap_or_else(|_| Err(late(Phase::Tls)))?;
    progress.enter(Phase::ApiVersions);
    let asked = timeout_at(deadline, opening.api_versions()).await;
    let apis = asked.unwrap_or_else(|_| Err(late(Phase::ApiVersions)))?.len();
    progress.enter(Phase::Sasl);
    let sasl = timeout_at(deadline, opening.sasl()).await.unwrap_or_else(|_| Err(late(Phase::Sasl)))?;
    tracing::debug!(target: "ottla.connection", address = %name, apis, mechanism = sasl.as_ref().map(|s| s.mechanism), "connected");
    establish(opening, sasl, environment)
}

/// The connection that has come through all phases.
pub(crate) fn establish(
    opening: Opening,
    sasl: Option<SaslInfo>,
    environment: &Environment,
) -> Result<Arc<Connection>> {
    Ok(start(opening.finish()?, sasl.unwrap_or_default(), environment))
}

/// From here on the stream belongs to a task.
fn start(opened: Opened, sasl: SaslInfo, environment: &Environment) -> Arc<Connection> {
    let Opened { endpoint, name, settings, stream, frames, apis } = opened;
    let state = Mutex::new(State::Alive(Default::default()));
    let meter = Meter::start(&settings.metrics);
    if settings.security.tls.is_some() || settings.security.sasl.is_some() {
        settings.metrics.authenticated.count();
    }
    let shared = Arc::new(Shared {
        state,
        address: name,
        changed: Notify::new(),
        meter,
        trailing: AtomicBool::new(false),
        retired: Mutex::default(),
    });
    let (outgoing, queue) = mpsc::unbounded_channel();
    // Bytes that came along with the handshake's answer are for the reader to judge.
    let frames = frames.with_max(settings.frame_max);
    // A listener with SASL tells its API versions to anyone, and hangs up on the next request.
    let hint = match (&settings.security.sasl, &settings.security.tls) {
        (Some(_), _) => "",
        (None, Some(_)) => {
            " on the first request, as a listener with SASL does: if this one has it, set security.protocol=SASL_SSL and sasl.mechanism"
        }
        (None, None) => {
            " on the first request, as a listener with SASL does: if this one has it, set security.protocol=SASL_PLAINTEXT and sasl.mechanism"
        }
    };
    let task = tokio::spawn(drive(stream, frames, queue, Arc::clone(&shared), hint)).abort_handle();
    let connection = Arc::new(Connection {
        shared,
        endpoint,
        outgoing,
        in_flight: Arc::new(Semaphore::new(settings.max_in_flight)),
        next_correlation_id: AtomicI32::new(1),
        apis,
        settings,
        throttled: Mutex::default(),
        renewal: watch::Sender::new(None),
        task,
    });
    reauthenticate::start(&connection, &sasl, environment);
    connection
}

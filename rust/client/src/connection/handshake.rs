//! Opens a connection: DNS → TCP → (proxy →) TLS → ApiVersions → SASL → ready.
//!
//! The phases themselves are in `setup.rs`. [`connect_transport`] stops before ApiVersions,
//! [`connect_unauthenticated`] after it. This file tries each address of the host within its share of
//! the time. Every error names the phase, the address and the cause.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32};

use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::{Duration, Instant, timeout, timeout_at};

use super::authenticate::SaslInfo;
use super::frame_writer::FrameWriter;
use super::in_flight::{ConnectionShared, InFlightRequests};
use super::io::drive;
use super::meter::Meter;
use super::setup::{
    ConnectionSetup, EstablishedStream, blame_proxy, display_address, resolve, resolve_error,
};
use super::setup_progress::AddressProgress;
use super::{Connection, Settings, reauthenticate};
use crate::endpoint::Endpoint;
use crate::environment::happy_eyeballs::{attempt_delay, first_success};
use crate::environment::{BoxFuture, Environment, Stream};
use crate::error::{Error, Kind, Outlook, Phase, Result};

/// Timeout for all addresses of a host together, as a multiple of `socket.connection.setup.timeout.ms`.
const TOTAL_TIMEOUT_FACTOR: u32 = 3;
/// Maximum number of other addresses' failures in an error message; `attempts` lists all.
const MAX_FAILURES_SHOWN: usize = 8;

/// Connects to `endpoint` by `deadline`, or within three times `socket.connection.setup.timeout.ms`.
/// Tries the addresses in turn: the next one starts when the one before has failed or used up its share
/// of the time. If none works, the error lists the failures.
pub async fn connect(
    endpoint: &Endpoint,
    settings: &Settings,
    environment: &Environment,
    deadline: Option<Instant>,
) -> Result<Arc<Connection>> {
    // Without its type, which would be a part of each future that sends a request.
    let connecting: BoxFuture<'_, _> =
        Box::pin(try_addresses(endpoint, settings, environment, deadline, async |attempt: Attempt<'_>| {
            attempt.connection().await
        }));
    connecting.await
}

/// Connects as [`connect`] does, but only up to the end of the TLS handshake: for streams of requests that others
/// send.
pub async fn connect_transport(
    endpoint: &Endpoint,
    settings: &Settings,
    environment: &Environment,
    deadline: Option<Instant>,
) -> Result<Box<dyn Stream>> {
    try_addresses(endpoint, settings, environment, deadline, async |attempt: Attempt<'_>| {
        attempt.transport().await?.into_stream()
    })
    .await
}

/// Connects as [`connect`] does, but only up to the response to ApiVersions: for credentials that are not known yet.
pub async fn connect_unauthenticated(
    endpoint: &Endpoint,
    settings: &Settings,
    environment: &Environment,
    deadline: Option<Instant>,
) -> Result<ConnectionSetup> {
    try_addresses(endpoint, settings, environment, deadline, async |attempt: Attempt<'_>| {
        let mut setup = attempt.transport().await?;
        attempt.phase(Phase::ApiVersions, true, setup.api_versions()).await?;
        Ok(setup)
    })
    .await
}

/// Tries the addresses of a host in turn.
async fn try_addresses<T>(
    endpoint: &Endpoint,
    settings: &Settings,
    environment: &Environment,
    deadline: Option<Instant>,
    run: impl AsyncFn(Attempt<'_>) -> Result<T>,
) -> Result<T> {
    let deadline = deadline.unwrap_or_else(|| Instant::now() + TOTAL_TIMEOUT_FACTOR * settings.setup_timeout);
    let within = settings.setup_timeout.min(deadline.saturating_duration_since(Instant::now()));
    settings.progress.resolve();
    let resolving = timeout(within, resolve(endpoint, settings, environment)).await;
    settings.progress.resolved();
    let addresses = match resolving {
        Ok(resolved) => resolved?,
        Err(_) => {
            return Err(resolve_error(
                endpoint,
                settings,
                &format_args!("no response within {} ms", within.as_millis()),
            ));
        }
    };
    let attempt_delay = attempt_delay(addresses.len(), Some(deadline));
    let run = &run;
    let connecting = first_success(addresses, attempt_delay, |address| async move {
        let within = settings.setup_timeout.min(deadline.saturating_duration_since(Instant::now()));
        let progress = settings.progress.begin_address();
        let deadline = Instant::now() + within;
        let attempt =
            Attempt { endpoint, address, settings, environment, within, deadline, progress: &progress };
        let connected = run(attempt).await;
        progress.end(connected.is_ok());
        match connected {
            // Credentials that one address refuses are refused by the others too.
            Err(error) if error.kind() == Kind::Authentication => Ok(Err(error)),
            connected => connected.map(Ok),
        }
    });
    let mut failures = match connecting.await {
        Ok(Ok(connected)) => return Ok(connected),
        Ok(Err(error)) => {
            settings.metrics.authentication_failed.count();
            return Err(error);
        }
        Err(failures) => failures,
    };
    let Some(last) = failures.pop() else {
        return Err(resolve_error(endpoint, settings, &"it has no address").with_outlook(Outlook::Permanent));
    };
    // The last failure's address follows the message; of many others, the first few are enough.
    let mut before: Vec<String> =
        failures.iter().take(MAX_FAILURES_SHOWN).map(|failure| format!("{failure}; then")).collect();
    if failures.len() > MAX_FAILURES_SHOWN {
        before.push(format!("{} more addresses; then", failures.len() - MAX_FAILURES_SHOWN));
    }
    let error = if before.is_empty() { last.clone() } else { last.clone().prefixed(before.join(" ")) };
    failures.push(last);
    Err(error.with_attempts(failures))
}

/// An attempt to connect to one address.
struct Attempt<'a> {
    endpoint: &'a Endpoint,
    address: SocketAddr,
    settings: &'a Settings,
    environment: &'a Environment,
    /// The time for the attempt, for error messages.
    within: Duration,
    deadline: Instant,
    progress: &'a AddressProgress<'a>,
}

impl Attempt<'_> {
    /// All phases.
    async fn connection(&self) -> Result<Arc<Connection>> {
        let mut setup = self.transport().await?;
        let apis = self.phase(Phase::ApiVersions, true, setup.api_versions()).await?.len();
        let sasl = self.phase(Phase::Sasl, self.settings.security.sasl.is_some(), setup.sasl()).await?;
        let address = setup.address();
        tracing::debug!(target: "ottla.connection", %address, apis, mechanism = sasl.as_ref().map(|s| s.mechanism), "connected");
        establish(setup, sasl, self.environment)
    }

    /// The phases that need no request to the broker.
    async fn transport(&self) -> Result<ConnectionSetup> {
        let connecting = ConnectionSetup::tcp(self.endpoint, self.address, self.settings, self.environment);
        let mut setup = self.phase(Phase::Tcp, true, connecting).await?;
        self.phase(Phase::Proxy, self.settings.proxy.is_some(), setup.proxy()).await?;
        self.phase(Phase::Tls, self.settings.security.tls.is_some(), setup.tls()).await?;
        Ok(setup)
    }

    /// Runs one phase until the deadline. One that is not `configured` does nothing, and does not count as progress.
    async fn phase<T>(
        &self,
        phase: Phase,
        configured: bool,
        run: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        if configured {
            self.progress.enter(phase);
        }
        timeout_at(self.deadline, run).await.unwrap_or_else(|_| Err(self.timeout_error(phase)))
    }

    fn timeout_error(&self, phase: Phase) -> Error {
        let millis = (self.within + Duration::from_micros(500)).as_millis();
        let message = match self.within == self.settings.setup_timeout {
            true => format!("no response within socket.connection.setup.timeout.ms ({millis} ms)"),
            false => format!("no response within {millis} ms"),
        };
        let error = Error::new(Kind::Connection, message);
        let error = match phase {
            Phase::Tcp | Phase::Proxy => blame_proxy(error, self.settings),
            _ => error,
        };
        error.phase(phase).address(display_address(self.endpoint, self.address, self.settings))
    }
}

/// Creates the connection after all phases of the setup.
pub(crate) fn establish(
    setup: ConnectionSetup,
    sasl: Option<SaslInfo>,
    environment: &Environment,
) -> Result<Arc<Connection>> {
    Ok(start(setup.finish()?, sasl.unwrap_or_default(), environment))
}

/// Hands the stream to a task.
fn start(opened: EstablishedStream, sasl: SaslInfo, environment: &Environment) -> Arc<Connection> {
    let EstablishedStream { endpoint, name, settings, stream, frames, apis } = opened;
    let state = Mutex::new(InFlightRequests::Alive(Default::default()));
    let meter = Meter::start(&settings.metrics, &name);
    if settings.security.tls.is_some() || settings.security.sasl.is_some() {
        settings.metrics.authenticated.count();
    }
    let (reader, writer) = tokio::io::split(stream);
    let writer = Arc::new(FrameWriter::new(writer));
    let shared = Arc::new(ConnectionShared {
        state,
        guarded_until: Mutex::default(),
        closed: watch::Sender::new(false),
        address: name,
        changed: Notify::new(),
        meter,
        trailing_bytes_reported: AtomicBool::new(false),
        is_late: AtomicBool::new(false),
        retire_reason: Mutex::default(),
        request_timeout: settings.request_timeout,
        failures: Arc::clone(&settings.failures),
        bootstrap: Arc::clone(&settings.bootstrap),
    });
    // Bytes that followed the handshake's last response are left to the reader.
    let frames = frames.with_max(settings.frame_max);
    // A SASL listener sends its API versions to any client, and closes the connection on the next
    // request.
    let hint = match (&settings.security.sasl, &settings.security.tls) {
        (Some(_), _) => "",
        (None, Some(_)) => {
            " on the first request, as a SASL listener does: if this is one, set security.protocol=SASL_SSL and sasl.mechanism"
        }
        (None, None) => {
            " on the first request, as a SASL listener does: if this is one, set security.protocol=SASL_PLAINTEXT and sasl.mechanism"
        }
    };
    let task =
        tokio::spawn(drive(reader, frames, Arc::clone(&shared), Arc::clone(&writer), hint)).abort_handle();
    let connection = Arc::new(Connection {
        shared,
        writer,
        endpoint,
        in_flight: Arc::new(Semaphore::new(settings.max_in_flight)),
        background: Arc::new(Semaphore::new(1)),
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

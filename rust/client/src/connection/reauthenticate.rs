//! Reauthentication before the session expires (KIP-368), on the same connection.
//!
//! Invariant: no request is lost or refused because of it. New requests wait until those in flight have
//! their responses and the exchange has ended; brokers process one request of a connection at a time
//! anyway, so this costs little more than the exchange. No other request is sent from the time the
//! exchange is due until it ends, even if its task runs late: brokers close a connection whose session
//! has expired at the first request that does not reauthenticate. A refusal closes the connection with
//! its cause.

use std::sync::{Arc, Weak};

use ottla_protocol::Request;
use tokio::sync::Semaphore;
use tokio::time::{Duration, Instant, sleep_until, timeout};

use super::authenticate::{SaslChannel, SaslInfo, authenticate};
use super::{ApiRange, Connection, InFlightPermit};
use crate::environment::Environment;
use crate::error::{Error, Kind, Phase, Result};
use crate::tasks::panics::catch;

/// Minimum time between two exchanges, for sessions with a very short lifetime.
const MIN_RENEWAL_INTERVAL: Duration = Duration::from_millis(100);

/// Starts the task that renews the session, if it expires.
pub(super) fn start(connection: &Arc<Connection>, sasl: &SaslInfo, environment: &Environment) {
    let due = due(sasl, environment);
    if due.is_some() {
        connection.renewal.send_replace(due);
        // The task ends with the connection: see `renew_until_closed`.
        let (weak, environment) = (Arc::downgrade(connection), environment.clone());
        tokio::spawn(async move {
            let renewing = renew_until_closed(weak.clone(), environment);
            if let Err(panicked) = catch("the task that renews a session", renewing).await
                && let Some(connection) = weak.upgrade()
            {
                // Requests would wait for ever for the session to be renewed.
                connection.shared.poison(panicked.as_kind(Kind::Connection));
            }
        });
    }
}

/// Whether the session must be renewed before the next request.
pub(super) fn is_due(connection: &Connection) -> bool {
    connection.renewal.borrow().is_some_and(|due| due <= Instant::now())
}

/// Waits until the session is renewed or the connection is closed.
pub(super) async fn wait_until_renewed(connection: &Connection) {
    let mut renewal = connection.renewal.subscribe();
    tokio::select! {
        _ = renewal.wait_for(|due| due.is_none_or(|due| due > Instant::now())) => {}
        () = connection.shared.wait_until_closed() => {}
    }
}

/// When to renew: at a random 85 to 95 % of the session's lifetime, to spread the load of many
/// connections.
fn due(sasl: &SaslInfo, environment: &Environment) -> Option<Instant> {
    let lifetime = sasl.lifetime?;
    Some(Instant::now() + lifetime.mul_f64(0.85 + 0.1 * environment.random()).max(MIN_RENEWAL_INTERVAL))
}

/// Renews the session whenever it is due, until it does not expire or the connection is closed.
async fn renew_until_closed(connection: Weak<Connection>, environment: Environment) {
    while let Some(due) = connection.upgrade().and_then(|connection| *connection.renewal.borrow()) {
        tokio::select! {
            () = sleep_until(due) => {}
            () = wait_until_closed(&connection) => return,
        }
        let Some(connection) = connection.upgrade() else { return };
        match reauthenticate(&connection, &environment).await {
            Ok(sasl) => {
                connection.settings.metrics.reauthenticated.count();
                tracing::debug!(target: "ottla.connection", address = %connection.address(), "reauthenticated");
                connection.renewal.send_replace(self::due(&sasl, &environment));
            }
            Err(error) => {
                connection.settings.metrics.reauthentication_failed.count();
                tracing::warn!(target: "ottla.connection", address = %connection.address(), %error, "reauthentication failed");
                connection.shared.poison(error);
                return;
            }
        }
    }
}

/// Waits until the connection is closed.
async fn wait_until_closed(connection: &Weak<Connection>) {
    if let Some(closed) = connection.upgrade().map(|connection| connection.shared.wait_until_closed()) {
        closed.await;
    }
}

/// Runs one exchange while no other request is in flight.
async fn reauthenticate(connection: &Arc<Connection>, environment: &Environment) -> Result<SaslInfo> {
    let Some(sasl) = &connection.settings.security.sasl else { return Ok(SaslInfo::default()) };
    let all = u32::try_from(connection.settings.max_in_flight).unwrap_or(u32::MAX);
    // Terminates, because requests in flight have timeouts.
    let permits = Arc::clone(&connection.in_flight).acquire_many_owned(all).await;
    let _permits = permits.map_err(|_| connection.close_error())?;
    if let Some(cause) = connection.close_reason() {
        return Err(cause);
    }
    let within = connection.settings.request_timeout;
    let mut exclusive = ExclusiveConnection { connection, permits: Arc::new(Semaphore::new(1)) };
    timeout(within, authenticate(&mut exclusive, sasl, environment)).await.unwrap_or_else(|_| {
        let message = format!("reauthentication took more than {} ms", within.as_millis());
        Err(Error::new(Kind::Connection, message).phase(Phase::Sasl).address(connection.address()))
    })
}

/// A connection on which no other request may be sent.
struct ExclusiveConnection<'a> {
    connection: &'a Arc<Connection>,
    /// Permits for the exchange: it holds all of the connection's own until it ends.
    permits: Arc<Semaphore>,
}

impl SaslChannel for ExclusiveConnection<'_> {
    fn address(&self) -> &str {
        self.connection.address()
    }

    fn host(&self) -> &str {
        &self.connection.endpoint().host
    }

    fn apis(&self) -> &[ApiRange] {
        &self.connection.apis
    }

    async fn send<R: Request + Sync>(&mut self, request: &R) -> Result<R::Response> {
        let version = self.connection.version::<R>(i16::MAX)?;
        let permit =
            Arc::clone(&self.permits).acquire_owned().await.map_err(|_| self.connection.close_error())?;
        let within = self.connection.settings.request_timeout;
        let response =
            self.connection.request_with_permit(InFlightPermit(permit), request, version, within).await;
        response.map_err(|error| error.phase(Phase::Sasl))
    }
}

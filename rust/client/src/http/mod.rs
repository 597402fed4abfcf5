//! A small HTTP/1.1 client on the environment's network and this client's TLS, for token endpoints and
//! schema registries.
//!
//! - `connect`: opens a connection to an origin: DNS, TCP, TLS. `exchange`: one request and its response.
//! - `encode`: the encoding of paths and forms.
//!
//! Invariants: every request has a deadline, and the size of its response is bounded; redirects are not
//! followed; at most one idle connection of an origin is kept; a request is repeated, once, only if a reused
//! connection was closed before its response and the request was not sent or is idempotent.

mod connect;
pub(crate) mod encode;
mod exchange;
#[cfg(all(test, feature = "arrow"))]
mod tests;

use std::fmt;
use std::time::SystemTime;

use bytes::Bytes;
use hyper::{Method, Uri};
use parking_lot::Mutex;
use tokio::time::{Duration, Instant, timeout_at};

use crate::environment::Environment;
use crate::error::{Error, Kind};
use crate::ip_zone::host_in_url;
use crate::proxy::Proxy;
use crate::secret::Secret;
use crate::security::Tls;
use connect::connect;
use exchange::OpenConnection;

/// A connection that was not used for this long is not used again: firewalls and load balancers forget
/// connections silently.
const IDLE_LIMIT: Duration = Duration::from_secs(30);

/// The server of an origin, as errors name it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Server {
    /// As in "the token server".
    pub(crate) name: &'static str,
    /// The prefix of its keys about TLS.
    pub(crate) key_prefix: &'static str,
}

/// Where requests go, and how.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) server: Server,
    /// The name or address, without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The value of the header `Host`.
    pub(crate) authority: String,
    pub(crate) tls: Option<Tls>,
    pub(crate) proxy: Option<Proxy>,
}

impl Origin {
    /// The origin of a URL; with TLS if there is a configuration for it.
    pub(crate) fn new(server: Server, url: &Uri, tls: Option<Tls>) -> Self {
        let authority = url.authority().map_or("", |authority| authority.as_str());
        Self {
            server,
            host: host_in_url(url.host().unwrap_or_default()),
            port: url.port_u16().unwrap_or(if tls.is_some() { 443 } else { 80 }),
            authority: host_header(authority),
            tls,
            proxy: None,
        }
    }

    /// Connects through a proxy, if there is one.
    pub(crate) fn with_proxy(self, proxy: Option<Proxy>) -> Self {
        Self { proxy, ..self }
    }
}

/// The authority of a URL without user and password, and without the zone of an IPv6 address.
fn host_header(authority: &str) -> String {
    let host = authority.rsplit('@').next().unwrap_or_default();
    match (host.find('%'), host.find(']')) {
        (Some(zone), Some(end)) if zone < end => format!("{}{}", &host[..zone], &host[end..]),
        _ => host.to_owned(),
    }
}

/// A request.
#[derive(Debug)]
pub(crate) struct HttpRequest<'a> {
    pub(crate) method: Method,
    /// The path and the query.
    pub(crate) path: &'a str,
    pub(crate) authorization: Option<&'a Secret>,
    pub(crate) accept: &'static str,
    /// The media type and the content.
    pub(crate) body: Option<(&'static str, Bytes)>,
    /// Whether repeating the request has no further effect.
    pub(crate) is_idempotent: bool,
}

/// A response.
#[derive(Debug)]
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    /// The server's clock (`Date`).
    pub(crate) date: Option<SystemTime>,
    #[cfg(feature = "arrow")]
    pub(crate) content_type: String,
    /// The time that the server asks to wait (`Retry-After` in seconds).
    #[cfg(feature = "arrow")]
    pub(crate) retry_after: Option<Duration>,
    /// The address of a redirect.
    #[cfg(feature = "arrow")]
    pub(crate) location: Option<String>,
    pub(crate) body: Bytes,
}

/// Why there is no response.
#[derive(Debug)]
pub(crate) struct HttpError {
    pub(crate) error: Error,
    /// Whether the server may have received the request.
    #[cfg_attr(not(feature = "arrow"), expect(dead_code, reason = "a token request may be repeated"))]
    pub(crate) was_sent: bool,
}

impl HttpError {
    /// A failure to connect or to send.
    fn unsent(error: Error) -> Self {
        Self { error, was_sent: false }
    }
}

/// The error of a connection.
fn failed(why: impl fmt::Display) -> Error {
    Error::new(Kind::Connection, why.to_string())
}

/// A client of one origin.
#[derive(Debug)]
pub(crate) struct HttpClient {
    origin: Origin,
    /// The largest body of a response.
    max_body: usize,
    keeps_alive: bool,
    idle: Mutex<Option<IdleConnection>>,
}

#[derive(Debug)]
struct IdleConnection {
    connection: OpenConnection,
    since: Instant,
}

impl HttpClient {
    /// A client that opens a connection for each request.
    pub(crate) fn new(origin: Origin, max_body: usize) -> Self {
        Self { origin, max_body, keeps_alive: false, idle: Mutex::new(None) }
    }

    /// Keeps one connection for the next request.
    #[cfg(feature = "arrow")]
    pub(crate) fn with_keep_alive(self) -> Self {
        Self { keeps_alive: true, ..self }
    }

    /// Sends a request and returns its response, whatever its status is.
    pub(crate) async fn send(
        &self,
        request: &HttpRequest<'_>,
        environment: &Environment,
        deadline: Instant,
    ) -> Result<HttpResponse, HttpError> {
        let started = Instant::now();
        let slow = |was_sent, what: &str| {
            let message = format!("{what} within {} ms", started.elapsed().as_millis());
            HttpError { error: Error::new(Kind::Timeout, message), was_sent }
        };
        if let Some(connection) = self.take_idle(Instant::now()) {
            let exchanged = timeout_at(deadline, self.exchange(connection, request)).await;
            match exchanged.map_err(|_| slow(true, "no response"))? {
                Err(failure) if failure.may_repeat(request) => {
                    tracing::debug!(target: "ottla.http", error = %failure.error, "the connection was closed; the request is sent again");
                }
                done => return done.map_err(|failure| failure.into_error(&self.origin)),
            }
        }
        // On the heap: a schema that refers to others is looked up within the look-ups of these.
        let connecting = timeout_at(deadline, Box::pin(connect(&self.origin, environment, deadline))).await;
        let stream = connecting.map_err(|_| slow(false, "no connection"))?.map_err(HttpError::unsent)?;
        let exchange = async {
            let connection = OpenConnection::new(stream).await.map_err(HttpError::unsent)?;
            let exchanged = self.exchange(connection, request).await;
            exchanged.map_err(|failure| failure.into_error(&self.origin))
        };
        timeout_at(deadline, exchange).await.map_err(|_| slow(true, "no response"))?
    }

    /// Sends the request on a connection, and keeps the connection for the next one.
    async fn exchange(
        &self,
        mut connection: OpenConnection,
        request: &HttpRequest<'_>,
    ) -> Result<HttpResponse, exchange::Failure> {
        let response = connection.send(request, &self.origin, self.max_body, self.keeps_alive).await?;
        if self.keeps_alive && connection.is_open() {
            *self.idle.lock() = Some(IdleConnection { connection, since: Instant::now() });
        }
        Ok(response)
    }

    fn take_idle(&self, now: Instant) -> Option<OpenConnection> {
        let idle = self.idle.lock().take()?;
        let is_fresh = now.saturating_duration_since(idle.since) < IDLE_LIMIT;
        (is_fresh && idle.connection.is_open()).then_some(idle.connection)
    }

    /// Closes the idle connection.
    #[cfg(feature = "arrow")]
    pub(crate) fn close_idle(&self) {
        self.idle.lock().take();
    }
}

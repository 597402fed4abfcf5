//! One connection to one broker: requests go in, answers come out, many at a time.
//!
//! Two tasks own the two halves of the stream (`io.rs`); this handle shares with them the queue of
//! requests in flight. Kafka answers in order, so the queue is first in, first out.
//!
//! Invariants: a dead connection keeps its cause, and everyone who waited, waits or will ask gets
//! that cause. A request's bytes are held by reference count until the socket has taken them.
//! Dropping the future of a request gives up its answer and nothing else.

mod handshake;
mod io;
mod pool;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use bytes::Bytes;
use ottla_protocol::header::{self, RequestHeader};
use ottla_protocol::wire::{Frame, Reader};
use ottla_protocol::{ApiKey, Request, WireError};
use parking_lot::Mutex;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio::time::{Duration, Instant};

pub use handshake::{Endpoint, Settings, connect};
pub use pool::{Pool, Status, unknown_broker};

use crate::error::{Error, Kind, Phase, Result};
use handshake::ApiRange;

/// A frame for the writer, and when its answer is overdue.
struct Outgoing {
    frame: Frame,
    timeout: Duration,
}

/// A request in flight.
struct Pending {
    correlation_id: i32,
    api: ApiKey,
    version: i16,
    /// When the answer is overdue: set once the request was written, since before that the broker
    /// cannot be blamed.
    overdue: Option<Instant>,
    answer: oneshot::Sender<Result<Bytes>>,
}

/// The requests in flight, or what ended the connection.
enum State {
    Alive(VecDeque<Pending>),
    Dead(Error),
}

struct Shared {
    state: Mutex<State>,
    address: String,
}

impl Shared {
    /// Ends the connection: the first cause is kept and given to everyone who waits.
    fn poison(&self, cause: Error) {
        let mut state = self.state.lock();
        if let State::Alive(pending) = &mut *state {
            tracing::debug!(target: "ottla.connection", address = %self.address, in_flight = pending.len(), %cause, "connection ended");
            for request in pending.drain(..) {
                // Whoever gave up waiting does not need to know.
                let _ = request.answer.send(Err(cause.clone().api(request.api)));
            }
            *state = State::Dead(cause);
        }
    }
}

/// A connection that is up. Dropping the last handle closes it.
pub struct Connection {
    shared: Arc<Shared>,
    outgoing: mpsc::Sender<Outgoing>,
    in_flight: Semaphore,
    next_correlation_id: AtomicI32,
    apis: Vec<ApiRange>,
    settings: Settings,
    tasks: [AbortHandle; 2],
}

impl Drop for Connection {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
        self.shared.poison(self.lost("closed by this client"));
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("address", &self.shared.address).finish_non_exhaustive()
    }
}

impl Connection {
    fn lost(&self, why: &str) -> Error {
        Error::new(Kind::Connection, format!("connection lost: {why}")).address(&self.shared.address)
    }

    /// The address, as `host:port`.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.shared.address
    }

    /// What ended the connection, if anything did.
    #[must_use]
    pub fn cause_of_death(&self) -> Option<Error> {
        match &*self.shared.state.lock() {
            State::Alive(_) => None,
            State::Dead(cause) => Some(cause.clone()),
        }
    }

    /// How many requests wait for their answers.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        match &*self.shared.state.lock() {
            State::Alive(pending) => pending.len(),
            State::Dead(_) => 0,
        }
    }

    /// The version of `R` to use with this broker: the highest that both know and that a client
    /// may use, but not above `max`.
    pub fn version<R: Request>(&self, max: i16) -> Result<i16> {
        let range = self.apis.iter().find(|range| range.api == R::API);
        let version = range.and_then(|range| R::API.negotiate(range.min, range.max.min(max)));
        version.ok_or_else(|| {
            let (low, high) = R::API.versions();
            let broker = match range {
                Some(range) => format!("versions {} to {}", range.min, range.max),
                None => "no version".to_owned(),
            };
            Error::new(
                Kind::Broker,
                format!("the broker speaks {broker} of {}, this client {low} to {high}", R::API.name()),
            )
            .address(self.address())
        })
    }

    /// Sends a request in `version` and waits for its answer.
    ///
    /// The answer is due `request.timeout.ms` after the request was written. If it does not come,
    /// the connection ends: answers come in order, so those behind it would not come either.
    pub async fn request<R: Request>(&self, request: &R, version: i16) -> Result<R::Response> {
        self.request_within(request, version, self.settings.request_timeout).await
    }

    /// As [`Connection::request`], with the time that the broker was itself told it may take on
    /// top (the wait of a fetch).
    pub async fn request_within<R: Request>(
        &self,
        request: &R,
        version: i16,
        timeout: Duration,
    ) -> Result<R::Response> {
        let answer = self.exchange(request, version, timeout, true).await?;
        let Some(bytes) = answer else { return Err(self.lost("no answer")) };
        let context = |error: WireError| {
            let error = Error::from(error).because(format_args!("malformed answer to {}", R::API.name()));
            let error = error.api(R::API).address(self.address());
            self.shared.poison(error.clone());
            error
        };
        let mut r = Reader::new(bytes);
        header::decode_response_header(&mut r, R::API.response_header_version(version)).map_err(context)?;
        let response = <R::Response as ottla_protocol::Message>::decode(&mut r, version).map_err(context)?;
        match r.remaining() {
            0 => Ok(response),
            left => Err(context(WireError::Trailing { message: R::API.name(), left })),
        }
    }

    /// Sends a request that the broker does not answer (produce with `acks=0`).
    pub async fn send_unanswered<R: Request>(&self, request: &R, version: i16) -> Result<()> {
        self.exchange(request, version, self.settings.request_timeout, false).await.map(drop)
    }

    async fn exchange<R: Request>(
        &self,
        request: &R,
        version: i16,
        timeout: Duration,
        answered: bool,
    ) -> Result<Option<Bytes>> {
        let _permit = self.in_flight.acquire().await.map_err(|_| self.lost("closed"))?;
        let correlation_id = self.next_correlation_id.fetch_add(1, Ordering::Relaxed);
        let header = RequestHeader {
            api_key: R::API as i16,
            api_version: version,
            correlation_id,
            client_id: Some(self.settings.client_id.clone()),
        };
        let frame = header::request_frame(&header, R::API.request_header_version(version), request)
            .map_err(|e| Error::from(e).api(R::API).address(self.address()))?;

        // A place in the writer's queue first: from there on, the order in which requests are
        // registered and the order in which they are written are the same.
        let slot = match self.outgoing.reserve().await {
            Ok(slot) => slot,
            Err(_) => return Err(self.cause_of_death().unwrap_or_else(|| self.lost("closed")).api(R::API)),
        };
        let (answer, response) = oneshot::channel();
        {
            let mut state = self.shared.state.lock();
            match &mut *state {
                State::Dead(cause) => return Err(cause.clone().api(R::API)),
                State::Alive(pending) if answered => {
                    pending.push_back(Pending {
                        correlation_id,
                        api: R::API,
                        version,
                        overdue: None,
                        answer,
                    });
                }
                State::Alive(_) => {}
            }
            slot.send(Outgoing { frame, timeout });
        }
        tracing::trace!(target: "ottla.connection", address = %self.address(), api = R::API.name(), version, correlation_id, "request");
        if !answered {
            return Ok(None);
        }
        match response.await {
            Ok(answer) => answer.map(Some),
            Err(_) => Err(self.cause_of_death().unwrap_or_else(|| self.lost("closed"))),
        }
    }
}

/// An error of the transport, in words that tell a firewall from a crash.
fn transport_error(error: &std::io::Error, phase: Phase, address: &str) -> Error {
    use std::io::ErrorKind as E;
    let words = match error.kind() {
        E::ConnectionRefused => "connection refused: nothing listens there".to_owned(),
        E::ConnectionReset | E::BrokenPipe | E::ConnectionAborted => {
            "the broker closed the connection (reset)".to_owned()
        }
        E::UnexpectedEof => "the broker closed the connection".to_owned(),
        E::TimedOut => "timed out in the network".to_owned(),
        E::HostUnreachable | E::NetworkUnreachable => "no route to the address".to_owned(),
        _ => error.to_string(),
    };
    Error::new(Kind::Connection, words).phase(phase).address(address)
}

//! One connection to one broker: requests go in, answers come out, many at a time.
//!
//! One task owns the stream (`io.rs`); this handle shares with it the queue of requests (`in_flight.rs`).
//! Kafka answers in order, so the queue is first in, first out.
//!
//! Invariants: a dead connection keeps its cause, and everyone who waited, waits or will ask gets
//! that cause. A request's bytes are held by reference count until the socket has taken them.
//! Dropping the future of a request gives up its answer and nothing else.

mod authenticate;
mod buffer_pool;
mod endpoint;
mod frames;
mod handshake;
mod in_flight;
mod io;
mod meter;
mod overdue_responses;
mod pool;
mod pool_slot;
mod reauthenticate;
mod settings;
pub mod setup;
mod status;
mod transport_error;
mod unreachable_brokers;
mod versions;

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use bytes::Bytes;
use ottla_protocol::header::{self, RequestHeader};
use ottla_protocol::wire::Reader;
use ottla_protocol::{ApiKey, Request, WireError};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};
use tokio::task::AbortHandle;
use tokio::time::{Duration, Instant, sleep_until};

pub use authenticate::SaslInfo;
pub use endpoint::Endpoint;
pub use handshake::connect;
pub(crate) use handshake::establish;
pub use pool::{Pool, unknown_broker};
pub use settings::Settings;
pub use status::{ConnectionRole, ConnectionState, Owner, Status};
pub use versions::ApiRange;
pub(crate) use versions::is_controller;

use crate::error::{Error, Result};
use in_flight::{ConnectionShared, InFlightRequest, InFlightRequests, Outgoing};

/// A broker that is silent for this long may be gone, although its connection stays.
const HUNG_AFTER: Duration = Duration::from_secs(2);

/// Leave to have one more request in flight.
#[derive(Debug)]
pub struct InFlightPermit(
    #[allow(dead_code, reason = "what counts is that it is held")] OwnedSemaphorePermit,
);

/// An answer that is to come.
pub(crate) struct PendingResponse(oneshot::Receiver<Result<Bytes>>);

/// A connection that is up. Dropping the last handle closes it.
pub struct Connection {
    shared: Arc<ConnectionShared>,
    endpoint: Endpoint,
    outgoing: mpsc::UnboundedSender<Outgoing>,
    in_flight: Arc<Semaphore>,
    next_correlation_id: AtomicI32,
    apis: Vec<ApiRange>,
    settings: Settings,
    /// Until then the broker wants no requests (KIP-219).
    throttled: Mutex<Option<Instant>>,
    /// From then on nothing is sent before the session is renewed; `None`: it does not end.
    renewal: watch::Sender<Option<Instant>>,
    task: AbortHandle,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.close();
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("address", &self.shared.address).finish_non_exhaustive()
    }
}

impl Connection {
    /// The address, as `host:port`.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.shared.address
    }

    /// The name and port that were connected to.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// What ended the connection, if anything did.
    #[must_use]
    pub fn close_reason(&self) -> Option<Error> {
        self.shared.close_reason()
    }

    /// Resolves when the connection has ended, with what ended it. It does not keep it open.
    pub fn closed(&self) -> impl Future<Output = Error> + Send + 'static {
        let (outgoing, shared) = (self.outgoing.clone(), Arc::clone(&self.shared));
        async move {
            outgoing.closed().await;
            shared.close_reason().unwrap_or_else(|| shared.closed_error("closed"))
        }
    }

    /// What the broker speaks.
    #[must_use]
    pub fn apis(&self) -> &[ApiRange] {
        &self.apis
    }

    /// How many requests wait for their answers.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        match &*self.shared.state.lock() {
            InFlightRequests::Alive(pending) => pending.len(),
            InFlightRequests::Dead(_) => 0,
        }
    }

    /// Whether the broker still owes an answer to one of these.
    pub(crate) fn has_in_flight(&self, apis: &[ApiKey]) -> bool {
        self.shared.has_in_flight(apis)
    }

    /// Whether the broker owes a response for [`HUNG_AFTER`] longer than it was told that it may take.
    pub(crate) fn is_hung(&self) -> bool {
        let InFlightRequests::Alive(pending) = &*self.shared.state.lock() else { return false };
        // What the broker may take by itself, as for the wait of a fetch, is on top of the time-out.
        let due = |request: &InFlightRequest| {
            let own = request.timeout.saturating_sub(self.settings.request_timeout);
            Some(request.written_at? + own + HUNG_AFTER)
        };
        pending.front().and_then(due).is_some_and(|due| due <= Instant::now())
    }

    /// How long an answer takes, as far as is known.
    #[must_use]
    pub fn round_trip(&self) -> Option<Duration> {
        self.shared.meter.round_trip()
    }

    /// For how long the broker still wants no requests.
    #[must_use]
    pub fn throttled_for(&self) -> Option<Duration> {
        let left = (*self.throttled.lock())?.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }

    /// For how long nothing was sent or received, and nothing is waited for.
    fn idle_time(&self) -> Duration {
        if self.in_flight() > 0 { Duration::ZERO } else { self.shared.meter.idle_time() }
    }

    /// Says why it will be closed when the last one who uses it lets go of it.
    fn retire(&self, why: String) {
        *self.shared.retire_reason.lock() = Some(why);
    }

    fn is_retired(&self) -> bool {
        self.shared.retire_reason.lock().is_some()
    }

    /// Ends the connection; everyone who waits on it is told so.
    pub fn close(&self) {
        let why = self.shared.retire_reason.lock().take();
        let why = why.map_or_else(
            || "closed by this client".to_owned(),
            |why| format!("closed by this client: {why}"),
        );
        self.shared.poison(self.shared.closed_error(&why));
        self.task.abort();
    }

    /// Holds back requests for as long as the broker asked, but no longer than a request may take:
    /// the number comes from the network.
    pub fn throttle(&self, millis: i32) {
        if let Ok(millis @ 1..) = u64::try_from(millis) {
            let wait = Duration::from_millis(millis).min(self.settings.request_timeout);
            *self.throttled.lock() = Some(Instant::now() + wait);
        }
    }

    /// The version of `R` to use with this broker: the highest that both know and that a client
    /// may use, but not above `max`.
    pub fn version<R: Request>(&self, max: i16) -> Result<i16> {
        versions::negotiate::<R>(&self.apis, max, self.address())
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
        let permit = self.permit().await?;
        self.request_with_permit(permit, request, version, timeout).await
    }

    /// Waits until one more request may be in flight. An error means that nothing was sent.
    pub async fn permit(&self) -> Result<InFlightPermit> {
        let throttled = *self.throttled.lock();
        if let Some(until) = throttled {
            sleep_until(until).await;
        }
        loop {
            let permit = Arc::clone(&self.in_flight).acquire_owned().await;
            let permit = permit.map_err(|_| self.shared.closed_error("closed"))?;
            if let Some(cause) = self.close_reason() {
                return Err(cause);
            }
            if !reauthenticate::is_due(self) {
                return Ok(InFlightPermit(permit));
            }
            drop(permit);
            reauthenticate::wait_until_renewed(self).await;
        }
    }

    /// As [`Connection::request_within`], for a caller who has waited for its turn.
    pub async fn request_with_permit<R: Request>(
        &self,
        permit: InFlightPermit,
        request: &R,
        version: i16,
        timeout: Duration,
    ) -> Result<R::Response> {
        let pending = self.enqueue(permit, request, version, timeout)?;
        self.response::<R>(pending, version).await
    }

    /// Hands a request to the writer, after those that were handed to it before; the answer is for
    /// [`Connection::answer`] to wait for.
    pub(crate) fn enqueue<R: Request>(
        &self,
        permit: InFlightPermit,
        request: &R,
        version: i16,
        timeout: Duration,
    ) -> Result<PendingResponse> {
        let (response, receiver) = oneshot::channel();
        self.submit(request, version, timeout, |outgoing, pending| {
            let Outgoing { correlation_id, timeout, .. } = outgoing;
            let (correlation_id, timeout) = (*correlation_id, *timeout);
            let (api, written_at, prompt) = (R::API, None, timeout <= self.settings.request_timeout);
            pending.push_back(InFlightRequest {
                correlation_id,
                api,
                version,
                timeout,
                written_at,
                prompt,
                response,
                _permit: permit,
            });
        })?;
        Ok(PendingResponse(receiver))
    }

    /// Waits for the answer to a request of type `R` that was sent in `version`.
    pub(crate) async fn response<R: Request>(
        &self,
        pending: PendingResponse,
        version: i16,
    ) -> Result<R::Response> {
        let bytes = pending.0.await.unwrap_or_else(|_| Err(self.close_error()))?;
        let malformed = |error: WireError| {
            let error = Error::from(error).prefixed(format_args!("malformed answer to {}", R::API.name()));
            let error = error.api(R::API).address(self.address());
            self.shared.poison(error.clone());
            error
        };
        let mut r = Reader::new(bytes);
        header::decode_response_header(&mut r, R::API.response_header_version(version)).map_err(malformed)?;
        let response =
            <R::Response as ottla_protocol::Message>::decode(&mut r, version).map_err(malformed)?;
        let left = r.remaining();
        if left > 0 && !self.shared.trailing_bytes_reported.swap(true, Ordering::AcqRel) {
            // The message is whole; librdkafka's mock cluster, for one, sends a byte too many.
            tracing::warn!(target: "ottla.connection", address = %self.address(), api = R::API.name(), version, left, "the broker sends more bytes than the response has: they are ignored, in this response and those to come");
        }
        Ok(response)
    }

    /// Sends a request that the broker does not answer (produce with `acks=0`), and waits until
    /// the socket has taken it.
    pub async fn send_without_response<R: Request>(
        &self,
        permit: InFlightPermit,
        request: &R,
        version: i16,
    ) -> Result<()> {
        let (written, wait) = oneshot::channel();
        self.submit(request, version, self.settings.request_timeout, |outgoing, _| {
            outgoing.on_written = Some((written, permit));
        })?;
        wait.await.map_err(|_| self.close_error().api(R::API))
    }

    fn close_error(&self) -> Error {
        self.close_reason().unwrap_or_else(|| self.shared.closed_error("closed"))
    }

    /// Puts a request into the writer's queue. Registering and queueing are one step, so that the
    /// order in which requests are registered and the order in which they are written are the same.
    fn submit<R: Request>(
        &self,
        request: &R,
        version: i16,
        timeout: Duration,
        register: impl FnOnce(&mut Outgoing, &mut VecDeque<InFlightRequest>),
    ) -> Result<()> {
        let correlation_id = self.next_correlation_id.fetch_add(1, Ordering::Relaxed);
        let header = RequestHeader {
            api_key: R::API as i16,
            api_version: version,
            correlation_id,
            client_id: Some(self.settings.client_id.clone()),
        };
        let frame = header::request_frame(&header, R::API.request_header_version(version), request)
            .map_err(|e| Error::from(e).api(R::API).address(self.address()))?;
        let mut outgoing = Outgoing { correlation_id, frame, timeout, on_written: None };
        let mut state = self.shared.state.lock();
        match &mut *state {
            InFlightRequests::Dead(cause) => return Err(cause.clone().api(R::API)),
            InFlightRequests::Alive(pending) => register(&mut outgoing, pending),
        }
        // A queue without a reader belongs to a connection that is ending: who waits is told then.
        let _ = self.outgoing.send(outgoing);
        drop(state);
        tracing::trace!(target: "ottla.connection", address = %self.address(), api = R::API.name(), version, correlation_id, "request");
        Ok(())
    }
}

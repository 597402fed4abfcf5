//! A pipelined connection to one broker.
//!
//! The thread that sends a request writes it (`frame_writer.rs`); one task reads the responses (`io.rs`). Both share the
//! queue of requests in flight (`in_flight.rs`). Brokers respond in order, so the queue is first in, first out.
//!
//! Invariants: a closed connection keeps its cause, and all past and future waiters get it. A request's
//! bytes are held by reference count until the socket has accepted them. Dropping a request's future
//! gives up the response and affects no other request.

mod authenticate;
mod buffer_pool;
mod finalized_features;
mod frame_writer;
mod frames;
mod handshake;
mod in_flight;
mod introduced;
mod io;
mod meter;
mod overdue_responses;
mod pool;
mod pool_slot;
mod reauthenticate;
mod settings;
pub mod setup;
mod setup_progress;
mod status;
mod transport_error;
mod unreachable_brokers;
mod versions;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use bytes::Bytes;
use ottla_protocol::header::{self, RequestHeader};
use ottla_protocol::wire::Reader;
use ottla_protocol::{ApiKey, Request, WireError};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};
use tokio::task::AbortHandle;
use tokio::time::{Duration, Instant, sleep_until};

pub use authenticate::{SaslChannel, SaslInfo, authenticate};
pub(crate) use finalized_features::FinalizedFeatures;
pub(crate) use handshake::establish;
pub use handshake::{connect, connect_transport, connect_unauthenticated};
pub(crate) use pool::SupportingConnection;
pub use pool::{Pool, unknown_broker};
pub use settings::Settings;
pub(crate) use setup_progress::SetupProgress;
pub use status::{ConnectionRole, ConnectionState, Owner, Status, UNKNOWN_BROKER};
pub use versions::ApiRange;
pub(crate) use versions::{api_versions_request, is_controller};

use crate::endpoint::Endpoint;
use crate::error::{Error, Kind, Phase, Result};
use crate::retry::awaited::Awaiting;
use frame_writer::{FrameWriter, Outgoing};
pub(crate) use in_flight::Responder;
use in_flight::{ConnectionShared, InFlightRequest, InFlightRequests};

/// A broker that has sent nothing for this long may be gone although its connection stays open.
const HUNG_AFTER: Duration = Duration::from_secs(2);

/// Permission to have one more request in flight.
#[derive(Debug)]
pub struct InFlightPermit(
    #[allow(dead_code, reason = "what counts is that it is held")] OwnedSemaphorePermit,
);

/// A response that has not arrived yet.
pub(crate) struct PendingResponse(oneshot::Receiver<Result<Bytes>>);

/// An open connection. Dropping the last handle closes it.
pub struct Connection {
    shared: Arc<ConnectionShared>,
    writer: Arc<FrameWriter>,
    endpoint: Endpoint,
    in_flight: Arc<Semaphore>,
    /// The permit of requests that do not count as data requests in flight.
    background: Arc<Semaphore>,
    next_correlation_id: AtomicI32,
    apis: Vec<ApiRange>,
    settings: Settings,
    /// The broker asked for no requests before this time (KIP-219).
    throttled: Mutex<Option<Instant>>,
    /// No request is sent from this time until the session is renewed; `None` if it does not expire.
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

    /// The host and port that the connection was opened to.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The error that closed the connection, if it is closed.
    #[must_use]
    pub fn close_reason(&self) -> Option<Error> {
        self.shared.close_reason()
    }

    /// Resolves with the cause when the connection closes. Does not keep it open.
    pub fn closed(&self) -> impl Future<Output = Error> + Send + 'static {
        let (closed, shared) = (self.shared.wait_until_closed(), Arc::clone(&self.shared));
        async move {
            closed.await;
            shared.close_reason().unwrap_or_else(|| shared.closed_error("closed"))
        }
    }

    /// The APIs that the broker supports.
    #[must_use]
    pub fn apis(&self) -> &[ApiRange] {
        &self.apis
    }

    /// The highest version of each API that both sides support.
    #[must_use]
    pub fn api_versions(&self) -> Vec<(ApiKey, i16)> {
        let version = |range: &ApiRange| Some((range.api, range.api.negotiate(range.min, range.max)?));
        self.apis.iter().filter_map(version).collect()
    }

    /// The steps of connecting, with the time that each took.
    #[must_use]
    pub fn setup_phases(&self) -> Vec<(Phase, Duration)> {
        self.settings.progress.phases()
    }

    /// How long the connection has been open.
    #[must_use]
    pub fn connected_for(&self) -> Duration {
        self.shared.meter.age()
    }

    /// The number of requests that wait for responses.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        match &*self.shared.state.lock() {
            InFlightRequests::Alive(pending) => pending.len(),
            InFlightRequests::Dead(_) => 0,
        }
    }

    /// Whether a request of one of these APIs is in flight.
    pub(crate) fn has_in_flight(&self, apis: &[ApiKey]) -> bool {
        self.shared.has_in_flight(apis)
    }

    /// Whether the oldest response is late by [`HUNG_AFTER`], beyond any wait that its request allows.
    pub(crate) fn is_hung(&self) -> bool {
        let InFlightRequests::Alive(pending) = &*self.shared.state.lock() else { return false };
        let due = |request: &InFlightRequest| {
            let own = request.allowed_wait(self.settings.request_timeout);
            Some(request.written_at? + own + HUNG_AFTER)
        };
        pending.front().and_then(due).is_some_and(|due| due <= Instant::now())
    }

    /// The smoothed round-trip time, once one was measured.
    #[must_use]
    pub fn round_trip(&self) -> Option<Duration> {
        self.shared.meter.round_trip()
    }

    /// How long the broker still wants no requests.
    #[must_use]
    pub fn throttled_for(&self) -> Option<Duration> {
        let left = (*self.throttled.lock())?.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }

    /// How long the connection has been idle; zero while requests are in flight.
    fn idle_time(&self) -> Duration {
        if self.in_flight() > 0 { Duration::ZERO } else { self.shared.meter.idle_time() }
    }

    /// Notes why the connection closes when its last user drops it.
    fn retire(&self, why: String) {
        *self.shared.retire_reason.lock() = Some(why);
    }

    fn is_retired(&self) -> bool {
        self.shared.retire_reason.lock().is_some()
    }

    /// Closes the connection. All waiters get that as the cause.
    pub fn close(&self) {
        let why = self.shared.retire_reason.lock().take();
        let why = why.map_or_else(
            || "closed by this client".to_owned(),
            |why| format!("closed by this client: {why}"),
        );
        self.shared.poison(self.shared.closed_error(&why));
        self.writer.close();
        self.task.abort();
    }

    /// Delays later requests for as long as the broker asked, at most for `request.timeout.ms`: the
    /// value comes from the network.
    pub fn throttle(&self, millis: i32) {
        if let Ok(millis @ 1..) = u64::try_from(millis) {
            let wait = Duration::from_millis(millis).min(self.settings.request_timeout);
            *self.throttled.lock() = Some(Instant::now() + wait);
        }
    }

    /// The version of `R` to use with this broker: the highest stable one that both sides support, at
    /// most `max`.
    pub fn version<R: Request>(&self, max: i16) -> Result<i16> {
        versions::negotiate::<R>(&self.apis, max, self.address(), self.has_controller())
    }

    /// Whether the peer was said to be a KRaft controller.
    pub(crate) fn has_controller(&self) -> bool {
        self.settings.has_controllers
    }

    /// Sends a request in `version` and waits for the response.
    ///
    /// Times out `request.timeout.ms` after the request was written. That closes the connection:
    /// responses come in order, so later ones would not come either.
    pub async fn request<R: Request>(&self, request: &R, version: i16) -> Result<R::Response> {
        self.request_within(request, version, self.settings.request_timeout).await
    }

    /// As [`Connection::request`], with a timeout that includes the wait that the request allows the
    /// broker (as a fetch does).
    pub async fn request_within<R: Request>(
        &self,
        request: &R,
        version: i16,
        timeout: Duration,
    ) -> Result<R::Response> {
        let permit = self.permit().await?;
        self.request_with_permit(permit, request, version, timeout).await
    }

    /// Waits until one more request may be in flight. After an error, nothing was sent.
    pub async fn permit(&self) -> Result<InFlightPermit> {
        let throttled = *self.throttled.lock();
        if let Some(until) = throttled {
            let awaiting = Awaiting::begin(|| {
                let message = "the broker asked for a pause: a quota is exceeded";
                Error::new(Kind::Connection, message).address(self.address())
            });
            sleep_until(until).await;
            awaiting.end();
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

    /// Permission to have one more request in flight, unless that takes waiting.
    pub(crate) fn try_permit(&self) -> Option<InFlightPermit> {
        if self.throttled_for().is_some() || self.close_reason().is_some() || reauthenticate::is_due(self) {
            return None;
        }
        Arc::clone(&self.in_flight).try_acquire_owned().ok().map(InFlightPermit)
    }

    /// As [`Connection::request`], for requests that must not delay others: at most one of them is in
    /// flight, in addition to `max.in.flight.requests.per.connection`.
    pub(crate) async fn request_in_background<R: Request>(
        &self,
        request: &R,
        version: i16,
    ) -> Result<R::Response> {
        let background = Arc::clone(&self.background).acquire_owned().await;
        let background = background.map_err(|_| self.shared.closed_error("closed"))?;
        // Held only until the request is queued: no request may come between those of a reauthentication.
        let permit = self.permit().await?;
        let timeout = self.settings.request_timeout;
        let pending = self.enqueue(InFlightPermit(background), request, version, timeout);
        drop(permit);
        self.response::<R>(pending?, version).await
    }

    /// Attributes the connection's latencies to a broker.
    pub(super) fn set_node(&self, broker: i32) {
        if let Some(latency) = self.settings.metrics.node(broker) {
            self.shared.meter.set_node(latency);
        }
    }

    /// As [`Connection::request_within`], with a permit that the caller has acquired.
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

    /// Sends a request, behind earlier ones. Pass the result to [`Connection::response`].
    pub(crate) fn enqueue<R: Request>(
        &self,
        permit: InFlightPermit,
        request: &R,
        version: i16,
        timeout: Duration,
    ) -> Result<PendingResponse> {
        let (waiter, receiver) = oneshot::channel();
        self.enqueue_for(Responder::Waiter(waiter), permit, request, version, timeout)?;
        Ok(PendingResponse(receiver))
    }

    /// As [`Connection::enqueue`], with what becomes of the response. After an error, nothing was sent, and the
    /// responder is not called.
    pub(crate) fn enqueue_for<R: Request>(
        &self,
        responder: Responder,
        permit: InFlightPermit,
        request: &R,
        version: i16,
        timeout: Duration,
    ) -> Result<()> {
        let outgoing = self.outgoing(request, version, timeout)?;
        let correlation_id = outgoing.correlation_id;
        let (api, written_at) = (R::API, None);
        let in_flight =
            InFlightRequest { correlation_id, api, version, timeout, written_at, responder, permit };
        self.submit(outgoing, Some(in_flight))
    }

    /// Waits for the response to a request of type `R` that was sent in `version`.
    pub(crate) async fn response<R: Request>(
        &self,
        pending: PendingResponse,
        version: i16,
    ) -> Result<R::Response> {
        let awaiting = Awaiting::begin(|| {
            let message = format!("no response to {} yet", R::API.name());
            Error::new(Kind::Connection, message).api(R::API).address(self.address())
        });
        let bytes = pending.0.await.unwrap_or_else(|_| Err(self.close_error()));
        awaiting.end();
        let bytes = bytes?;
        self.decode::<R>(bytes, version)
    }

    /// Decodes the response to a request of type `R` that was sent in `version`. A malformed one closes the connection.
    pub(crate) fn decode<R: Request>(&self, bytes: Bytes, version: i16) -> Result<R::Response> {
        let malformed = |error: WireError| {
            let error = Error::from(error).prefixed(format_args!("malformed response to {}", R::API.name()));
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
            // The message is complete; librdkafka's mock cluster, for one, sends a byte too many.
            tracing::warn!(target: "ottla.connection", address = %self.address(), api = R::API.name(), version, left, "the broker sent trailing bytes after a response; they are ignored, in later responses too");
        }
        Ok(response)
    }

    /// Sends a request that has no response (produce with `acks=0`), and waits until the socket has
    /// accepted it.
    pub async fn send_without_response<R: Request>(
        &self,
        permit: InFlightPermit,
        request: &R,
        version: i16,
    ) -> Result<()> {
        let (written, wait) = oneshot::channel();
        let mut outgoing = self.outgoing(request, version, self.settings.request_timeout)?;
        outgoing.on_written = Some((written, permit));
        self.submit(outgoing, None)?;
        wait.await.map_err(|_| self.close_error().api(R::API))
    }

    fn close_error(&self) -> Error {
        self.close_reason().unwrap_or_else(|| self.shared.closed_error("closed"))
    }

    /// Encodes a request.
    fn outgoing<R: Request>(&self, request: &R, version: i16, timeout: Duration) -> Result<Outgoing> {
        let correlation_id = self.next_correlation_id.fetch_add(1, Ordering::Relaxed);
        let header = RequestHeader {
            api_key: R::API as i16,
            api_version: version,
            correlation_id,
            client_id: Some(self.settings.client_id.clone()),
        };
        let frame = header::request_frame(&header, R::API.request_header_version(version), request)
            .map_err(|e| Error::from(e).api(R::API).address(self.address()))?;
        tracing::trace!(target: "ottla.connection", address = %self.address(), api = R::API.name(), version, correlation_id, "request");
        Ok(Outgoing { correlation_id, api: R::API, frame, timeout, on_written: None })
    }

    fn submit(&self, outgoing: Outgoing, request: Option<InFlightRequest>) -> Result<()> {
        let api = outgoing.api;
        self.writer.send(&self.shared, outgoing, request).map_err(|cause| cause.api(api))
    }
}

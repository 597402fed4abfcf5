//! A session: one client connection, and its connection to a broker.
//!
//! One task runs both directions: requests first, so that a response that the gateway gives itself leaves in the same
//! turn. Neither direction reads before it has sent what it has read, so that a slow peer slows the other one.
//!
//! Invariants: a session has one broker from its first byte to its last. Each wait has a deadline: a session in which
//! nothing moves for `Limits::idle` ends.

mod buffers;
mod coordinated;
mod counts;
mod login;
mod requests;
mod responses;
mod role;
mod status;
mod tokens;

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use ottla_client::Error;
use ottla_client::environment::Stream;
use ottla_protocol::ApiKey;
use parking_lot::Mutex;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::{Instant, sleep_until, timeout};

pub(crate) use buffers::BufferPool;
pub use coordinated::Coordinated;
pub use counts::{ApiCount, Counts};
pub(crate) use requests::unsupported_version;
pub use role::Role;
pub(crate) use status::SessionStatus;
pub use status::{LastError, SessionInfo};

use crate::events::{Event, EventKind, Events};
use crate::faults::{Link, SessionFaults};
use crate::limits::Limits;
use crate::rewrite::AddressBook;
use crate::rules::AccessRules;
use crate::sasl::Guard;
use crate::stream::{InFlight, Output, PendingResponse, RequestHead, Segment, Source, Violation};

/// Why a session has ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionEnd {
    /// The client closed its connection.
    #[error("the client closed the connection")]
    ClientClosed,
    /// The broker closed its connection.
    #[error("the broker closed the connection")]
    BrokerClosed,
    /// The gateway stops.
    #[error("the gateway stops")]
    Drained,
    /// Nothing has moved for a long time.
    #[error("no byte has moved for {} s", .0.as_secs())]
    Idle(Duration),
    /// The client's connection failed.
    #[error("the connection to the client failed: {0}")]
    Client(io::Error),
    /// The broker's connection failed.
    #[error("the connection to the broker failed: {0}")]
    Broker(io::Error),
    /// The first request was not complete in time.
    #[error("the client has sent no whole request in time")]
    NoRequest,
    /// The client's login was refused when it renewed it.
    #[error("the client's login was refused")]
    Refused,
    /// The gateway's own login was not renewed.
    #[error("the login at the broker was not renewed: {0}")]
    Login(Error),
    /// The client sent what no client sends.
    #[error("the client sent {0}")]
    ClientViolation(Violation),
    /// A fault that was injected.
    #[error("an injected fault closed the connection")]
    Fault,
    /// The broker sent what no broker sends.
    #[error("the broker sent {0}")]
    BrokerViolation(Violation),
}

impl SessionEnd {
    /// Whether someone should know of it.
    pub(crate) fn is_failure(&self) -> bool {
        matches!(
            self,
            Self::Idle(_)
                | Self::Broker(_)
                | Self::NoRequest
                | Self::Refused
                | Self::Login(_)
                | Self::ClientViolation(_)
                | Self::BrokerViolation(_)
        )
    }
}

/// What both directions of a session share.
pub(crate) struct Session<'a> {
    pub(crate) limits: &'a Limits,
    pub(crate) pool: &'a BufferPool,
    pub(crate) status: &'a SessionStatus,
    pub(crate) events: &'a Events,
    in_flight: Mutex<InFlight>,
    /// Whether a part of a response waits to be sent.
    responding: AtomicBool,
    draining: watch::Receiver<bool>,
    /// Notified when a request has its response.
    room: Notify,
    /// Whether the client has sent a whole request.
    has_request: AtomicBool,
    /// Whether the broker has accepted the latest SaslHandshake of version 0; `None` before its response.
    handshake: Mutex<Option<bool>>,
    /// What injected faults do to the connections.
    link: Link,
}

/// The state of a session before its first request. What only some have is in boxes: each task has room for it several
/// times over.
pub(crate) struct SessionStart<'a> {
    /// What clients may not do; `None` without a rule.
    pub(crate) rules: Option<&'a AccessRules>,
    /// The client's login, unless SASL passes through.
    pub(crate) guard: Option<Box<Guard>>,
    /// The faults, if these are allowed.
    pub(crate) faults: Option<Box<SessionFaults>>,
    /// When the first request must be whole.
    pub(crate) first_request_by: Instant,
}

/// Polls both directions until the session ends. The end of the requests ends the session only if no response follows.
async fn first_end(
    session: &Session<'_>,
    first_request_by: Instant,
    mut requests: Pin<&mut impl Future<Output = SessionEnd>>,
    mut responses: Pin<&mut impl Future<Output = SessionEnd>>,
) -> SessionEnd {
    let mut requests_end = None;
    let mut moved = session.status.moved();
    let mut deadline = pin!(sleep_until(Instant::now() + session.limits.idle));
    let mut first_request = pin!(sleep_until(first_request_by));
    let mut waits_for_first = true;
    let mut draining = session.draining.clone();
    let mut drained = pin!(async move { _ = draining.wait_for(|draining| *draining).await });
    let mut is_draining = false;
    poll_fn(|cx| {
        if !is_draining && drained.as_mut().poll(cx).is_ready() {
            is_draining = true;
        }
        if requests_end.is_none()
            && let Poll::Ready(end) = requests.as_mut().poll(cx)
        {
            match end {
                SessionEnd::ClientClosed | SessionEnd::Drained | SessionEnd::Refused => {
                    requests_end = Some(end)
                }
                _ => return Poll::Ready(end),
            }
        }
        if let Poll::Ready(end) = responses.as_mut().poll(cx) {
            return Poll::Ready(requests_end.take().unwrap_or(end));
        }
        if requests_end.is_some() && session.is_answered() {
            return Poll::Ready(requests_end.take().unwrap_or(SessionEnd::ClientClosed));
        }
        if waits_for_first {
            waits_for_first = !session.has_request.load(Ordering::Relaxed);
            if waits_for_first && session.link.is_frozen(session.status) {
                first_request.as_mut().reset(Instant::now() + session.limits.setup);
            }
            if waits_for_first && first_request.as_mut().poll(cx).is_ready() {
                return Poll::Ready(SessionEnd::NoRequest);
            }
        }
        while deadline.as_mut().poll(cx).is_ready() {
            let now = session.status.moved();
            // A frozen link is not an idle one.
            if now == moved && !session.link.is_frozen(session.status) {
                return Poll::Ready(SessionEnd::Idle(session.limits.idle));
            }
            moved = now;
            deadline.as_mut().reset(Instant::now() + session.limits.idle);
        }
        Poll::Pending
    })
    .await
}

impl<'a> Session<'a> {
    /// A session in which nothing has happened.
    pub(crate) fn new(
        limits: &'a Limits,
        pool: &'a BufferPool,
        status: &'a SessionStatus,
        events: &'a Events,
        link: Link,
        draining: watch::Receiver<bool>,
    ) -> Self {
        let in_flight = Mutex::new(InFlight::new(limits.in_flight));
        Self {
            limits,
            pool,
            status,
            events,
            in_flight,
            responding: AtomicBool::new(false),
            draining,
            room: Notify::new(),
            has_request: AtomicBool::new(false),
            handshake: Mutex::new(None),
            link,
        }
    }

    /// Passes on requests and responses until the session ends.
    pub(crate) async fn run(
        &self,
        client: Box<dyn Stream>,
        broker: Box<dyn Stream>,
        book: &mut (dyn AddressBook + Send),
        start: SessionStart<'_>,
    ) -> SessionEnd {
        self.status.connected();
        // A client that has logged in has sent several.
        self.has_request.store(start.guard.is_some(), Ordering::Relaxed);
        let (mut from_client, mut to_client) = tokio::io::split(client);
        let (mut from_broker, mut to_broker) = tokio::io::split(broker);
        let end = {
            let judges = (start.guard, start.rules, start.faults);
            let requests = requests::pump(self, &mut from_client, &mut to_broker, judges);
            let responses = responses::pump(self, &mut from_broker, &mut to_client, book);
            first_end(self, start.first_request_by, pin!(requests), pin!(responses)).await
        };
        // What was sent must arrive, which TLS and half-closed peers may delay. A side that failed has had its last
        // word: TLS has sent its alert.
        let (to_client_works, to_broker_works) =
            (!matches!(end, SessionEnd::Client(_)), !matches!(end, SessionEnd::Broker(_)));
        let closing = async {
            tokio::join!(
                async {
                    if to_client_works {
                        _ = to_client.shutdown().await
                    }
                },
                async {
                    if to_broker_works {
                        _ = to_broker.shutdown().await
                    }
                },
            )
        };
        _ = timeout(self.limits.closing, closing).await;
        end
    }

    /// Whether the client has the responses to all requests.
    fn is_answered(&self) -> bool {
        let in_flight = self.in_flight.lock();
        (in_flight.is_empty() || in_flight.is_silent()) && !self.responding.load(Ordering::Relaxed)
    }

    /// Expects the response to a request of the gateway's own, which it sends next.
    pub(crate) fn expect_own(
        &self,
        api: ApiKey,
        version: i16,
        correlation_id: i32,
    ) -> oneshot::Receiver<Bytes> {
        let (own, response) = oneshot::channel();
        let (since, source) = (std::time::Instant::now(), Source::Own(own));
        self.in_flight.lock().push(PendingResponse::new(api, version, correlation_id, since, source));
        response
    }

    /// Records that the rules do not allow a request.
    fn deny(&self, head: &RequestHead<'_>) {
        self.events.push(Event::of(EventKind::Denied, self.status).detail(head.api.name()));
    }

    /// Waits until a request may be in flight.
    async fn wait_for_room(&self) {
        while self.in_flight.lock().is_full() {
            self.room.notified().await;
        }
    }

    /// Waits until all requests have their responses. Like all of the session, it ends when nothing moves for long.
    pub(crate) async fn wait_for_responses(&self) {
        while !self.in_flight.lock().is_empty() {
            self.room.notified().await;
        }
    }

    fn is_draining(&self) -> bool {
        *self.draining.borrow()
    }
}

/// Sends what a stream has put out.
async fn send(to: &mut (impl AsyncWrite + Unpin), input: &[u8], output: &Output) -> io::Result<()> {
    match output.segments() {
        [] => return Ok(()),
        [Segment::Input(range)] => to.write_all(&input[range.clone()]).await?,
        // Parts of one response leave together, not each in a packet of its own.
        _ => to.write_all(&output.to_bytes(input)).await?,
    }
    // TLS keeps what the socket did not take.
    to.flush().await
}

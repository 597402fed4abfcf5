//! State shared by a connection's handle and its task: the requests in flight, or why the connection
//! closed.
//!
//! Invariant: the first cause is kept, and every waiter gets it.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bytes::Bytes;
use ottla_protocol::ApiKey;
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::{Duration, Instant};

use super::InFlightPermit;
use super::meter::Meter;
use crate::error::{Error, Kind, Result};
use crate::retry::persistent_failures::PersistentFailures;

/// A response that is late by this much is reported, and again at this interval. `PersistentFailures`
/// decides which reports become warnings.
pub(super) const LATE_AFTER: Duration = Duration::from_secs(5);
/// The same for a response to Produce: with `acks=all` it waits for replicas, and records wait for it.
const LATE_PRODUCE_AFTER: Duration = Duration::from_secs(2);

/// What becomes of a response.
pub(crate) enum Responder {
    /// A task waits for it.
    Waiter(oneshot::Sender<Result<Bytes>>),
    /// It is processed at once by the task that reads it, which must not wait.
    Call(Box<dyn FnOnce(Result<Bytes>) + Send>),
}

impl Responder {
    fn give(self, response: Result<Bytes>) {
        match self {
            // An error only says that the caller is gone.
            Self::Waiter(waiter) => drop(waiter.send(response)),
            Self::Call(call) => call(response),
        }
    }
}

/// A request that waits for its response.
pub(super) struct InFlightRequest {
    pub(super) correlation_id: i32,
    pub(super) api: ApiKey,
    pub(super) version: i16,
    pub(super) timeout: Duration,
    /// When the request was written; the broker's time starts then.
    pub(super) written_at: Option<Instant>,
    pub(super) responder: Responder,
    /// Held until the response arrives, even if the caller is gone: the broker still processes the
    /// request.
    pub(super) permit: InFlightPermit,
}

impl InFlightRequest {
    /// Gives the response to whom it is for, who may send the next request at once.
    pub(super) fn respond(self, response: Result<Bytes>) {
        drop(self.permit);
        self.responder.give(response);
    }

    /// How long the request lets the broker wait before it responds: its timeout beyond
    /// `request.timeout.ms`.
    pub(super) fn allowed_wait(&self, request_timeout: Duration) -> Duration {
        self.timeout.saturating_sub(request_timeout)
    }

    /// When the guard has to look at the request first.
    fn due(&self, request_timeout: Duration) -> Option<Instant> {
        [self.late(request_timeout), self.overdue()].into_iter().flatten().min()
    }

    /// When a response is late enough to be reported. Never before its request is written, and never if it
    /// depends on other members of a group.
    pub(super) fn late(&self, request_timeout: Duration) -> Option<Instant> {
        if matches!(self.api, ApiKey::JoinGroup | ApiKey::SyncGroup) {
            return None;
        }
        Some(self.written_at? + self.allowed_wait(request_timeout) + self.late_after())
    }

    /// How long after its time a response is late.
    pub(super) fn late_after(&self) -> Duration {
        if self.api == ApiKey::Produce { LATE_PRODUCE_AFTER } else { LATE_AFTER }
    }

    /// When the response is overdue.
    pub(super) fn overdue(&self) -> Option<Instant> {
        self.written_at.map(|written_at| written_at + self.timeout)
    }
}

/// The requests in flight, or why the connection closed.
pub(super) enum InFlightRequests {
    Alive(VecDeque<InFlightRequest>),
    Dead(Error),
}

pub(super) struct ConnectionShared {
    pub(super) state: Mutex<InFlightRequests>,
    /// When the guard looks next, if it is waiting for a time.
    pub(super) guarded_until: Mutex<Option<Instant>>,
    /// Set once the connection is closed.
    pub(super) closed: watch::Sender<bool>,
    pub(super) address: String,
    /// Notifies the guard that a request was written or the connection closed.
    pub(super) changed: Notify,
    pub(super) meter: Meter,
    /// Whether a warning about trailing bytes was logged.
    pub(super) trailing_bytes_reported: AtomicBool,
    /// Whether a response was reported as late since the last one arrived.
    pub(super) is_late: AtomicBool,
    /// Why this client is going to close the connection, if it is.
    pub(super) retire_reason: Mutex<Option<String>>,
    /// `request.timeout.ms`; a request may allow the broker more.
    pub(super) request_timeout: Duration,
    /// Where late responses are reported.
    pub(super) failures: Arc<PersistentFailures>,
    /// The first bootstrap server, to suggest as the argument of `ottla doctor`.
    pub(super) bootstrap: Arc<str>,
}

impl ConnectionShared {
    /// Adds a request to those in flight; fails if the connection is closed.
    pub(super) fn register(&self, request: Option<InFlightRequest>) -> Result<()> {
        let mut state = self.state.lock();
        let pending = match &mut *state {
            InFlightRequests::Dead(cause) => return Err(cause.clone()),
            InFlightRequests::Alive(pending) => pending,
        };
        if let Some(request) = request {
            self.watch_over(&request);
            pending.push_back(request);
        }
        Ok(())
    }

    /// Starts the broker's time for a request.
    pub(super) fn mark_written(&self, correlation_id: i32) {
        self.with_request(correlation_id, |request| {
            request.written_at = request.written_at.or_else(|| Some(Instant::now()));
            self.watch_over(request);
        });
    }

    /// Notes that the socket has not accepted all of a request after all.
    pub(super) fn mark_unwritten(&self, correlation_id: i32) {
        self.with_request(correlation_id, |request| request.written_at = None);
    }

    fn with_request(&self, correlation_id: i32, change: impl FnOnce(&mut InFlightRequest)) {
        if let InFlightRequests::Alive(pending) = &mut *self.state.lock()
            && let Some(request) =
                pending.iter_mut().rev().find(|request| request.correlation_id == correlation_id)
        {
            change(request);
        }
    }

    /// Wakes the guard if a request is due before it looks next. It mostly is not: waking the connection's task for
    /// each request would cost as much as the request.
    fn watch_over(&self, request: &InFlightRequest) {
        let Some(due) = request.due(self.request_timeout) else { return };
        if self.guarded_until.lock().is_none_or(|until| due < until) {
            self.changed.notify_one();
        }
    }

    /// Resolves once the connection is closed.
    pub(super) fn wait_until_closed(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut closed = self.closed.subscribe();
        // An error says that nothing refers to the connection any more.
        async move { drop(closed.wait_for(|closed| *closed).await) }
    }

    /// Closes the connection: keeps the first cause and gives it to every waiter.
    pub(super) fn poison(&self, cause: Error) {
        let mut state = self.state.lock();
        if let InFlightRequests::Alive(pending) = &mut *state {
            tracing::debug!(target: "ottla.connection", address = %self.address, in_flight = pending.len(), %cause, "connection ended");
            self.meter.closed();
            let waiting = std::mem::take(pending);
            *state = InFlightRequests::Dead(cause.clone());
            drop(state);
            self.closed.send_replace(true);
            for request in waiting {
                if request.written_at.is_some() {
                    self.meter.failed(request.api);
                }
                let api = request.api;
                request.respond(Err(cause.clone().api(api)));
            }
            self.changed.notify_one();
        }
    }

    /// Whether a request of one of these APIs is in flight.
    pub(super) fn has_in_flight(&self, apis: &[ApiKey]) -> bool {
        match &*self.state.lock() {
            InFlightRequests::Alive(pending) => pending.iter().any(|request| apis.contains(&request.api)),
            InFlightRequests::Dead(_) => false,
        }
    }

    pub(super) fn close_reason(&self) -> Option<Error> {
        match &*self.state.lock() {
            InFlightRequests::Alive(_) => None,
            InFlightRequests::Dead(cause) => Some(cause.clone()),
        }
    }

    pub(super) fn closed_error(&self, why: &str) -> Error {
        Error::new(Kind::Connection, format!("connection lost: {why}")).address(&self.address)
    }
}

//! State shared by a connection's handle and its task: the requests in flight, or why the connection
//! closed.
//!
//! Invariant: the first cause is kept, and every waiter gets it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bytes::Bytes;
use ottla_protocol::ApiKey;
use ottla_protocol::wire::Frame;
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};
use tokio::time::{Duration, Instant};

use super::InFlightPermit;
use super::meter::Meter;
use crate::error::{Error, Kind, Result};
use crate::retry::persistent_failures::PersistentFailures;

/// A frame for the writer.
pub(super) struct Outgoing {
    pub(super) correlation_id: i32,
    pub(super) api: ApiKey,
    pub(super) frame: Frame,
    /// How long the socket may take to accept the frame.
    pub(super) timeout: Duration,
    /// For a request without a response: notified when the frame is written. The permit is held until
    /// then.
    pub(super) on_written: Option<(oneshot::Sender<()>, InFlightPermit)>,
}

/// A request that waits for its response.
pub(super) struct InFlightRequest {
    pub(super) correlation_id: i32,
    pub(super) api: ApiKey,
    pub(super) version: i16,
    pub(super) timeout: Duration,
    /// When the request was written; the broker's time starts then.
    pub(super) written_at: Option<Instant>,
    pub(super) response: oneshot::Sender<Result<Bytes>>,
    /// Held until the response arrives, even if the caller is gone: the broker still processes the
    /// request.
    pub(super) _permit: InFlightPermit,
}

impl InFlightRequest {
    /// How long the request lets the broker wait before it responds: its timeout beyond
    /// `request.timeout.ms`.
    pub(super) fn allowed_wait(&self, request_timeout: Duration) -> Duration {
        self.timeout.saturating_sub(request_timeout)
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
    pub(super) address: String,
    /// Notifies the guard that a request was written or the connection closed.
    pub(super) changed: Notify,
    pub(super) meter: Meter,
    /// Whether a warning about trailing bytes was logged.
    pub(super) trailing_bytes_reported: AtomicBool,
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
    /// Closes the connection: keeps the first cause and gives it to every waiter.
    pub(super) fn poison(&self, cause: Error) {
        let mut state = self.state.lock();
        if let InFlightRequests::Alive(pending) = &mut *state {
            tracing::debug!(target: "ottla.connection", address = %self.address, in_flight = pending.len(), %cause, "connection ended");
            self.meter.closed();
            let waiting = std::mem::take(pending);
            *state = InFlightRequests::Dead(cause.clone());
            drop(state);
            for request in waiting {
                if request.written_at.is_some() {
                    self.meter.failed(request.api);
                }
                // An error only says that the caller is gone.
                let _ = request.response.send(Err(cause.clone().api(request.api)));
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

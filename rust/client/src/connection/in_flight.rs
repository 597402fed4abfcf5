//! What a connection's handle and its task share: the requests in flight, or what ended it.
//!
//! Invariant: the first cause of the end is kept, and given to everyone who waits.

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
    pub(super) frame: Frame,
    /// How long the socket may take to accept it.
    pub(super) timeout: Duration,
    /// Told when the socket has it, where no answer will come; keeps its turn until then.
    pub(super) on_written: Option<(oneshot::Sender<()>, InFlightPermit)>,
}

/// A request in flight.
pub(super) struct InFlightRequest {
    pub(super) correlation_id: i32,
    pub(super) api: ApiKey,
    pub(super) version: i16,
    pub(super) timeout: Duration,
    /// Before this is set, the broker cannot be blamed.
    pub(super) written_at: Option<Instant>,
    /// Whether the broker was not told to wait for anything.
    pub(super) prompt: bool,
    pub(super) response: oneshot::Sender<Result<Bytes>>,
    /// Held until the answer is here, even if the caller has gone: the broker still works on it.
    pub(super) _permit: InFlightPermit,
}

impl InFlightRequest {
    /// When the answer is overdue.
    pub(super) fn overdue(&self) -> Option<Instant> {
        self.written_at.map(|written_at| written_at + self.timeout)
    }
}

/// The requests in flight, or what ended the connection.
pub(super) enum InFlightRequests {
    Alive(VecDeque<InFlightRequest>),
    Dead(Error),
}

pub(super) struct ConnectionShared {
    pub(super) state: Mutex<InFlightRequests>,
    pub(super) address: String,
    /// Something for the guard to look at: a request was written, or the connection ended.
    pub(super) changed: Notify,
    pub(super) meter: Meter,
    /// Whether it was reported that a response had more bytes than it should.
    pub(super) trailing_bytes_reported: AtomicBool,
    /// Why this client will close it, if it will.
    pub(super) retire_reason: Mutex<Option<String>>,
    /// How long a response may take; what a request allows on top is the broker's.
    pub(super) request_timeout: Duration,
    /// Where late responses are reported.
    pub(super) failures: Arc<PersistentFailures>,
    /// The first bootstrap server, which `ottla doctor` is best started with.
    pub(super) bootstrap: Arc<str>,
}

impl ConnectionShared {
    /// Ends the connection: the first cause is kept and given to everyone who waits.
    pub(super) fn poison(&self, cause: Error) {
        let mut state = self.state.lock();
        if let InFlightRequests::Alive(pending) = &mut *state {
            tracing::debug!(target: "ottla.connection", address = %self.address, in_flight = pending.len(), %cause, "connection ended");
            self.meter.closed();
            let waiting = std::mem::take(pending);
            *state = InFlightRequests::Dead(cause.clone());
            drop(state);
            for request in waiting {
                // Whoever gave up waiting does not need to know.
                let _ = request.response.send(Err(cause.clone().api(request.api)));
            }
            self.changed.notify_one();
        }
    }

    /// Whether an answer to one of these is still to come.
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

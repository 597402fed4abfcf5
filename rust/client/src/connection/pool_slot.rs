//! A connection's place in the pool: the one that new requests take, those that earlier ones still
//! use, and the attempt under way.
//!
//! Invariants: what is current is replaced under the lock of the attempts alone, and leads where they
//! go. A connection that the metadata has gone past, because its broker left the cluster or lives
//! elsewhere, ends with those who use it; if its broker is there again before, it is taken up again and
//! no other is made.

use std::sync::{Arc, Weak};

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Duration, Instant};

use super::status::Progress;
use super::{Connection, ConnectionRole, ConnectionState, Endpoint, Owner, Status};
use crate::error::{Error, Kind, Result};

/// What came of an attempt to connect; nothing yet while it lasts.
pub(super) type ConnectOutcome = Option<Result<Arc<Connection>>>;

/// Which connection: to which broker, on which role, and whose.
pub(super) type PoolKey = (i32, ConnectionRole, Owner);

#[derive(Debug, Default)]
pub(super) struct PoolSlot {
    pub(super) current: ArcSwapOption<Connection>,
    pub(super) attempts: Mutex<ConnectAttempts>,
    pub(super) last_error: Mutex<Option<Error>>,
}

#[derive(Debug, Default)]
pub(super) struct ConnectAttempts {
    pub(super) failures: u32,
    /// When the first attempt began that failed since the last connection came up.
    failing_since: Option<Instant>,
    pub(super) not_before: Option<Instant>,
    pub(super) endpoint: Option<Endpoint>,
    pub(super) running: Option<RunningAttempt>,
    /// Whether the broker is in the cluster no more.
    left: bool,
    /// Connections that new requests do not take, while somebody uses them.
    former: Vec<Weak<Connection>>,
}

/// Without an attempt for this long nobody has needed the connection, and earlier failures do not count.
const FAILURES_FORGOTTEN_AFTER: Duration = Duration::from_secs(60);

impl ConnectAttempts {
    /// When the first attempt began that failed since the last connection came up; now, if none did.
    pub(super) fn failing_since(&mut self, now: Instant) -> Instant {
        if self.not_before.is_some_and(|due| now.saturating_duration_since(due) > FAILURES_FORGOTTEN_AFTER) {
            self.failing_since = None;
        }
        *self.failing_since.get_or_insert(now)
    }

    fn forget_failures(&mut self) {
        (self.failures, self.failing_since, self.not_before) = (0, None, None);
    }
}

/// The attempt under way.
#[derive(Debug)]
pub(super) struct RunningAttempt {
    pub(super) outcome: watch::Receiver<ConnectOutcome>,
    pub(super) progress: Progress,
    pub(super) task: AbortHandle,
}

impl Drop for PoolSlot {
    fn drop(&mut self) {
        self.stop_connecting();
    }
}

impl PoolSlot {
    fn stop_connecting(&self) {
        if let Some(running) = self.attempts.lock().running.take() {
            running.task.abort();
        }
    }

    /// Ends the attempt under way and all connections.
    pub(super) fn close(&self) {
        self.stop_connecting();
        let former: Vec<_> = self.attempts.lock().former.iter().filter_map(Weak::upgrade).collect();
        for connection in former.into_iter().chain(self.current.load_full()) {
            connection.close();
        }
    }

    /// The current connection if it lives; a dead one is dropped and its cause kept.
    pub(super) fn alive(&self) -> Option<Arc<Connection>> {
        let connection = self.current.load_full()?;
        match connection.close_reason() {
            None => Some(connection),
            Some(cause) => {
                *self.last_error.lock() = Some(cause);
                // Only this one: another may have been stored meanwhile.
                self.current.compare_and_swap(&connection, None);
                None
            }
        }
    }

    /// The broker is in the cluster, and here.
    pub(super) fn set_endpoint(&self, attempts: &mut ConnectAttempts, endpoint: &Endpoint) {
        attempts.left = false;
        if attempts.endpoint.as_ref() != Some(endpoint) {
            if let Some(running) = attempts.running.take() {
                running.task.abort();
            }
            self.release_current(attempts);
            // A broker at another address is another chance.
            attempts.forget_failures();
            attempts.endpoint = Some(endpoint.clone());
        }
    }

    /// The broker has left the cluster. Says whether somebody uses its connections, or waits for one.
    pub(super) fn mark_left(self: &Arc<Self>) -> bool {
        let mut attempts = self.attempts.lock();
        attempts.left = true;
        self.release_current(&mut attempts);
        // Who waits for an attempt holds the slot.
        Arc::strong_count(self) > 1 || !attempts.former.is_empty()
    }

    /// Ends connections on which a response is overdue: their broker is not in the cluster any more.
    pub(super) fn close_hung(&self, broker: i32) {
        let former: Vec<_> = self.attempts.lock().former.iter().filter_map(Weak::upgrade).collect();
        for connection in former.into_iter().chain(self.current.load_full()).filter(|it| it.is_hung()) {
            let words = "the broker does not answer, and the others have taken it out of the cluster";
            let cause = Error::new(Kind::Connection, words).broker(broker);
            connection.shared.poison(cause.address(connection.address()));
        }
    }

    pub(super) fn has_left(&self) -> bool {
        self.attempts.lock().left
    }

    /// Leaves the current connection to those who use it.
    fn release_current(&self, attempts: &mut ConnectAttempts) {
        attempts.former.extend(self.current.swap(None).as_ref().map(Arc::downgrade));
        attempts.former.retain(|former| usable(former).is_some());
    }

    /// A connection has come up.
    pub(super) fn store(&self, attempts: &mut ConnectAttempts, connection: &Arc<Connection>) {
        attempts.forget_failures();
        match attempts.left {
            true => attempts.former.push(Arc::downgrade(connection)),
            false => self.current.store(Some(Arc::clone(connection))),
        }
    }

    /// The connection to where the attempts go, if there is one: the current one, or an earlier one
    /// that is in use.
    pub(super) fn established(&self, attempts: &mut ConnectAttempts) -> Option<Arc<Connection>> {
        if let Some(connection) = self.alive() {
            return Some(connection);
        }
        let ConnectAttempts { endpoint, former, .. } = attempts;
        let mut found = None;
        former.retain(|former| match usable(former) {
            Some(connection) if Some(connection.endpoint()) == endpoint.as_ref() => {
                found = Some(connection);
                false
            }
            other => other.is_some(),
        });
        if found.is_some() {
            self.current.store(found.clone());
        }
        found
    }

    pub(super) fn status(&self, (broker, role, owner): PoolKey) -> Status {
        let connection = self.alive();
        let attempts = self.attempts.lock();
        let phase = attempts.running.as_ref().map(|running| running.progress.phase());
        let state = match (&connection, phase) {
            (Some(_), _) => ConnectionState::Connected,
            (None, Some(Some(_))) => ConnectionState::Connecting,
            (None, Some(None)) if attempts.not_before.is_some() => ConnectionState::BackingOff,
            (None, Some(None)) => ConnectionState::Connecting,
            (None, None) => ConnectionState::Disconnected,
        };
        let address = match &connection {
            Some(connection) => connection.address().to_owned(),
            None => attempts.endpoint.as_ref().map(ToString::to_string).unwrap_or_default(),
        };
        Status {
            broker,
            role,
            owner,
            address,
            state,
            phase: if connection.is_some() { None } else { phase.flatten() },
            in_flight: connection.as_ref().map_or(0, |connection| connection.in_flight()),
            round_trip: connection.as_ref().and_then(|connection| connection.round_trip()),
            throttled_for: connection.as_ref().and_then(|connection| connection.throttled_for()),
            last_error: self.last_error.lock().clone(),
        }
    }
}

impl ConnectAttempts {
    /// Whether the attempt that this task makes was not given up.
    pub(super) fn is_current_task(&self) -> bool {
        self.running.as_ref().is_some_and(|running| Some(running.task.id()) == tokio::task::try_id())
    }
}

/// An earlier connection that somebody uses, if others may use it too.
fn usable(former: &Weak<Connection>) -> Option<Arc<Connection>> {
    former.upgrade().filter(|connection| connection.close_reason().is_none() && !connection.is_retired())
}

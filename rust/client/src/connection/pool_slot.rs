//! A slot of the connection pool: the current connection, former ones that requests still use, and the
//! attempt to connect.
//!
//! Invariants: the current connection is replaced only under the lock of `attempts`, and leads to its
//! endpoint. A connection whose broker left the cluster or changed its address closes when its last user
//! drops it. If the broker returns before that, the connection becomes current again and no other is
//! opened.

use std::sync::{Arc, Weak};

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::{Connection, ConnectionRole, ConnectionState, Owner, SetupProgress, Status};
use crate::endpoint::Endpoint;
use crate::error::{Error, Kind, Result};
use crate::retry::FAILURES_FORGOTTEN_AFTER;

/// The result of an attempt to connect; `None` while it runs.
pub(super) type ConnectOutcome = Option<Result<Arc<Connection>>>;

/// Identifies a connection: its broker, role and owner.
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
    /// When the first of the failed attempts since the last connection began.
    failing_since: Option<Instant>,
    pub(super) not_before: Option<Instant>,
    pub(super) endpoint: Option<Endpoint>,
    pub(super) running: Option<RunningAttempt>,
    /// The progress of the latest attempt that has ended.
    pub(super) latest: SetupProgress,
    /// Whether the broker left the cluster.
    left: bool,
    /// Connections that are still in use but not given to new requests.
    former: Vec<Weak<Connection>>,
}

impl ConnectAttempts {
    /// When the first of the failed attempts since the last connection began; `now` if none failed.
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

/// The attempt that is running.
#[derive(Debug)]
pub(super) struct RunningAttempt {
    pub(super) outcome: watch::Receiver<ConnectOutcome>,
    pub(super) progress: SetupProgress,
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

    /// Cancels the attempt and closes all connections.
    pub(super) fn close(&self) {
        self.stop_connecting();
        let former: Vec<_> = self.attempts.lock().former.iter().filter_map(Weak::upgrade).collect();
        for connection in former.into_iter().chain(self.current.load_full()) {
            connection.close();
        }
    }

    /// The current connection if it is alive. A closed one is removed and its cause kept.
    pub(super) fn alive(&self) -> Option<Arc<Connection>> {
        let connection = self.current.load_full()?;
        match connection.close_reason() {
            None => Some(connection),
            Some(cause) => {
                *self.last_error.lock() = Some(cause);
                // Only this connection: a newer one may have been stored.
                self.current.compare_and_swap(&connection, None);
                None
            }
        }
    }

    /// Records that the broker is in the cluster, at `endpoint`.
    pub(super) fn set_endpoint(&self, attempts: &mut ConnectAttempts, endpoint: &Endpoint) {
        attempts.left = false;
        if attempts.endpoint.as_ref() != Some(endpoint) {
            if let Some(running) = attempts.running.take() {
                running.task.abort();
            }
            self.release_current(attempts);
            // A new address deserves an attempt without backoff.
            attempts.forget_failures();
            attempts.latest = SetupProgress::default();
            attempts.endpoint = Some(endpoint.clone());
        }
    }

    /// Records that the broker left the cluster. Returns whether its connections or an attempt are in
    /// use.
    pub(super) fn mark_left(self: &Arc<Self>) -> bool {
        let mut attempts = self.attempts.lock();
        attempts.left = true;
        self.release_current(&mut attempts);
        // Waiters for an attempt hold the slot.
        Arc::strong_count(self) > 1 || !attempts.former.is_empty()
    }

    /// Closes connections with an overdue response, whose broker left the cluster.
    pub(super) fn close_hung(&self, broker: i32) {
        let former: Vec<_> = self.attempts.lock().former.iter().filter_map(Weak::upgrade).collect();
        for connection in former.into_iter().chain(self.current.load_full()).filter(|it| it.is_hung()) {
            let message = "the broker does not respond, and the cluster has removed it";
            let cause = Error::new(Kind::Connection, message).broker(broker);
            connection.shared.poison(cause.address(connection.address()));
        }
    }

    pub(super) fn has_left(&self) -> bool {
        self.attempts.lock().left
    }

    /// Makes the current connection a former one.
    fn release_current(&self, attempts: &mut ConnectAttempts) {
        attempts.former.extend(self.current.swap(None).as_ref().map(Arc::downgrade));
        attempts.former.retain(|former| usable(former).is_some());
    }

    /// Stores a new connection.
    pub(super) fn store(&self, attempts: &mut ConnectAttempts, connection: &Arc<Connection>) {
        attempts.forget_failures();
        match attempts.left {
            true => attempts.former.push(Arc::downgrade(connection)),
            false => self.current.store(Some(Arc::clone(connection))),
        }
    }

    /// The connection to the current endpoint, if there is one: the current connection, or a former one
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

    /// The progress of the attempt to connect, if one runs and does not wait for the backoff.
    pub(super) fn progress(&self) -> Option<SetupProgress> {
        let attempts = self.attempts.lock();
        let progress = attempts.running.as_ref().map(|running| running.progress.clone());
        progress.filter(|progress| progress.phase().is_some())
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
        let phases = match (&connection, &attempts.running) {
            (Some(connection), _) => connection.setup_phases(),
            // An attempt that still waits for the backoff has no steps yet.
            (None, Some(running)) if running.progress.phase().is_some() => running.progress.phases(),
            (None, _) => attempts.latest.phases(),
        };
        Status {
            broker,
            role,
            owner,
            address,
            state,
            phase: if connection.is_some() { None } else { phase.flatten() },
            phases,
            connected_for: connection.as_ref().map(|connection| connection.connected_for()),
            api_versions: connection.as_ref().map(|connection| connection.api_versions()).unwrap_or_default(),
            in_flight: connection.as_ref().map_or(0, |connection| connection.in_flight()),
            round_trip: connection.as_ref().and_then(|connection| connection.round_trip()),
            throttled_for: connection.as_ref().and_then(|connection| connection.throttled_for()),
            last_error: self.last_error.lock().clone(),
        }
    }
}

impl ConnectAttempts {
    /// Whether the current task runs the attempt, rather than one that was cancelled.
    pub(super) fn is_current_task(&self) -> bool {
        self.running.as_ref().is_some_and(|running| Some(running.task.id()) == tokio::task::try_id())
    }
}

/// A former connection that is in use and may be given to new requests.
fn usable(former: &Weak<Connection>) -> Option<Arc<Connection>> {
    former.upgrade().filter(|connection| connection.close_reason().is_none() && !connection.is_retired())
}

//! What all brokers and connections of one cluster share: the state, the faults, the log of
//! requests, and the bell that wakes waiting requests.
//!
//! Invariant: no lock is held across an await, and never two at once.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::config::MockConfig;
use crate::fault::FaultBook;
use crate::seen::SeenLog;
use crate::state::ClusterState;

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) state: Mutex<ClusterState>,
    pub(crate) faults: Mutex<FaultBook>,
    pub(crate) seen: Mutex<SeenLog>,
    pub(crate) config: Arc<MockConfig>,
    connections: HashMap<i32, AtomicUsize>,
    next_connection: AtomicU64,
    changes: watch::Sender<()>,
}

impl Shared {
    pub(crate) fn new(config: Arc<MockConfig>, state: ClusterState) -> Self {
        let connections = state.brokers.keys().map(|id| (*id, AtomicUsize::new(0))).collect();
        Self {
            state: Mutex::new(state),
            faults: Mutex::new(FaultBook::default()),
            seen: Mutex::new(SeenLog::new(config.request_log)),
            config,
            connections,
            next_connection: AtomicU64::new(0),
            changes: watch::Sender::new(()),
        }
    }

    /// Wakes the requests that wait: a log or a leader changed.
    pub(crate) fn ring(&self) {
        self.changes.send_replace(());
    }

    /// Hears each [`Self::ring`] from now on.
    pub(crate) fn listen(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Changes the state and wakes the requests that wait.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut ClusterState) -> T) -> T {
        let out = change(&mut self.state.lock());
        self.ring();
        out
    }

    pub(crate) fn open_connections(&self, broker: i32) -> usize {
        self.connections.get(&broker).map_or(0, |count| count.load(Ordering::Relaxed))
    }

    /// Counts a connection of `broker` for as long as the guard lives.
    pub(crate) fn count_connection(&self, broker: i32) -> (u64, ConnectionGuard<'_>) {
        let count = self.connections.get(&broker);
        if let Some(count) = count {
            count.fetch_add(1, Ordering::Relaxed);
        }
        (self.next_connection.fetch_add(1, Ordering::Relaxed), ConnectionGuard(count))
    }
}

/// One open connection, in its broker's count.
pub(crate) struct ConnectionGuard<'a>(Option<&'a AtomicUsize>);

impl Drop for ConnectionGuard<'_> {
    fn drop(&mut self) {
        if let Some(count) = self.0 {
            count.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// The broker's clock, in milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

//! The data that all brokers and connections of a cluster share: the state, the faults, the request log, and the
//! notification that wakes waiting requests.
//!
//! Invariant: no lock is held across an await, and no two locks at once.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::config::MockConfig;
use crate::fault::FaultRegistry;
use crate::request_log::RequestLog;
use crate::state::ClusterState;

#[derive(Debug)]
pub(crate) struct SharedCluster {
    pub(crate) state: Mutex<ClusterState>,
    pub(crate) faults: Mutex<FaultRegistry>,
    pub(crate) request_log: Mutex<RequestLog>,
    pub(crate) config: Arc<MockConfig>,
    connections: HashMap<i32, AtomicUsize>,
    next_connection: AtomicU64,
    changes: watch::Sender<()>,
}

impl SharedCluster {
    pub(crate) fn new(config: Arc<MockConfig>, state: ClusterState) -> Self {
        let connections = state.brokers.keys().map(|id| (*id, AtomicUsize::new(0))).collect();
        Self {
            state: Mutex::new(state),
            faults: Mutex::new(FaultRegistry::default()),
            request_log: Mutex::new(RequestLog::new(config.request_log)),
            config,
            connections,
            next_connection: AtomicU64::new(0),
            changes: watch::Sender::new(()),
        }
    }

    /// Wakes waiting requests: a log, a leader or a group changed.
    pub(crate) fn notify_waiters(&self) {
        self.changes.send_replace(());
    }

    /// Observes each [`Self::notify_waiters`] from now on.
    pub(crate) fn subscribe(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Changes the state and wakes waiting requests.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut ClusterState) -> T) -> T {
        let out = change(&mut self.state.lock());
        self.notify_waiters();
        out
    }

    pub(crate) fn open_connections(&self, broker: i32) -> usize {
        self.connections.get(&broker).map_or(0, |count| count.load(Ordering::Relaxed))
    }

    /// Counts a connection of `broker` while the guard lives; returns the connection's number, too.
    pub(crate) fn count_connection(&self, broker: i32) -> (u64, ConnectionGuard<'_>) {
        let count = self.connections.get(&broker);
        if let Some(count) = count {
            count.fetch_add(1, Ordering::Relaxed);
        }
        (self.next_connection.fetch_add(1, Ordering::Relaxed), ConnectionGuard(count))
    }
}

/// Keeps one open connection in its broker's count.
pub(crate) struct ConnectionGuard<'a>(Option<&'a AtomicUsize>);

impl Drop for ConnectionGuard<'_> {
    fn drop(&mut self) {
        if let Some(count) = self.0 {
            count.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

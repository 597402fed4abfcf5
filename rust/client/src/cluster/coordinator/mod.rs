//! Coordinators of groups and transactional ids: finding them, and sending requests to them.
//!
//! A coordinator stays cached until an error says that it moved. COORDINATOR_LOAD_IN_PROGRESS does not
//! say that: the coordinator is right and will be ready soon.
//!
//! Invariants: lookups are single-flight per key, and all waiters get the same result. An old response
//! never removes a newer entry. Requests use a connection of their own role, so that a heartbeat never
//! waits behind a fetch's long poll.

mod find;
mod roles;

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;

use ottla_protocol::{ErrorCode, Request};
use parking_lot::Mutex;
use tokio::time::Duration;

use crate::cluster::Client;
use crate::connection::{Connection, ConnectionRole};
use crate::endpoint::Endpoint;
use crate::error::recovery::{Recovery, recovery};
use crate::error::{Error, Kind, Result};

/// What the coordinator coordinates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CoordinatorKind {
    /// A consumer group of either protocol, or a share group.
    Group,
    /// A transactional id.
    Transaction,
}

impl CoordinatorKind {
    fn key_type(self) -> i8 {
        match self {
            Self::Group => 0,
            Self::Transaction => 1,
        }
    }

    pub(crate) fn role(self) -> ConnectionRole {
        match self {
            Self::Group => ConnectionRole::Coordinator,
            Self::Transaction => ConnectionRole::TransactionCoordinator,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Group => "group",
            Self::Transaction => "transactional id",
        }
    }
}

/// The broker that FindCoordinator returned. `lookup` is the number of the lookup that found it.
#[derive(Debug, Clone)]
struct CoordinatorNode {
    broker: i32,
    endpoint: Endpoint,
    lookup: u64,
}

#[derive(Debug, Default)]
struct CoordinatorEntry {
    state: Mutex<LookupState>,
    /// Held during a lookup.
    lookup_lock: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct LookupState {
    node: Option<CoordinatorNode>,
    /// How many lookups have ended; `failure` is the error of the last one.
    lookups: u64,
    failure: Option<Error>,
}

/// The cached coordinators of one client.
#[derive(Debug, Default)]
pub(crate) struct Coordinators {
    entries: Mutex<CoordinatorMap>,
}

type CoordinatorMap = HashMap<(CoordinatorKind, Arc<str>), Arc<CoordinatorEntry>>;

impl Coordinators {
    fn entry(&self, kind: CoordinatorKind, key: &str) -> Arc<CoordinatorEntry> {
        Arc::clone(self.entries.lock().entry((kind, key.into())).or_default())
    }
}

/// The coordinator of one key and a connection to it, which was alive when this was created.
#[derive(Debug, Clone)]
pub struct Coordinator {
    broker: i32,
    connection: Arc<Connection>,
    entry: Arc<CoordinatorEntry>,
    lookup: u64,
}

impl Coordinator {
    /// The broker's id.
    #[must_use]
    pub fn broker(&self) -> i32 {
        self.broker
    }

    /// The highest version of `R` that both sides support, at most `max`.
    pub fn version<R: Request>(&self, max: i16) -> Result<i16> {
        self.connection.version::<R>(max)
    }

    /// Sends one request, which times out after `request.timeout.ms`. An error of the connection removes
    /// the coordinator from the cache.
    pub async fn request<R: Request>(&self, request: &R, version: i16) -> Result<R::Response> {
        let response = self.connection.request(request, version).await;
        response.map_err(|error| self.process_error(error))
    }

    /// As [`Coordinator::request`], for a request that the broker may hold for longer (JoinGroup).
    pub async fn request_within<R: Request>(
        &self,
        request: &R,
        version: i16,
        timeout: Duration,
    ) -> Result<R::Response> {
        let response = self.connection.request_within(request, version, timeout).await;
        response.map_err(|error| self.process_error(error))
    }

    /// Delays later requests for as long as the broker asked (KIP-219).
    pub fn throttle(&self, millis: i32) {
        self.connection.throttle(millis);
    }

    /// The error for a code in a response of this coordinator, with the broker's id. If the code says
    /// that the coordinator moved, it is removed from the cache, and the next caller looks it up again.
    #[must_use]
    pub fn refusal(&self, code: ErrorCode) -> Error {
        self.process_error(Error::from_code(code))
    }

    /// Removes this coordinator from the cache, unless a newer lookup replaced it.
    pub fn forget(&self) {
        self.entry.forget(|node| node.lookup == self.lookup);
    }

    fn process_error(&self, error: Error) -> Error {
        if requires_lookup(&error) {
            self.forget();
        }
        error.broker(self.broker).address(self.connection.address())
    }
}

impl CoordinatorEntry {
    fn forget(&self, is_it: impl FnOnce(&CoordinatorNode) -> bool) {
        let mut state = self.state.lock();
        state.node.take_if(|node| is_it(node));
    }
}

/// Whether an error requires a new lookup of the coordinator.
fn requires_lookup(error: &Error) -> bool {
    match error.code() {
        // After a lookup at a wrong address, another broker or cluster responds there (KIP-1242).
        Some(code) => matches!(recovery(code), Recovery::FindCoordinator | Recovery::Rebootstrap),
        None => matches!(error.kind(), Kind::Connection | Kind::Timeout | Kind::Protocol),
    }
}

impl Client {
    /// Looks up the coordinator of a key, if it is not cached, and connects to it. Makes one attempt.
    pub async fn coordinator(&self, kind: CoordinatorKind, key: &str) -> Result<Coordinator> {
        self.check_open()?;
        let entry = self.inner.coordinators.entry(kind, key);
        let node = self.look_up_coordinator(&entry, kind, key).await?;
        let connection = self.inner.pool.get(node.broker, (kind.role(), self.owner()), &node.endpoint).await;
        let connection = connection.map_err(|error| {
            if requires_lookup(&error) {
                entry.forget(|known| known.lookup == node.lookup);
            }
            error.broker(node.broker)
        })?;
        Ok(Coordinator { broker: node.broker, connection, entry, lookup: node.lookup })
    }

    /// Sends one request to the coordinator of a key, in the highest version that both sides support, at
    /// most `max`, and returns the broker's id with the response. Makes one attempt: the caller
    /// interprets error codes and calls [`Client::forget_coordinator`].
    pub async fn send_to_coordinator<R: Request>(
        &self,
        kind: CoordinatorKind,
        key: &str,
        request: &R,
        max: i16,
    ) -> Result<(i32, R::Response)> {
        let coordinator = self.coordinator(kind, key).await?;
        let version = coordinator.version::<R>(max)?;
        Ok((coordinator.broker, coordinator.request(request, version).await?))
    }

    /// Removes the coordinator of a key from the cache, unless it is no longer `broker`.
    pub fn forget_coordinator(&self, kind: CoordinatorKind, key: &str, broker: i32) {
        self.inner.coordinators.entry(kind, key).forget(|node| node.broker == broker);
    }

    /// Calls `call` with the coordinator of a key. Retries transient failures with backoff, and looks
    /// the coordinator up again when an error requires it.
    pub async fn with_coordinator<T, F: Future<Output = Result<T>>>(
        &self,
        what: impl Into<String>,
        (kind, key): (CoordinatorKind, &str),
        timeout: Duration,
        mut call: impl FnMut(Coordinator) -> F,
    ) -> Result<T> {
        let mut retry = self.retry(what, timeout);
        loop {
            let attempt = async { call(self.coordinator(kind, key).await?).await };
            match retry.attempt(attempt).await {
                Err(error) if error.is_transient() => retry.pause(error).await?,
                outcome => return outcome,
            }
        }
    }

    async fn look_up_coordinator(
        &self,
        entry: &CoordinatorEntry,
        kind: CoordinatorKind,
        key: &str,
    ) -> Result<CoordinatorNode> {
        let lookups = {
            let state = entry.state.lock();
            if let Some(node) = &state.node {
                return Ok(node.clone());
            }
            state.lookups
        };
        let _lookup_guard = entry.lookup_lock.lock().await;
        {
            let state = entry.state.lock();
            if let Some(node) = &state.node {
                return Ok(node.clone());
            }
            if state.lookups > lookups
                && let Some(failure) = &state.failure
            {
                return Err(failure.clone());
            }
        }
        let found = self.find_coordinator(kind, key).await;
        let mut state = entry.state.lock();
        state.lookups += 1;
        let lookup = state.lookups;
        match found {
            Ok((broker, endpoint)) => {
                tracing::debug!(target: "ottla.coordinator", kind = kind.name(), key, broker, "found");
                let node = CoordinatorNode { broker, endpoint, lookup };
                (state.node, state.failure) = (Some(node.clone()), None);
                Ok(node)
            }
            Err(error) => {
                state.failure = Some(error.clone());
                Err(error)
            }
        }
    }
}

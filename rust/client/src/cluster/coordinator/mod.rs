//! Coordinators: which broker coordinates a group or a transactional id, and the requests to it.
//!
//! What was found is kept until an error says otherwise. COORDINATOR_LOAD_IN_PROGRESS does not: the
//! coordinator is the right one and will be ready soon.
//!
//! Invariants: looking up is single-flight per key, and all who wait for it get the same outcome. An
//! old answer never makes forget what was found after it. Requests go on a role of their own, so that
//! a heartbeat never waits behind a fetch's long poll.

mod roles;

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;

use ottla_protocol::messages::find_coordinator::{
    Coordinator as Found, FindCoordinatorRequest, FindCoordinatorResponse,
};
use ottla_protocol::{ErrorCode, Request};
use parking_lot::Mutex;
use tokio::time::Duration;

use crate::cluster::{Client, Route};
use crate::connection::{Connection, ConnectionRole, Endpoint};
use crate::error::{Error, Kind, Result};
use crate::retry::recovery::{Recovery, recovery};

/// The first version that takes many keys at once.
const BATCHED_LOOKUPS: i16 = 4;

/// What a coordinator is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CoordinatorKind {
    /// A group: of consumers, of either protocol, or a share group.
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

    fn name(self) -> &'static str {
        match self {
            Self::Group => "group",
            Self::Transaction => "transactional id",
        }
    }
}

/// A broker as FindCoordinator named it. `lookup` tells one lookup-up from the next.
#[derive(Debug, Clone)]
struct CoordinatorNode {
    broker: i32,
    endpoint: Endpoint,
    lookup: u64,
}

#[derive(Debug, Default)]
struct CoordinatorEntry {
    state: Mutex<LookupState>,
    /// Held by whoever lookups up.
    lookup_lock: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct LookupState {
    node: Option<CoordinatorNode>,
    /// How many lookup-ups have ended, and what the last one failed with.
    lookups: u64,
    failure: Option<Error>,
}

/// The coordinators that are known to one client.
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

/// The coordinator of one key, with a connection that was alive a moment ago.
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

    /// The version of `R` to use with it.
    pub fn version<R: Request>(&self, max: i16) -> Result<i16> {
        self.connection.version::<R>(max)
    }

    /// Sends one request; the answer is due `request.timeout.ms` later. A coordinator whose
    /// connection is lost is forgotten.
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

    /// Holds back requests for as long as the broker asked.
    pub fn throttle(&self, millis: i32) {
        self.connection.throttle(millis);
    }

    /// What a code in an answer of this coordinator means, as an error that names the broker. Says
    /// the code that it is not the coordinator, it is forgotten, and the next one who asks lookups again.
    #[must_use]
    pub fn refusal(&self, code: ErrorCode) -> Error {
        self.process_error(Error::from_code(code))
    }

    /// Forgets this coordinator, unless another was found meanwhile.
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

/// Whether an error says that the coordinator has to be looked for again.
fn requires_lookup(error: &Error) -> bool {
    match error.code() {
        Some(code) => recovery(code) == Recovery::FindCoordinator,
        None => matches!(error.kind(), Kind::Connection | Kind::Timeout | Kind::Protocol),
    }
}

impl Client {
    /// The coordinator of a key, looked up if it is not known, and connected to. One attempt.
    pub async fn coordinator(&self, kind: CoordinatorKind, key: &str) -> Result<Coordinator> {
        self.check_open()?;
        let entry = self.inner.coordinators.entry(kind, key);
        let node = self.look_up_coordinator(&entry, kind, key).await?;
        let connection = self
            .inner
            .pool
            .get(node.broker, (ConnectionRole::Coordinator, self.owner()), &node.endpoint)
            .await;
        let connection = connection.map_err(|error| {
            if requires_lookup(&error) {
                entry.forget(|known| known.lookup == node.lookup);
            }
            error.broker(node.broker)
        })?;
        Ok(Coordinator { broker: node.broker, connection, entry, lookup: node.lookup })
    }

    /// Sends one request to the coordinator of a key, in the highest version in common that is not
    /// above `max`, and says which broker answered. One attempt: what the codes in the answer mean
    /// is the caller's to say, by [`Client::forget_coordinator`] too.
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

    /// Has the coordinator of a key looked up again, unless it is another one than `broker` already.
    pub fn forget_coordinator(&self, kind: CoordinatorKind, key: &str, broker: i32) {
        self.inner.coordinators.entry(kind, key).forget(|node| node.broker == broker);
    }

    /// Runs `call` with the coordinator of a key, again after failures that pass: it backs off, and
    /// lookups the coordinator up again where an error says so.
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

    async fn find_coordinator(&self, kind: CoordinatorKind, key: &str) -> Result<(i32, Endpoint)> {
        let connection = self.connection(Route::Any).await?;
        let version = connection.version::<FindCoordinatorRequest>(i16::MAX)?;
        let response = connection.request(&build_request(kind, key, version), version).await?;
        connection.throttle(response.throttle_time_ms);
        process_response(response, kind, key)
            .map_err(|error| error.api(ottla_protocol::ApiKey::FindCoordinator).address(connection.address()))
    }
}

fn build_request(kind: CoordinatorKind, key: &str, version: i16) -> FindCoordinatorRequest {
    let key_type = kind.key_type();
    match version {
        BATCHED_LOOKUPS.. => {
            FindCoordinatorRequest { key_type, coordinator_keys: vec![key.to_owned()], ..Default::default() }
        }
        _ => FindCoordinatorRequest { key_type, key: key.to_owned(), ..Default::default() },
    }
}

fn process_response(
    response: FindCoordinatorResponse,
    kind: CoordinatorKind,
    key: &str,
) -> Result<(i32, Endpoint)> {
    let FindCoordinatorResponse { error_code, error_message, node_id, host, port, mut coordinators, .. } =
        response;
    let found = match coordinators.iter().position(|found| found.key == key) {
        Some(at) => coordinators.swap_remove(at),
        None if coordinators.is_empty() => {
            Found { node_id, host, port, error_code, error_message, ..Found::default() }
        }
        None => {
            let words = format!("the answer leaves out the {} that was asked for", kind.name());
            return Err(Error::new(Kind::Protocol, words));
        }
    };
    ErrorCode::from(found.error_code).ok().map_err(|code| {
        Error::from_code(code).prefixed(format_args!("no coordinator of the {} {key}", kind.name()))
    })?;
    match u16::try_from(found.port) {
        Ok(port @ 1..) => Ok((found.node_id, Endpoint { host: found.host, port })),
        _ => Err(Error::new(Kind::Protocol, format!("{} is no port of a coordinator", found.port))),
    }
}

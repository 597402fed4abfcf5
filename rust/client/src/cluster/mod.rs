//! The client: a handle to one cluster, and the path that every request takes.
//!
//! A request is routed ([`Route`]) and sent on a pooled connection; `retry/recovery.rs` decides what its
//! error code means. Callers supply the timeout.

pub(crate) mod bootstrap;
mod bootstrap_attempts;
mod client_telemetry;
mod coordinator;
mod event_subscribers;
mod find_cluster;
mod nearest_names;
pub(crate) mod partitions;
mod refresh;
mod refresher;
mod route;
mod topics;

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use ottla_protocol::Request;
use tokio::sync::broadcast;
use tokio::task::AbortHandle;
use tokio::time::{Duration, Instant};

pub use coordinator::{Coordinator, CoordinatorKind};
pub use event_subscribers::EventSubscription;
pub use route::Route;
pub use topics::IfMissing;

use crate::cluster::bootstrap::parse;
use crate::cluster::bootstrap_attempts::BootstrapAttempts;
use crate::cluster::coordinator::Coordinators;
use crate::cluster::event_subscribers::EventSubscribers;
use crate::config::Config;
use crate::connection::{self, Connection, ConnectionRole, Owner, Pool, Settings};
use crate::endpoint::Endpoint;
use crate::environment::{BoxFuture, Environment};
use crate::error::{Error, Kind, Result};
use crate::metadata::no_leader::no_leader;
use crate::metadata::{Cache, Event, Snapshot, TopicSelector};
use crate::metrics::Metric;
use crate::request_statistics::RequestStatistics;
use crate::retry::Retry;
use crate::retry::persistent_failures::Place;
use crate::secret::Secret;
use crate::telemetry::Telemetry;

/// A client of one cluster. Cheap to clone; dropping the last clone closes the connections.
#[derive(Debug, Clone)]
pub struct Client {
    pub(crate) inner: Arc<Inner>,
    dedicated: Option<Arc<DedicatedConnections>>,
}

/// Connections that only some clones of a client use; dropped with the last of these clones.
#[derive(Debug)]
struct DedicatedConnections {
    owner: Owner,
    inner: Weak<Inner>,
}

impl Drop for DedicatedConnections {
    fn drop(&mut self) {
        if let Some(inner) = self.inner.upgrade() {
            inner.pool.remove_owner(self.owner);
        }
    }
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) config: Config,
    pub(crate) environment: Environment,
    pub(crate) metadata: Cache,
    pub(crate) pool: Pool,
    pub(crate) coordinators: Coordinators,
    pub(crate) servers: Vec<Endpoint>,
    pub(crate) bootstrap_attempts: Arc<BootstrapAttempts>,
    pub(crate) settings: Settings,
    pub(crate) event_subscribers: Arc<EventSubscribers>,
    pub(crate) refresher: parking_lot::Mutex<Option<AbortHandle>>,
    /// The telemetry of the client itself, from the first request for its id.
    telemetry: OnceLock<Option<Telemetry>>,
    closed: AtomicBool,
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(refresher) = self.refresher.get_mut().take() {
            refresher.abort();
        }
    }
}

impl Client {
    /// Creates a client without connecting.
    pub fn new(config: Config, environment: Environment) -> Result<Self> {
        let settings = Settings::try_from(&config)?;
        settings.security.check(&environment)?;
        let backoff = config.connect_backoff();
        let metadata = Cache::new(config.metadata_max_idle);
        let inner = Inner {
            servers: parse(config.addresses())?,
            bootstrap_attempts: Arc::default(),
            pool: Pool::new(settings.clone(), backoff, environment.clone(), metadata.events().clone()),
            metadata,
            coordinators: Coordinators::default(),
            settings,
            environment,
            config,
            event_subscribers: Arc::default(),
            refresher: parking_lot::Mutex::default(),
            telemetry: OnceLock::new(),
            closed: AtomicBool::new(false),
        };
        Ok(Self::of(Arc::new(inner)))
    }

    pub(crate) fn of(inner: Arc<Inner>) -> Self {
        Self { inner, dedicated: None }
    }

    /// Returns the same client with connections to leaders and coordinators of its own, shared only with
    /// its clones and closed with the last of them. Use it where brokers delay responses (a consumer's
    /// fetches and JoinGroup requests) on a client that others share: brokers process one request of a
    /// connection at a time.
    #[must_use]
    pub fn with_dedicated_connections(&self) -> Self {
        let dedicated =
            DedicatedConnections { owner: self.inner.pool.new_owner(), inner: Arc::downgrade(&self.inner) };
        Self { inner: Arc::clone(&self.inner), dedicated: Some(Arc::new(dedicated)) }
    }

    /// Returns the same client with the connections that all its users share. It does not keep dedicated
    /// connections open.
    #[must_use]
    pub fn with_shared_connections(&self) -> Self {
        Self::of(Arc::clone(&self.inner))
    }

    pub(crate) fn owner(&self) -> Owner {
        self.dedicated.as_ref().map_or(Owner::CLIENT, |dedicated| dedicated.owner)
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.inner.config
    }

    /// The environment: how the client reaches the network, the clock and so on.
    #[must_use]
    pub fn environment(&self) -> &Environment {
        &self.inner.environment
    }

    /// The servers of `bootstrap.servers`.
    #[must_use]
    pub fn servers(&self) -> &[Endpoint] {
        &self.inner.servers
    }

    /// The current metadata.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.inner.metadata.snapshot()
    }

    /// The id of a partition's leader, if known. Costs one atomic load and two lookups.
    #[must_use]
    pub fn leader(&self, topic: &str, partition: i32) -> Option<i32> {
        let leader = self.inner.metadata.peek().partition(topic, partition)?.leader;
        (leader >= 0).then_some(leader)
    }

    /// Subscribes to changes from now on: of brokers, topics, leaders and connections.
    #[must_use]
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.inner.metadata.events().subscribe()
    }

    /// The client's metrics, under the Java client's names.
    #[must_use]
    pub fn metrics(&self) -> Vec<Metric> {
        let refreshed = self.inner.metadata.refreshed();
        self.inner.settings.metrics.snapshot(refreshed.map(|refreshed| refreshed.elapsed()))
    }

    /// Statistics of the requests of all users of the client.
    #[must_use]
    pub fn request_statistics(&self) -> RequestStatistics {
        self.inner.settings.metrics.requests.statistics()
    }

    /// The state of each connection; first of those to bootstrap servers, until the cluster is found.
    #[must_use]
    pub fn connections(&self) -> Vec<connection::Status> {
        let mut all = self.inner.bootstrap_attempts.status(self.is_refresh_requested());
        all.extend(self.inner.pool.status());
        all
    }

    /// Replaces the user name and the password of PLAIN or SCRAM, for connections that are authenticated from now on.
    /// Others that share the client use them, too.
    ///
    /// # Errors
    /// [`Kind::Config`]: the client uses neither, or they are empty.
    pub fn set_sasl_credentials(&self, username: String, password: Secret) -> Result<()> {
        match &self.inner.settings.security.sasl {
            Some(sasl) => sasl.set_credentials(username, password),
            None => {
                let message = "without SASL (security.protocol) there is no user name and password to set";
                Err(Error::new(Kind::Config, message))
            }
        }
    }

    /// Closes all connections. Requests in flight fail with that as the cause.
    pub fn close(&self) {
        self.inner.closed.store(true, Ordering::Release);
        if let Some(refresher) = self.inner.refresher.lock().take() {
            refresher.abort();
        }
        self.inner.pool.close();
        self.inner.bootstrap_attempts.found();
        // An error only says that there is no subscriber.
        let _ = self.inner.metadata.events().send(Event::Closed);
    }

    /// Whether the client was closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.inner.closed.load(Ordering::Acquire)
    }

    pub(crate) fn check_open(&self) -> Result<()> {
        if self.is_closed() {
            return Err(Error::new(Kind::Closed, "this client was closed: create another one"));
        }
        Ok(())
    }

    pub(crate) fn retry(&self, what: impl Into<String>, timeout: Duration) -> Retry {
        let failures = Arc::clone(&self.inner.settings.failures);
        let retry = Retry::new(what, timeout, self.inner.config.backoff(), &self.inner.environment, failures);
        retry.counted_in(&self.inner.settings.metrics)
    }

    /// Records that `what` has been failing since `since`, and logs a warning if that is long enough.
    pub(crate) fn record_failure(&self, what: impl std::fmt::Display, error: &Error, since: Instant) {
        self.inner.settings.failures.record(what, error, since);
    }

    /// Records that `what` has succeeded, which ends its warning.
    pub(crate) fn record_success(&self, what: impl std::fmt::Display, place: Place<'_>) {
        self.inner.settings.failures.record_success(what, place);
    }

    /// Counts a request or a batch that is sent again after `error`.
    pub(crate) fn count_retry(&self, error: &Error) {
        self.inner.settings.metrics.requests.retried(error);
    }

    /// The wait after `failures` consecutive failures.
    pub(crate) fn backoff(&self, failures: u32) -> Duration {
        self.inner.config.backoff().after(failures, self.inner.environment.random())
    }

    /// The connection to a broker for data, if it is open.
    pub(crate) fn open_connection(&self, broker: i32) -> Option<Arc<Connection>> {
        self.check_open().ok()?;
        let snapshot = self.inner.metadata.peek();
        let endpoint = &snapshot.brokers.get(&broker)?.endpoint;
        self.inner.pool.open(broker, (ConnectionRole::Data, self.owner()), endpoint)
    }

    /// The connection for a route.
    pub async fn connection(&self, route: Route<'_>) -> Result<Arc<Connection>> {
        self.connection_as(ConnectionRole::Data, route).await
    }

    /// The connection for a route, of the given role.
    pub async fn connection_as(&self, role: ConnectionRole, route: Route<'_>) -> Result<Arc<Connection>> {
        self.check_open()?;
        let route = match route {
            // Other controllers do not serve everything.
            Route::Any if self.inner.config.has_controllers() => Route::Controller,
            route => route,
        };
        let mut snapshot = self.inner.metadata.snapshot();
        if snapshot.brokers.is_empty() && matches!(route, Route::Any | Route::Controller) {
            // The first use of a client that has not connected. Without its type, which would be a part of each future
            // that sends a request.
            let refreshing: BoxFuture<'_, _> =
                Box::pin(self.refresh(snapshot.generation, TopicSelector::Tracked));
            snapshot = refreshing.await?;
        }
        let id = match route {
            Route::Broker(id) => id,
            Route::Leader(topic, partition) => match snapshot.leader(topic, partition) {
                Some(leader) => leader.id,
                None => return Err(no_leader(&snapshot, topic, partition)),
            },
            Route::Controller if snapshot.brokers.contains_key(&snapshot.controller) => snapshot.controller,
            Route::Any | Route::Controller => {
                if role == ConnectionRole::Data
                    && let Some((_, connection)) = self.inner.pool.least_busy()
                {
                    return Ok(connection);
                }
                let ids: Vec<i32> = snapshot.brokers.keys().copied().collect();
                match ids.get(self.inner.environment.random_below(ids.len())) {
                    Some(id) => *id,
                    None => return Err(Error::new(Kind::Connection, "the cluster has reported no broker")),
                }
            }
        };
        let broker = snapshot.brokers.get(&id).ok_or_else(|| connection::unknown_broker(id))?;
        let owner = match route {
            Route::Broker(_) | Route::Leader(..) => self.owner(),
            Route::Any | Route::Controller => Owner::CLIENT,
        };
        self.inner.pool.get(id, (role, owner), &broker.endpoint).await
    }

    /// Sends one request along a route, in the highest version that both sides support, at most `max`.
    /// Makes one attempt: the caller retries, because only it can interpret the response.
    pub async fn send<R: Request>(&self, route: Route<'_>, request: &R, max: i16) -> Result<R::Response> {
        let connection = self.connection(route).await?;
        let version = connection.version::<R>(max)?;
        connection.request(request, version).await.map_err(|error| match route {
            Route::Broker(id) => error.broker(id),
            _ => error,
        })
    }

    /// Retries `call` after transient failures and refreshes the metadata before each retry.
    pub async fn retrying<T, F: Future<Output = Result<T>>>(
        &self,
        what: &str,
        timeout: Duration,
        mut call: impl FnMut() -> F,
    ) -> Result<T> {
        let mut retry = self.retry(what, timeout);
        loop {
            let generation = self.inner.metadata.peek().generation;
            match retry.attempt(call()).await {
                Ok(value) => return Ok(value),
                Err(error) if error.is_transient() => {
                    self.pause_and_refresh(&mut retry, generation, error).await?
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits after a failure, then refreshes the metadata unless it is newer than `generation`.
    pub(crate) async fn pause_and_refresh(
        &self,
        retry: &mut Retry,
        generation: u64,
        error: Error,
    ) -> Result<()> {
        retry.pause(error).await?;
        let refreshed = self.refresh_by(generation, TopicSelector::Tracked, Some(retry.deadline()));
        match retry.attempt(refreshed).await {
            // Credentials that are refused now will be refused again.
            Err(error) if error.kind() == Kind::Authentication => Err(error),
            Err(error) => retry.pause(error).await,
            Ok(_) => Ok(()),
        }
    }
}

//! The client: one handle to the cluster, and the one path that every request takes.
//!
//! A request is routed (any broker, the controller, a broker by id, a partition's leader), sent on
//! the pool's connection, and what comes back is judged by `recovery.rs`. Who calls here brings a
//! deadline.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use ottla_protocol::messages::metadata::MetadataResponse;
use ottla_protocol::{ErrorCode, Request};
use tokio::task::AbortHandle;
use tokio::time::{Duration, Instant};

use crate::backoff::Backoff;
use crate::bootstrap::{ask, bootstrap, parse};
use crate::config::Config;
use crate::connection::{self, Connection, Endpoint, Pool, Settings};
use crate::environment::Environment;
use crate::error::{Error, Kind, Result};
use crate::metadata::{Cache, Snapshot, Topic, Turn, Want};
use crate::race::race;
use crate::retry::{self, Retry};

/// How long a broker may keep the next one waiting to be asked for metadata. Its answer comes
/// behind those to earlier requests, which may be long polls.
const PATIENCE: Duration = Duration::from_secs(1);

/// Where a request goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route<'a> {
    /// Any broker.
    Any,
    /// The controller, or any broker, which forwards.
    Controller,
    /// A broker by its id.
    Broker(i32),
    /// The leader of a partition.
    Leader(&'a str, i32),
}

/// A client of one cluster. Cheap to clone; the last clone closes the connections.
#[derive(Debug, Clone)]
pub struct Client {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) config: Config,
    pub(crate) environment: Environment,
    pub(crate) metadata: Cache,
    pool: Pool,
    servers: Vec<Endpoint>,
    settings: Settings,
    refresher: parking_lot::Mutex<Option<AbortHandle>>,
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
    /// A client that has not connected yet.
    pub fn new(config: Config, environment: Environment) -> Result<Self> {
        let settings = Settings::from(&config);
        let backoff = Backoff { first: config.reconnect_backoff, max: config.reconnect_backoff_max };
        let inner = Inner {
            servers: parse(&config.bootstrap_servers)?,
            pool: Pool::new(settings.clone(), backoff, environment.clone()),
            metadata: Cache::default(),
            settings,
            environment,
            config,
            refresher: parking_lot::Mutex::default(),
            closed: AtomicBool::new(false),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// A client that has found its cluster. Each server is tried once; if none answers, the error
    /// lists them all.
    pub async fn connect(config: Config, environment: Environment, timeout: Duration) -> Result<Self> {
        let client = Self::new(config, environment)?;
        let deadline = retry::deadline(timeout);
        client.refresh_by(0, Want::Known, Some(deadline)).await?;
        Ok(client)
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.inner.config
    }

    /// What is known of the cluster.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.inner.metadata.snapshot()
    }

    /// The id of the broker that leads a partition, as far as is known: one atomic load and two
    /// look-ups.
    #[must_use]
    pub fn leader(&self, topic: &str, partition: i32) -> Option<i32> {
        let leader = self.inner.metadata.peek().partition(topic, partition)?.leader;
        (leader >= 0).then_some(leader)
    }

    /// The state of the connections.
    #[must_use]
    pub fn connections(&self) -> Vec<connection::Status> {
        self.inner.pool.status()
    }

    /// Ends all connections; what waits on them gets that as the cause.
    pub fn close(&self) {
        self.inner.closed.store(true, Ordering::Release);
        if let Some(refresher) = self.inner.refresher.lock().take() {
            refresher.abort();
        }
        self.inner.pool.close();
    }

    /// Whether it was closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.inner.closed.load(Ordering::Acquire)
    }

    pub(crate) fn check_open(&self) -> Result<()> {
        if self.is_closed() {
            return Err(Error::new(Kind::Closed, "this client was closed"));
        }
        Ok(())
    }

    pub(crate) fn retry(&self, what: impl Into<String>, timeout: Duration) -> Retry {
        let config = &self.inner.config;
        let backoff = Backoff { first: config.retry_backoff, max: config.retry_backoff_max };
        Retry::new(what, timeout, backoff, &self.inner.environment)
    }

    /// Refreshes the metadata, unless somebody has since the caller saw generation `stale`.
    pub async fn refresh(&self, stale: u64, want: Want<'_>) -> Result<Arc<Snapshot>> {
        self.refresh_by(stale, want, None).await
    }

    /// As [`Client::refresh`]; what has not answered by `deadline` is told with its phase.
    async fn refresh_by(
        &self,
        stale: u64,
        want: Want<'_>,
        deadline: Option<Instant>,
    ) -> Result<Arc<Snapshot>> {
        self.check_open()?;
        let metadata = &self.inner.metadata;
        let _turn = match metadata.turn(stale, want).await {
            Turn::Mine(turn) => turn,
            Turn::Done => return Ok(metadata.snapshot()),
            Turn::Failed(error) => return Err(error),
        };
        let response = match self.ask_anyone(want, deadline).await {
            Ok(response) => response,
            Err(error) => {
                metadata.process_failure(error.clone());
                return Err(error);
            }
        };
        let snapshot = metadata.process_response(&response, want);
        tracing::debug!(target: "ottla.metadata", generation = snapshot.generation, brokers = snapshot.brokers.len(), "refreshed");
        self.inner.pool.retain(|broker| snapshot.brokers.contains_key(&broker));
        self.start_refresher();
        Ok(snapshot)
    }

    /// Asks the connected broker with the least to do, then the others that are known, then the
    /// bootstrap servers again (KIP-899). A broker that keeps silent delays this only a little.
    async fn ask_anyone(&self, want: Want<'_>, deadline: Option<Instant>) -> Result<MetadataResponse> {
        let inner = &*self.inner;
        let request = inner.metadata.build_request(want);
        let snapshot = self.snapshot();
        let mut brokers: Vec<_> = snapshot.brokers.values().collect();
        inner.environment.shuffle(&mut brokers);
        let idle = inner.pool.least_busy().map(|(broker, _)| broker);
        brokers.sort_by_key(|broker| Some(broker.id) != idle);
        let rebootstrap = AtomicBool::new(false);
        let (request, rebootstrap) = (&request, &rebootstrap);
        let answered = race(brokers, PATIENCE, |broker| async move {
            if rebootstrap.load(Ordering::Relaxed) {
                return Err(Error::from_code(ErrorCode::RebootstrapRequired));
            }
            let asked = async { ask(&*inner.pool.get(broker.id, &broker.endpoint).await?, request).await };
            asked.await.inspect_err(|error| {
                if error.code() == Some(ErrorCode::RebootstrapRequired) {
                    rebootstrap.store(true, Ordering::Relaxed);
                }
                tracing::debug!(target: "ottla.metadata", broker = broker.id, %error, "no metadata from this broker");
            })
        });
        if let Ok(response) = answered.await {
            return Ok(response);
        }
        self.check_open()?;
        let (server, connection, response) =
            bootstrap(&inner.servers, request, &inner.settings, &inner.environment, deadline).await?;
        // The connection is of use if the server advertises the address that was given.
        let same =
            response.brokers.iter().find(|b| b.host == server.host && b.port == i32::from(server.port));
        if let Some(broker) = same {
            inner.pool.adopt(broker.node_id, connection);
        }
        Ok(response)
    }

    /// Starts the task that refreshes metadata when it gets old. It does not keep the client alive.
    fn start_refresher(&self) {
        let mut refresher = self.inner.refresher.lock();
        // Looked at under the lock, so that closing cannot miss the task.
        if refresher.is_none() && self.check_open().is_ok() {
            let task = refresh_by_age(Arc::downgrade(&self.inner), self.inner.config.metadata_max_age);
            *refresher = Some(tokio::spawn(task).abort_handle());
        }
    }

    /// The connection that a route leads to.
    pub async fn connection(&self, route: Route<'_>) -> Result<Arc<Connection>> {
        self.check_open()?;
        let snapshot = self.inner.metadata.snapshot();
        let id = match route {
            Route::Broker(id) => id,
            Route::Leader(topic, partition) => match snapshot.leader(topic, partition) {
                Some(leader) => leader.id,
                None => return Err(no_leader(&snapshot, topic, partition)),
            },
            Route::Controller if snapshot.brokers.contains_key(&snapshot.controller) => snapshot.controller,
            Route::Any | Route::Controller => {
                if let Some((_, connection)) = self.inner.pool.least_busy() {
                    return Ok(connection);
                }
                let ids: Vec<i32> = snapshot.brokers.keys().copied().collect();
                match ids.get(self.inner.environment.below(ids.len())) {
                    Some(id) => *id,
                    None => return Err(Error::new(Kind::Connection, "no broker is known: connect first")),
                }
            }
        };
        let broker = snapshot.brokers.get(&id).ok_or_else(|| connection::unknown_broker(id))?;
        self.inner.pool.get(id, &broker.endpoint).await
    }

    /// Sends one request along a route, in the highest version in common that is not above `max`.
    /// One attempt; the caller recovers, since only it knows what each part of the answer means.
    pub async fn send<R: Request>(&self, route: Route<'_>, request: &R, max: i16) -> Result<R::Response> {
        let connection = self.connection(route).await?;
        let version = connection.version::<R>(max)?;
        connection.request(request, version).await.map_err(|error| match route {
            Route::Broker(id) => error.broker(id),
            _ => error,
        })
    }

    /// Runs `call` once, within a time.
    pub(crate) async fn once<T>(
        &self,
        what: &str,
        timeout: Duration,
        call: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        self.retry(what, timeout).attempt(call).await
    }

    /// Runs `call` again after failures that pass by themselves, refreshing metadata in between.
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
                Err(error) if error.may_pass() => retry.pause(error).await?,
                Err(error) => return Err(error),
            }
            let refreshed = self.refresh_by(generation, Want::Known, Some(retry.deadline()));
            if let Err(error) = retry.attempt(refreshed).await {
                retry.pause(error).await?;
            }
        }
    }

    /// Waits until topics exist and the metadata has them; partitions may still lack leaders.
    pub async fn topics(
        &self,
        names: &[Arc<str>],
        create: bool,
        timeout: Duration,
    ) -> Result<Vec<Arc<Topic>>> {
        let mut forget = Forget { metadata: &self.inner.metadata, names };
        let found = self.look_up(names, create, timeout).await;
        if found.is_ok() {
            forget.names = &[];
        }
        found
    }

    async fn look_up(&self, names: &[Arc<str>], create: bool, timeout: Duration) -> Result<Vec<Arc<Topic>>> {
        let want = if create { Want::Create(names) } else { Want::Topics(names) };
        let mut retry = self.retry(format!("looking up {}", names.join(", ")), timeout);
        let mut snapshot = self.snapshot();
        loop {
            let missing = names.iter().find_map(|name| match snapshot.topic(name) {
                Some(topic) if topic.error == ErrorCode::None => None,
                Some(topic) => Some(Error::from_code(topic.error).topic(name)),
                None => Some(Error::from_code(ErrorCode::UnknownTopicOrPartition).topic(name)),
            });
            match missing {
                None => return Ok(names.iter().filter_map(|name| snapshot.topic(name).cloned()).collect()),
                // The first look has not been had yet, unless there is an error on record.
                Some(error)
                    if snapshot.generation > 0 && names.iter().all(|name| snapshot.topic(name).is_some()) =>
                {
                    if !error.is_retriable() {
                        return Err(error);
                    }
                    retry.pause(error).await?;
                }
                Some(_) => {}
            }
            snapshot = match retry.attempt(self.refresh(snapshot.generation, want)).await {
                Ok(snapshot) => snapshot,
                Err(error) if error.may_pass() => {
                    retry.pause(error).await?;
                    self.snapshot()
                }
                Err(error) => return Err(error),
            };
        }
    }
}

/// Takes names that turned out to be of no use out of the metadata again, or a misspelt topic would
/// be asked for in every refresh from then on.
struct Forget<'a> {
    metadata: &'a Cache,
    names: &'a [Arc<str>],
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.metadata.forget(self.names);
    }
}

/// Why a partition has nobody to talk to.
pub(crate) fn no_leader(snapshot: &Snapshot, topic: &str, partition: i32) -> Error {
    use ottla_protocol::ErrorCode as E;
    let code = match snapshot.topic(topic) {
        None => E::UnknownTopicOrPartition,
        Some(known) if known.error != E::None => known.error,
        Some(known) => match known.partition(partition) {
            None => E::UnknownTopicOrPartition,
            Some(found) if found.error != E::None => found.error,
            Some(_) => E::LeaderNotAvailable,
        },
    };
    Error::from_code(code).at(&topic.into(), partition)
}

async fn refresh_by_age(inner: Weak<Inner>, age: Duration) {
    loop {
        // Not a busy loop even when metadata is to be refreshed always.
        tokio::time::sleep(age.max(Duration::from_millis(100))).await;
        let Some(inner) = inner.upgrade() else { return };
        let client = Client { inner };
        if client.check_open().is_err() {
            return;
        }
        let generation = client.inner.metadata.peek().generation;
        if let Err(error) = client.refresh(generation, Want::Known).await {
            tracing::warn!(target: "ottla.metadata", %error, "metadata cannot be refreshed");
        }
    }
}

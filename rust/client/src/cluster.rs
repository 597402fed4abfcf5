//! The client: one handle to the cluster, and the one path that every request takes.
//!
//! A request is routed (any broker, the controller, a broker by id, a partition's leader), sent on
//! the pool's connection, and what comes back is judged by `recovery.rs`. Who calls here brings a
//! deadline.

use std::future::Future;
use std::sync::{Arc, Weak};

use ottla_protocol::Request;
use ottla_protocol::messages::metadata::MetadataResponse;
use tokio::task::AbortHandle;
use tokio::time::Duration;

use crate::backoff::Backoff;
use crate::bootstrap::{ask, bootstrap, parse};
use crate::config::Config;
use crate::connection::{self, Connection, Endpoint, Pool, Settings};
use crate::environment::Environment;
use crate::error::{Error, Kind, Result};
use crate::metadata::{Cache, Snapshot, Topic, Want};
use crate::retry::Retry;

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
    closed: std::sync::atomic::AtomicBool,
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
            closed: std::sync::atomic::AtomicBool::new(false),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// A client that has found its cluster. Each server is tried once; if none answers, the error
    /// lists them all.
    pub async fn connect(config: Config, environment: Environment, timeout: Duration) -> Result<Self> {
        let client = Self::new(config, environment)?;
        let what = format!("connecting to {}", client.config().bootstrap_servers.join(", "));
        client.retry(what, timeout).attempt(client.refresh(0, Want::Known)).await?;
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
        self.inner.closed.store(true, std::sync::atomic::Ordering::Release);
        self.inner.pool.close();
    }

    /// Whether it was closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.inner.closed.load(std::sync::atomic::Ordering::Acquire)
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
        self.check_open()?;
        let metadata = &self.inner.metadata;
        let Some(_turn) = metadata.turn(stale, want).await else { return Ok(metadata.snapshot()) };
        let response = self.ask_anyone(want).await?;
        let snapshot = metadata.process_response(&response, want);
        tracing::debug!(target: "ottla.metadata", generation = snapshot.generation, brokers = snapshot.brokers.len(), "refreshed");
        self.inner.pool.retain(|broker| snapshot.brokers.contains_key(&broker));
        self.start_refresher();
        Ok(snapshot)
    }

    /// Asks a connected broker, else any known broker, else the bootstrap servers again.
    async fn ask_anyone(&self, want: Want<'_>) -> Result<MetadataResponse> {
        let inner = &*self.inner;
        let request = inner.metadata.build_request(want);
        if let Some((broker, connection)) = inner.pool.least_busy() {
            match ask(&connection, &request).await {
                Ok(response) => return Ok(response),
                Err(error) => {
                    tracing::debug!(target: "ottla.metadata", broker, %error, "no metadata from this broker")
                }
            }
        }
        let snapshot = self.snapshot();
        let mut brokers: Vec<_> = snapshot.brokers.values().collect();
        inner.environment.shuffle(&mut brokers);
        for broker in brokers {
            let asked = async { ask(&*inner.pool.get(broker.id, &broker.endpoint).await?, &request).await };
            match asked.await {
                Ok(response) => return Ok(response),
                Err(error) => {
                    tracing::debug!(target: "ottla.metadata", broker = broker.id, %error, "no metadata from this broker")
                }
            }
        }
        let (server, connection, response) =
            bootstrap(&inner.servers, &request, &inner.settings, &inner.environment).await?;
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
        if refresher.is_none() {
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
                Err(error) if error.is_retriable() => retry.pause(error).await?,
                Err(error) => return Err(error),
            }
            if let Err(error) = retry.attempt(self.refresh(generation, Want::Known)).await {
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
        let want = if create { Want::Create(names) } else { Want::Topics(names) };
        let mut retry = self.retry(format!("looking up {}", names.join(", ")), timeout);
        let mut snapshot = self.snapshot();
        loop {
            let missing = names.iter().find_map(|name| match snapshot.topic(name) {
                Some(topic) if topic.error == ottla_protocol::ErrorCode::None => None,
                Some(topic) => Some(Error::from_code(topic.error).topic(name)),
                None => {
                    Some(Error::from_code(ottla_protocol::ErrorCode::UnknownTopicOrPartition).topic(name))
                }
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
                Err(error) if error.is_retriable() => {
                    retry.pause(error).await?;
                    self.snapshot()
                }
                Err(error) => return Err(error),
            };
        }
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
        let generation = client.inner.metadata.peek().generation;
        if let Err(error) = client.refresh(generation, Want::Known).await {
            tracing::warn!(target: "ottla.metadata", %error, "metadata cannot be refreshed");
        }
    }
}

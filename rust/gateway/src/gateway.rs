//! [`Gateway`]: starts, shows its state, and drains.
//!
//! Invariant: once it drains, no connection is accepted and no port opens any more.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::time::Duration;

use arc_swap::ArcSwap;
use ottla_client::environment::Environment;
use ottla_client::{Config, Endpoint, Error};
use ottla_faults::{Fault, FaultId, InjectedFault};
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::addresses::{AddressError, Addresses, Routing};
use crate::brokers::Brokers;
use crate::config::GatewayConfig;
use crate::connection_counts::ConnectionCounts;
use crate::events::{Event, Events};
use crate::faults::{FaultError, Faults};
use crate::follow;
use crate::listeners::{Listeners, bind};
use crate::loaded::{Loaded, Sources};
use crate::serving::accept;
use crate::session::{BufferPool, SessionInfo};
use crate::sessions::{EndedSession, Sessions, Totals};
use crate::shared::Shared;
use crate::warnings::{self, Warnings};

/// The time between two looks at what others do.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// How long the brokers of a known cluster may be without an address.
const ADDRESSES_TIMEOUT: Duration = Duration::from_secs(10);

/// Why a gateway cannot start.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// An address cannot be used.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// A listener cannot be opened.
    #[error("cannot listen at {address}: {error}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The cause.
        error: io::Error,
    },
    /// Server names without TLS.
    #[error(
        "brokers are named by the server name of TLS, and there is no certificate: give --tls-cert and --tls-key, or use ports"
    )]
    ServerNameWithoutTls,
    /// The settings of the connections to the cluster are wrong.
    #[error(transparent)]
    Cluster(#[from] Error),
}

/// Why clients cannot reach all brokers through a gateway.
#[derive(Debug, thiserror::Error)]
pub enum FindBrokersError {
    /// The cluster does not say which brokers it has.
    #[error(transparent)]
    Cluster(Error),
    /// Brokers without an address.
    #[error(
        "these brokers have no address here: {0}; --ports and --first-broker must have a free port for each id from the lowest to the highest"
    )]
    WithoutAddress(String),
}

/// A running gateway. Dropping it closes all connections at once.
#[derive(Debug)]
pub struct Gateway {
    shared: Arc<Shared>,
    /// Locked by a reload.
    sources: Mutex<Sources>,
    address: SocketAddr,
    tasks: Mutex<JoinSet<()>>,
}

impl Gateway {
    /// Opens the bootstrap listener, and follows the cluster from now on. Does not wait for the cluster.
    ///
    /// # Errors
    /// If the address cannot be opened, or a setting cannot be used.
    pub async fn start(config: GatewayConfig, environment: Environment) -> Result<Self, GatewayError> {
        let at = |error| GatewayError::Listen { address: config.listen, error };
        let listener = bind(config.listen).map_err(at)?;
        let address = listener.local_addr().map_err(at)?;
        let addresses = Addresses::new(config.advertised_host, config.routing, address.port())?;
        if config.tls.is_none() && matches!(addresses.routing(), Routing::ServerName { .. }) {
            return Err(GatewayError::ServerNameWithoutTls);
        }
        // What stays on this machine nobody else reads.
        let has_privacy = config.tls.is_some() || address.ip().is_loopback();
        let sources =
            Sources { tls: config.tls, sasl: config.sasl, has_privacy, environment: environment.clone() };
        let loaded = Loaded::new(config.cluster, &sources, None)?;
        let shared = Arc::new(Shared {
            addresses,
            brokers: Brokers::default(),
            loaded: ArcSwap::from_pointee(loaded),
            listeners: Listeners::default(),
            listen: address,
            environment,
            rules: Some(config.rules).filter(|rules| !rules.is_empty()),
            connections: Arc::new(ConnectionCounts::new(
                config.limits.connections,
                config.limits.connections_per_address,
            )),
            warnings: Warnings::default(),
            limits: config.limits,
            pool: BufferPool::default(),
            sessions: Sessions::default(),
            events: Events::default(),
            faults: config.allow_faults.then(|| Arc::new(Faults::new())),
            without_address: Mutex::default(),
            next_session: AtomicU64::new(0),
            next_turn: AtomicUsize::new(0),
            draining: watch::Sender::new(false),
            answers: AtomicBool::new(false),
            reloads: watch::Sender::new(()),
            refresh: Notify::new(),
        });
        if config.keep_ended {
            shared.sessions.keep_ended();
        }
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, Arc::clone(&shared), None));
        tasks.spawn(follow::follow(Arc::clone(&shared)));
        tasks.spawn(warnings::watch(Arc::clone(&shared)));
        Ok(Self { shared, sources: Mutex::new(sources), address, tasks: Mutex::new(tasks) })
    }

    /// The address at which clients bootstrap.
    #[must_use]
    pub fn bootstrap(&self) -> Endpoint {
        self.shared.addresses.bootstrap()
    }

    /// The address of the bootstrap listener.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The known brokers, each with its address behind the gateway.
    #[must_use]
    pub fn brokers(&self) -> BTreeMap<i32, Endpoint> {
        self.shared.addresses_of_brokers()
    }

    /// What the sessions share.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Reads all files again, of TLS and of users, and follows the cluster of this configuration from now on. Open
    /// sessions stay. It blocks on the file system, and needs no runtime.
    ///
    /// # Errors
    /// If a file or the configuration cannot be used; everything is as before then.
    pub fn reload(&self, cluster: Config) -> Result<(), GatewayError> {
        let sources = self.sources.lock();
        let before = self.shared.loaded.load_full();
        let loaded = Loaded::new(cluster, &sources, Some(&before))?;
        // First, so that no session of the cluster before is taken for one of this.
        self.shared.brokers.begin(loaded.era);
        self.shared.loaded.store(Arc::new(loaded));
        before.client.close();
        self.shared.reloads.send_replace(());
        self.shared.refresh.notify_one();
        Ok(())
    }

    /// Waits until the gateway has an address for each broker of the cluster, for `default.api.timeout.ms` and a few
    /// seconds.
    ///
    /// # Errors
    /// If the cluster does not respond, or does not accept the gateway itself, as is usual where the credentials are
    /// those of its clients; if a broker has no address.
    pub async fn find_brokers(&self) -> Result<(), FindBrokersError> {
        loop {
            let loaded = self.shared.loaded.load_full();
            let found = self.find_brokers_of(&loaded).await;
            // After a reload the other cluster counts, and the client of this one was closed.
            if Arc::ptr_eq(&loaded, &self.shared.loaded.load()) {
                return found;
            }
        }
    }

    async fn find_brokers_of(&self, loaded: &Arc<Loaded>) -> Result<(), FindBrokersError> {
        let client = &loaded.client;
        let within = client.config().default_api_timeout;
        client.find_cluster(within).await.map_err(FindBrokersError::Cluster)?;
        self.shared.refresh.notify_one();
        let expected: Vec<i32> = client.snapshot().brokers.keys().copied().collect();
        let deadline = Instant::now() + ADDRESSES_TIMEOUT;
        loop {
            let known = self.brokers();
            let current = self.shared.brokers.current();
            let is_missing = |id: &&i32| !known.contains_key(id) || !current.contains_key(id);
            let missing = expected.iter().filter(is_missing).map(ToString::to_string);
            let missing = missing.collect::<Vec<_>>().join(", ");
            if missing.is_empty() || !Arc::ptr_eq(loaded, &self.shared.loaded.load()) {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(FindBrokersError::WithoutAddress(missing));
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    /// The sessions that are open now.
    #[must_use]
    pub fn sessions(&self) -> Vec<SessionInfo> {
        self.shared.sessions.open()
    }

    /// What all sessions did since the gateway started.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.shared.sessions.totals()
    }

    /// The sessions that have ended since the last call, the oldest first, and how many are missing because they were
    /// too many. They are kept from the first call on.
    #[must_use]
    pub fn take_ended(&self) -> (Vec<EndedSession>, u64) {
        self.shared.sessions.take_ended()
    }

    /// What happened after the event with this number, the oldest first. The latest 1,000 events are kept.
    #[must_use]
    pub fn events(&self, after: u64) -> Vec<Event> {
        self.shared.events.after(after)
    }

    /// Injects a fault.
    ///
    /// # Errors
    /// If faults are not allowed, or a gateway has no such fault.
    pub fn inject(&self, fault: Fault) -> Result<FaultId, FaultError> {
        self.with_faults()?.inject(fault, &self.shared.events)
    }

    /// The faults, in the order of their injection.
    ///
    /// # Errors
    /// If faults are not allowed.
    pub fn faults(&self) -> Result<Vec<InjectedFault>, FaultError> {
        Ok(self.with_faults()?.all())
    }

    /// How many requests or connections a fault has hit; 0 if it was removed.
    #[must_use]
    pub fn fault_hits(&self, id: FaultId) -> u64 {
        self.shared.faults.as_ref().map_or(0, |faults| faults.hits(id))
    }

    /// Removes a fault; returns whether it was there.
    ///
    /// # Errors
    /// If faults are not allowed.
    pub fn remove_fault(&self, id: FaultId) -> Result<bool, FaultError> {
        Ok(self.with_faults()?.remove(id, &self.shared.events))
    }

    /// Removes all faults; returns how many there were.
    ///
    /// # Errors
    /// If faults are not allowed.
    pub fn clear_faults(&self) -> Result<usize, FaultError> {
        Ok(self.with_faults()?.clear(&self.shared.events))
    }

    fn with_faults(&self) -> Result<&Faults, FaultError> {
        self.shared.faults.as_deref().ok_or(FaultError::NotAllowed)
    }

    /// Stops to accept connections, lets the requests in flight finish, and closes. Sessions that are not finished
    /// after `within` are cut off; returns how many these are.
    pub async fn drain(&self, within: Duration) -> usize {
        let mut tasks = std::mem::take(&mut *self.tasks.lock());
        tasks.shutdown().await;
        self.shared.listeners.close_all();
        self.shared.draining.send_replace(true);
        let deadline = Instant::now() + within;
        while !self.shared.sessions.is_empty() && Instant::now() < deadline {
            sleep(POLL_INTERVAL).await;
        }
        self.shared.loaded.load().client.close();
        self.shared.sessions.cut_off()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.shared.listeners.close_all();
        self.shared.sessions.cut_off();
        self.shared.loaded.load().client.close();
    }
}

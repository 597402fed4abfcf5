//! [`Shared`]: what the sessions of a gateway share, and how one finds its broker.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use arc_swap::ArcSwap;
use ottla_client::connection::setup::ConnectionSetup;
use ottla_client::connection::{connect_transport, connect_unauthenticated};
use ottla_client::environment::{BoxFuture, Environment, Stream};
use ottla_client::{Endpoint, Error, Kind};
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::addresses::Addresses;
use crate::brokers::{Broker, Brokers, Change, Era};
use crate::connection_counts::ConnectionCounts;
use crate::events::{Event, EventKind, Events};
use crate::faults::Faults;
use crate::limits::Limits;
use crate::listeners::Listeners;
use crate::loaded::Loaded;
use crate::rules::AccessRules;
use crate::session::BufferPool;
use crate::sessions::Sessions;
use crate::warnings::Warnings;

/// What all sessions share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) addresses: Addresses,
    pub(crate) brokers: Brokers,
    /// What files and the configuration of the cluster say, replaced by a reload.
    pub(crate) loaded: ArcSwap<Loaded>,
    pub(crate) listeners: Listeners,
    pub(crate) listen: SocketAddr,
    pub(crate) environment: Environment,
    /// The requests that are not passed on; `None` without a rule.
    pub(crate) rules: Option<AccessRules>,
    pub(crate) limits: Limits,
    pub(crate) pool: BufferPool,
    pub(crate) sessions: Sessions,
    pub(crate) events: Events,
    /// The injected faults, if these are allowed.
    pub(crate) faults: Option<Arc<Faults>>,
    /// The brokers without an address of which a warning told.
    pub(crate) without_address: Mutex<BTreeSet<i32>>,
    pub(crate) next_session: AtomicU64,
    pub(crate) next_turn: AtomicUsize,
    pub(crate) connections: Arc<ConnectionCounts>,
    pub(crate) warnings: Warnings,
    pub(crate) draining: watch::Sender<bool>,
    /// Whether the cluster talks to the gateway though it does not name its brokers to it.
    pub(crate) answers: AtomicBool,
    /// Tells of each reload.
    pub(crate) reloads: watch::Sender<()>,
    /// Wakes the task that follows the cluster.
    pub(crate) refresh: Notify,
}

/// A connection to a broker.
#[derive(Debug)]
pub(crate) struct Connected<T> {
    pub(crate) to: T,
    /// When the broker was named.
    pub(crate) era: Era,
}

impl Shared {
    /// The known brokers, each with its address behind the gateway.
    pub(crate) fn addresses_of_brokers(&self) -> BTreeMap<i32, Endpoint> {
        let address = |id| {
            let address = self.addresses.of(id).ok()?;
            let port = self.listeners.port(id).unwrap_or(address.port);
            Some((id, Endpoint { port, ..address }))
        };
        let known = self.brokers.ids().into_iter();
        known.filter_map(address).filter(|(_, address)| address.port > 0).collect()
    }

    /// Opens and closes listeners as brokers come and go.
    pub(crate) fn apply(&self, change: &Change) {
        match change {
            Change::Added(broker, endpoint) => {
                tracing::info!(target: "ottla.gateway", broker, %endpoint, "the broker joined the cluster");
                let event = Event::new(EventKind::BrokerJoined).broker(*broker);
                self.events.push(event.detail(endpoint));
            }
            Change::Moved { broker, from, to } => {
                tracing::info!(target: "ottla.gateway", broker, %from, %to, "the broker has another address");
                let event = Event::new(EventKind::BrokerMoved).broker(*broker);
                self.events.push(event.detail(to));
            }
            Change::Removed(broker) => {
                tracing::info!(target: "ottla.gateway", broker, "the broker left the cluster");
                self.events.push(Event::new(EventKind::BrokerLeft).broker(*broker));
                self.listeners.close(*broker);
            }
        }
    }

    /// Connects to the broker, or to any broker of the cluster.
    pub(crate) async fn connect(&self, broker: Option<i32>) -> Result<Connected<Box<dyn Stream>>, Error> {
        self.try_brokers(broker, |endpoint, deadline| {
            Box::pin(async move {
                let settings = &self.loaded.load_full().settings;
                connect_transport(&endpoint, settings, &self.environment, deadline).await
            })
        })
        .await
    }

    /// As [`Shared::connect`], and asks for the broker's API versions.
    pub(crate) async fn connect_unauthenticated(
        &self,
        broker: Option<i32>,
    ) -> Result<Connected<ConnectionSetup>, Error> {
        self.try_brokers(broker, |endpoint, deadline| {
            Box::pin(async move {
                let settings = &self.loaded.load_full().settings;
                connect_unauthenticated(&endpoint, settings, &self.environment, deadline).await
            })
        })
        .await
    }

    /// Connects to the broker, or to the next broker of the cluster that accepts a connection.
    async fn try_brokers<'a, T>(
        &'a self,
        broker: Option<i32>,
        connect: impl Fn(Endpoint, Option<Instant>) -> BoxFuture<'a, Result<T, Error>>,
    ) -> Result<Connected<T>, Error> {
        let mut candidates: Vec<Broker> = match broker {
            Some(id) => self.brokers.of(id).into_iter().collect(),
            None => self.brokers.current().into_values().collect(),
        };
        // Bootstrap connections take the brokers in turn.
        let turn = self.next_turn.fetch_add(1, Ordering::Relaxed);
        let first = turn % candidates.len().max(1);
        candidates.rotate_left(first);
        if broker.is_none() {
            let loaded = self.loaded.load();
            let servers = loaded.client.servers().iter();
            candidates.extend(servers.map(|at| Broker { at: at.clone(), era: loaded.era }));
        }
        // One that does not respond leaves time for the others.
        let share = self.limits.setup / u32::try_from(candidates.len()).unwrap_or(u32::MAX).max(1);
        let mut failure = Error::new(Kind::Connection, "the broker is not in the cluster");
        for Broker { at, era } in candidates {
            let deadline = Some(Instant::now() + share);
            match connect(at, deadline).await {
                Ok(to) => return Ok(Connected { to, era }),
                Err(error) => failure = error,
            }
        }
        self.refresh.notify_one();
        Err(failure)
    }
}

//! [`Gateway`]: listens, and runs a session for each client connection.
//!
//! Invariants: what a client sends ends at most its own session. A task that panics is a session that ended.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use ottla_client::connection::{Settings, connect_transport};
use ottla_client::environment::{Environment, Stream};
use ottla_client::security::TlsServer;
use ottla_client::{Client, Endpoint, Error, Kind};
use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep, timeout};

use crate::addresses::{AddressError, Addresses, Routing};
use crate::brokers::{Brokers, Change};
use crate::config::GatewayConfig;
use crate::follow;
use crate::limits::Limits;
use crate::listeners::{Listeners, bind};
use crate::rewrite::AddressBook;
use crate::session::{self, BufferPool, SessionInfo, SessionStatus};

/// The pause after a failure to accept, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The brokers without an address of which warnings tell.
const WITHOUT_ADDRESS_MAX: usize = 1_000;

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

/// A running gateway. Dropping it closes all connections at once.
#[derive(Debug)]
pub struct Gateway {
    shared: Arc<Shared>,
    address: SocketAddr,
    tasks: Mutex<JoinSet<()>>,
}

/// What all sessions share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) addresses: Addresses,
    pub(crate) brokers: Brokers,
    pub(crate) client: Client,
    listeners: Listeners,
    listen: SocketAddr,
    settings: Settings,
    tls: Option<TlsServer>,
    environment: Environment,
    limits: Limits,
    pool: BufferPool,
    sessions: Mutex<BTreeMap<u64, (Arc<SessionStatus>, AbortHandle)>>,
    /// The brokers without an address of which a warning told.
    without_address: Mutex<BTreeSet<i32>>,
    next_session: AtomicU64,
    next_turn: AtomicUsize,
    connections: Arc<Semaphore>,
    draining: watch::Sender<bool>,
    /// Wakes the task that follows the cluster.
    pub(crate) refresh: tokio::sync::Notify,
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
        let settings = Settings::try_from(&config.cluster)?;
        let tls = config.tls.map(|tls| TlsServer::from_config(&tls.files, tls.client_auth)).transpose()?;
        if tls.is_none() && matches!(addresses.routing(), Routing::ServerName { .. }) {
            return Err(GatewayError::ServerNameWithoutTls);
        }
        let client = Client::new(config.cluster, environment.clone())?;
        let shared = Arc::new(Shared {
            addresses,
            brokers: Brokers::default(),
            client,
            listeners: Listeners::default(),
            listen: address,
            settings,
            tls,
            environment,
            connections: Arc::new(Semaphore::new(config.limits.connections.min(Semaphore::MAX_PERMITS))),
            limits: config.limits,
            pool: BufferPool::default(),
            sessions: Mutex::default(),
            without_address: Mutex::default(),
            next_session: AtomicU64::new(0),
            next_turn: AtomicUsize::new(0),
            draining: watch::Sender::new(false),
            refresh: tokio::sync::Notify::new(),
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, Arc::clone(&shared), None));
        tasks.spawn(follow::follow(Arc::clone(&shared)));
        Ok(Self { shared, address, tasks: Mutex::new(tasks) })
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
        let shared = &self.shared;
        let known = shared.brokers.all().into_keys();
        let address = |id| {
            let address = shared.addresses.of(id).ok()?;
            let port = shared.listeners.port(id).unwrap_or(address.port);
            Some((id, Endpoint { port, ..address }))
        };
        known.filter_map(address).filter(|(_, address)| address.port > 0).collect()
    }

    /// The sessions that are open now.
    #[must_use]
    pub fn sessions(&self) -> Vec<SessionInfo> {
        self.shared.sessions.lock().values().map(|(status, _)| status.info()).collect()
    }

    /// Stops to accept connections, lets the requests in flight finish, and closes. Sessions that are not finished
    /// after `within` are cut off; returns how many these are.
    pub async fn drain(&self, within: Duration) -> usize {
        let mut tasks = std::mem::take(&mut *self.tasks.lock());
        tasks.shutdown().await;
        self.shared.listeners.close_all();
        self.shared.draining.send_replace(true);
        let deadline = Instant::now() + within;
        while !self.shared.sessions.lock().is_empty() && Instant::now() < deadline {
            sleep(Duration::from_millis(10)).await;
        }
        self.shared.client.close();
        self.shared.cut_off()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.shared.listeners.close_all();
        self.shared.cut_off();
        self.shared.client.close();
    }
}

impl Shared {
    /// Ends all sessions at once; returns how many.
    fn cut_off(&self) -> usize {
        let sessions = std::mem::take(&mut *self.sessions.lock());
        sessions.values().for_each(|(_, task)| task.abort());
        sessions.len()
    }

    /// Opens and closes listeners as brokers come and go.
    pub(crate) fn apply(self: &Arc<Self>, change: &Change) {
        match change {
            Change::Added(broker, endpoint) => {
                tracing::info!(target: "ottla.gateway", broker, %endpoint, "the broker joined the cluster");
            }
            Change::Moved { broker, from, to } => {
                tracing::info!(target: "ottla.gateway", broker, %from, %to, "the broker has another address");
            }
            Change::Removed(broker) => {
                tracing::info!(target: "ottla.gateway", broker, "the broker left the cluster");
                self.listeners.close(*broker);
            }
        }
    }

    /// Opens the listener of a broker, unless it is open, and returns its port.
    fn open_listener(self: &Arc<Self>, broker: i32, port: u16) -> io::Result<u16> {
        if matches!(self.addresses.routing(), Routing::ServerName { .. }) {
            return Ok(port);
        }
        self.listeners.open(broker, port, |port| {
            let listener = bind(SocketAddr::new(self.listen.ip(), port))?;
            let port = listener.local_addr()?.port();
            // Not in the set of tasks, which a session cannot reach; it ends with the listener's entry.
            Ok((port, tokio::spawn(accept(listener, Arc::clone(self), Some(broker))).abort_handle()))
        })
    }

    /// Connects to the broker, or to any broker of the cluster.
    async fn connect(&self, broker: Option<i32>) -> Result<Box<dyn Stream>, Error> {
        let known = self.brokers.all();
        let mut candidates: Vec<Endpoint> = match broker {
            Some(id) => known.get(&id).cloned().into_iter().collect(),
            None => known.into_values().collect(),
        };
        // Bootstrap connections take the brokers in turn.
        let turn = self.next_turn.fetch_add(1, Ordering::Relaxed);
        let first = turn % candidates.len().max(1);
        candidates.rotate_left(first);
        if broker.is_none() {
            candidates.extend(self.client.servers().iter().cloned());
        }
        // One that does not respond leaves time for the others.
        let share = self.limits.setup / u32::try_from(candidates.len()).unwrap_or(u32::MAX).max(1);
        let mut failure = Error::new(Kind::Connection, "the broker is not in the cluster");
        for endpoint in &candidates {
            let deadline = Some(Instant::now() + share);
            match connect_transport(endpoint, &self.settings, &self.environment, deadline).await {
                Ok(stream) => return Ok(stream),
                Err(error) => failure = error,
            }
        }
        self.refresh.notify_one();
        Err(failure)
    }
}

/// Accepts connections for a broker, or for the bootstrap address.
async fn accept(listener: TcpListener, shared: Arc<Shared>, broker: Option<i32>) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => start_session(stream, peer, &shared, broker),
            Err(error) => {
                tracing::warn!(target: "ottla.gateway", %error, "a connection cannot be accepted");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

fn start_session(stream: TcpStream, peer: SocketAddr, shared: &Arc<Shared>, broker: Option<i32>) {
    let Ok(permit) = Arc::clone(&shared.connections).try_acquire_owned() else {
        let max = shared.limits.connections;
        tracing::warn!(target: "ottla.gateway", %peer, max, "too many connections: this one is closed");
        return;
    };
    let id = shared.next_session.fetch_add(1, Ordering::Relaxed);
    let status = Arc::new(SessionStatus::new(id, peer, broker));
    // Locked until the session is in the table, from which it removes itself at its end.
    let mut sessions = shared.sessions.lock();
    let running = Arc::clone(shared);
    let in_session = Arc::clone(&status);
    let task = tokio::spawn(async move {
        let _permit = permit;
        let _entry = Entry { shared: Arc::clone(&running), id };
        serve(stream, &running, broker, &in_session).await;
    });
    sessions.insert(id, (status, task.abort_handle()));
}

/// Removes a session from the table, however it ends.
struct Entry {
    shared: Arc<Shared>,
    id: u64,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.shared.sessions.lock().remove(&self.id);
    }
}

async fn serve(stream: TcpStream, shared: &Arc<Shared>, broker: Option<i32>, status: &Arc<SessionStatus>) {
    let mut draining = shared.draining.subscribe();
    let connecting = timeout(shared.limits.setup, shared.open(stream, broker, status));
    let connected = tokio::select! {
        connected = connecting => connected,
        // Nothing is in flight.
        _ = draining.wait_for(|draining| *draining) => return,
    };
    let (client, connected) = match connected {
        Ok(Ok(opened)) => opened,
        Ok(Err(error)) => {
            tracing::debug!(target: "ottla.gateway", session = status.id(), peer = %status.peer(), %error, "the connection is closed");
            return;
        }
        Err(_) => {
            tracing::debug!(target: "ottla.gateway", session = status.id(), peer = %status.peer(), "the connection was not set up in time");
            return;
        }
    };
    let mut book = Book(shared);
    let end =
        session::run(client, connected, &shared.limits, &shared.pool, status, &mut book, draining).await;
    tracing::debug!(target: "ottla.gateway", session = status.id(), peer = %status.peer(), %end, "the session ended");
}

/// Why a connection was not set up.
#[derive(Debug, thiserror::Error)]
enum SetupError {
    #[error("the TLS handshake with the client failed: {0}")]
    Tls(io::Error),
    #[error("the broker cannot be reached: {0}")]
    Broker(Error),
}

impl Shared {
    /// Sets up both sides of a session.
    async fn open(
        &self,
        stream: TcpStream,
        broker: Option<i32>,
        status: &SessionStatus,
    ) -> Result<(Box<dyn Stream>, Box<dyn Stream>), SetupError> {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(target: "ottla.gateway", %error, "a socket has no TCP_NODELAY");
        }
        let client: Box<dyn Stream> = Box::new(stream);
        let (client, broker) = match &self.tls {
            None => (client, broker),
            Some(tls) => {
                let accepted = tls.accept(client).await.map_err(SetupError::Tls)?;
                let named = accepted.server_name.and_then(|name| self.addresses.broker_of(&name));
                (accepted.stream, broker.or(named))
            }
        };
        status.set_broker(broker);
        let connected = self.connect(broker).await.map_err(SetupError::Broker)?;
        Ok((client, connected))
    }
}

/// Gives the addresses of brokers, and opens the listener of one that is new.
struct Book<'a>(&'a Arc<Shared>);

impl AddressBook for Book<'_> {
    fn translate(&mut self, broker: i32, host: &str, port: i32) -> Option<Endpoint> {
        let port = u16::try_from(port).ok()?;
        self.0.advertise(broker, host, port)
    }
}

impl Shared {
    /// Records a broker of the cluster, and returns its address behind the gateway once a listener is open there.
    pub(crate) fn advertise(self: &Arc<Self>, broker: i32, host: &str, port: u16) -> Option<Endpoint> {
        let address = match self.addresses.of(broker) {
            Ok(address) => address,
            Err(error) => {
                self.warn_of_missing_address(broker, &error);
                return None;
            }
        };
        if let Some(change) = self.brokers.observe(broker, host, port) {
            self.apply(&change);
        }
        match self.open_listener(broker, address.port) {
            Ok(port) => {
                self.without_address.lock().remove(&broker);
                Some(Endpoint { port, ..address })
            }
            Err(error) => {
                let message = format!("port {} cannot be opened: {error}", address.port);
                self.warn_of_missing_address(broker, &message);
                None
            }
        }
    }

    /// Warns once of a broker that clients cannot reach, until it has an address.
    fn warn_of_missing_address(&self, broker: i32, why: &dyn std::fmt::Display) {
        let mut known = self.without_address.lock();
        if known.len() < WITHOUT_ADDRESS_MAX && known.insert(broker) {
            tracing::warn!(target: "ottla.gateway", broker, "the broker has no address here, so that clients cannot reach it: {why}");
        }
    }
}

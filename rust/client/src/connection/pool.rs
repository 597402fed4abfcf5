//! The connection pool: at most one connection per broker, role and owner, and besides it one per former
//! address of the broker while requests still use it (`pool_slot.rs`).
//!
//! Invariants: connecting is single-flight per slot and runs in a task of its own: a caller that gives
//! up does not cancel it for others, and all waiters get the same result. After a failure, the next
//! attempt waits for the backoff. No connection is opened after `close`.

use std::collections::HashMap;
use std::convert::Infallible;
use std::future::pending;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use ottla_protocol::ApiKey;
use parking_lot::RwLock;
use tokio::sync::{Notify, broadcast, watch};
use tokio::time::{Duration, Instant, sleep, sleep_until};

use super::settings::ExpectedPeer;
use super::{Connection, ConnectionRole, Owner, Settings, SetupProgress, Status, connect};
use crate::connection::pool_slot::{ConnectOutcome, PoolKey, PoolSlot, RunningAttempt};
use crate::connection::unreachable_brokers::UnreachableBroker;
use crate::endpoint::Endpoint;
use crate::environment::Environment;
use crate::error::{Error, Kind, Result};
use crate::metadata::Event;
use crate::retry::awaited::Awaiting;
use crate::retry::backoff::Backoff;
use crate::tasks::panics::try_catch;

/// What [`Pool::supporting`] finds.
#[derive(Debug)]
pub(crate) enum SupportingConnection {
    Found(Arc<Connection>),
    /// Brokers are connected, and none supports the API.
    Unsupported,
    NotConnected,
}

/// The connections of one client.
#[derive(Debug)]
pub struct Pool {
    slots: RwLock<HashMap<PoolKey, Arc<PoolSlot>>>,
    owners: AtomicU32,
    settings: Settings,
    backoff: Backoff,
    environment: Environment,
    events: broadcast::Sender<Event>,
    lost: Arc<Notify>,
    closed: AtomicBool,
    /// The id of the cluster whose brokers are connected to; `None` if it is unknown or not checked.
    cluster_id: RwLock<Option<Arc<str>>>,
}

impl Pool {
    /// Creates an empty pool, which publishes opened and lost connections in `events`.
    pub fn new(
        settings: Settings,
        backoff: Backoff,
        environment: Environment,
        events: broadcast::Sender<Event>,
    ) -> Self {
        let closed = AtomicBool::new(false);
        Self {
            slots: RwLock::default(),
            owners: AtomicU32::new(Owner::CLIENT.0),
            settings,
            backoff,
            environment,
            events,
            lost: Arc::default(),
            closed,
            cluster_id: RwLock::default(),
        }
    }

    /// Expects brokers of this cluster from now on (KIP-1242).
    pub(crate) fn expect_cluster(&self, id: Option<&str>) {
        if self.cluster_id.read().as_deref() != id {
            *self.cluster_id.write() = id.map(Arc::from);
        }
    }

    /// Notified when a connection is lost: its broker may not lead its partitions any more.
    pub fn lost(&self) -> Arc<Notify> {
        Arc::clone(&self.lost)
    }

    /// Creates an owner of connections that no other owner shares.
    pub fn new_owner(&self) -> Owner {
        Owner(self.owners.fetch_add(1, Ordering::Relaxed).wrapping_add(1))
    }

    /// Drops the connections of an owner. Requests in flight still get their responses.
    pub fn remove_owner(&self, owner: Owner) {
        self.slots.write().retain(|(_, _, other), _| *other != owner);
    }

    fn slot(&self, key: PoolKey) -> Result<Arc<PoolSlot>> {
        if let Some(slot) = self.slots.read().get(&key) {
            return Ok(Arc::clone(slot));
        }
        let mut slots = self.slots.write();
        // Checked under the lock, so that `close` cannot miss a slot.
        if self.closed.load(Ordering::Acquire) {
            return Err(closed_error());
        }
        Ok(Arc::clone(slots.entry(key).or_default()))
    }

    /// Returns the connection to a broker if it is open.
    pub(crate) fn open(
        &self,
        broker: i32,
        (role, owner): (ConnectionRole, Owner),
        endpoint: &Endpoint,
    ) -> Option<Arc<Connection>> {
        let slot = Arc::clone(self.slots.read().get(&(broker, role, owner))?);
        slot.alive().filter(|connection| connection.endpoint() == endpoint)
    }

    /// Returns the connection to a broker, and opens it if necessary. The caller limits the time.
    pub async fn get(
        &self,
        broker: i32,
        (role, owner): (ConnectionRole, Owner),
        endpoint: &Endpoint,
    ) -> Result<Arc<Connection>> {
        let slot = self.slot((broker, role, owner))?;
        if let Some(connection) = slot.alive().filter(|connection| connection.endpoint() == endpoint) {
            return Ok(connection);
        }
        let mut outcome = self.attempt(broker, &slot, endpoint)?;
        let awaiting = Awaiting::begin(|| {
            let unreachable = UnreachableBroker { broker, endpoint, settings: &self.settings };
            match (slot.progress(), slot.last_error.lock().clone()) {
                // Between two attempts, the failure of the first says more.
                (None, Some(failed)) => failed,
                (progress, _) => unreachable.unended(&progress.unwrap_or_default()),
            }
        });
        let waited = outcome.wait_for(Option::is_some).await;
        awaiting.end();
        if let Ok(outcome) = waited
            && let Some(outcome) = &*outcome
        {
            return outcome.clone();
        }
        if self.closed.load(Ordering::Acquire) {
            return Err(closed_error());
        }
        let message = "the broker's address changed during the attempt to connect";
        Err(Error::new(Kind::Connection, message).broker(broker).address(endpoint.to_string()))
    }

    /// Joins the attempt that is running, or starts one.
    fn attempt(
        &self,
        broker: i32,
        slot: &Arc<PoolSlot>,
        endpoint: &Endpoint,
    ) -> Result<watch::Receiver<ConnectOutcome>> {
        let mut attempts = slot.attempts.lock();
        if self.closed.load(Ordering::Acquire) {
            return Err(closed_error());
        }
        slot.set_endpoint(&mut attempts, endpoint);
        // Checked under the lock, because an attempt stores its connection before it ends.
        if let Some(connection) = slot.established(&mut attempts) {
            return Ok(watch::channel(Some(Ok(connection))).1);
        }
        if let Some(running) = &attempts.running {
            return Ok(running.outcome.clone());
        }
        let (sender, receiver) = watch::channel(None);
        // Weak, so that an attempt does not keep its slot alive.
        let weak = Arc::downgrade(slot);
        let settings = self.settings_after(broker, attempts.failures);
        let progress = settings.progress.clone();
        let (endpoint, environment) = (endpoint.clone(), self.environment.clone());
        let (not_before, backoff) = (attempts.not_before, self.backoff);
        let failing_since = attempts.failing_since(Instant::now());
        let (events, lost) = (self.events.clone(), Arc::clone(&self.lost));
        let task = tokio::spawn(async move {
            if let Some(not_before) = not_before {
                sleep_until(not_before).await;
            }
            let unreachable = UnreachableBroker { broker, endpoint: &endpoint, settings: &settings };
            let connecting = connect(&endpoint, &settings, &environment, None);
            let connecting = unreachable.report_while(connecting, failing_since);
            // Without this, a panic would leave the waiters without a result and prevent further
            // attempts.
            let connected = try_catch("an attempt to connect", connecting).await;
            let Some(slot) = weak.upgrade() else { return };
            let mut attempts = slot.attempts.lock();
            // An attempt that is cancelled just as it ends can no longer be aborted.
            if !attempts.is_current_task() {
                return;
            }
            attempts.latest = settings.progress.clone();
            let outcome = match connected {
                Ok(connection) => {
                    slot.store(&mut attempts, &connection);
                    unreachable.record_success();
                    monitor(broker, &slot, &connection, events, lost);
                    Ok(connection)
                }
                Err(error) => {
                    let error = unreachable.explain(error);
                    unreachable.report(&error, failing_since);
                    attempts.failures += 1;
                    let wait = backoff.after(attempts.failures, environment.random());
                    attempts.not_before = Some(Instant::now() + wait);
                    tracing::debug!(target: "ottla.connection", broker, failures = attempts.failures, %error, "cannot connect");
                    *slot.last_error.lock() = Some(error.clone());
                    let address = endpoint.to_string();
                    // An error only says that there is no subscriber.
                    let _ = events.send(Event::ConnectionLost { broker, address, cause: error.clone() });
                    Err(error)
                }
            };
            attempts.running = None;
            drop(attempts);
            sender.send_replace(Some(outcome));
        });
        attempts.running =
            Some(RunningAttempt { outcome: receiver.clone(), progress, task: task.abort_handle() });
        Ok(receiver)
    }

    /// The settings for an attempt after `failures` consecutive failures: each attempt has more time
    /// than the one before (KIP-601), so that a slow network does not fail for ever.
    fn settings_after(&self, broker: i32, failures: u32) -> Settings {
        let mut settings = self.settings.for_attempt(SetupProgress::default());
        let cluster_id = self.cluster_id.read().clone();
        settings.expected = cluster_id.map(|cluster_id| ExpectedPeer { cluster_id, node_id: broker });
        if failures > 0 {
            let first = settings.setup_timeout;
            let growing = Backoff { first, max: settings.setup_timeout_max.max(first) };
            settings.setup_timeout = growing.after(failures.saturating_add(1), self.environment.random());
        }
        settings
    }

    /// Adds a connection that was opened before the broker's id was known.
    pub fn adopt(&self, broker: i32, connection: Arc<Connection>) {
        let Ok(slot) = self.slot((broker, ConnectionRole::Data, Owner::CLIENT)) else { return };
        // Under the same lock as the end of an attempt, so that a broker gets one connection and not
        // two.
        let mut attempts = slot.attempts.lock();
        if slot.alive().is_some() || attempts.running.is_some() {
            return;
        }
        slot.set_endpoint(&mut attempts, connection.endpoint());
        if slot.established(&mut attempts).is_none() {
            slot.store(&mut attempts, &connection);
            attempts.latest = connection.settings.progress.clone();
            monitor(broker, &slot, &connection, self.events.clone(), Arc::clone(&self.lost));
        }
    }

    /// A broker with a live shared connection, preferring the one with the fewest requests in flight.
    #[must_use]
    pub fn least_busy(&self) -> Option<(i32, Arc<Connection>)> {
        let slots = self.slots.read();
        let shared = slots
            .iter()
            .filter(|((_, role, owner), _)| (*role, *owner) == (ConnectionRole::Data, Owner::CLIENT));
        let live = shared.filter_map(|((broker, ..), slot)| Some((*broker, slot.alive()?)));
        live.min_by_key(|(broker, connection)| (connection.in_flight(), *broker))
    }

    /// A live connection to a broker that supports an API: the least busy of those that clients share, or
    /// else one of an owner. Opens none.
    pub(crate) fn supporting(&self, api: ApiKey) -> SupportingConnection {
        let slots = self.slots.read();
        let data = slots.iter().filter(|((_, role, _), _)| *role == ConnectionRole::Data);
        let live: Vec<_> = data
            .filter_map(|((broker, _, owner), slot)| Some((*owner != Owner::CLIENT, *broker, slot.alive()?)))
            .collect();
        let is_connected = !live.is_empty();
        let supporting = live
            .into_iter()
            .filter(|(.., connection)| connection.apis().iter().any(|range| range.api == api));
        let best =
            supporting.min_by_key(|(owned, broker, connection)| (*owned, connection.in_flight(), *broker));
        match best {
            Some((.., connection)) => SupportingConnection::Found(connection),
            None if is_connected => SupportingConnection::Unsupported,
            None => SupportingConnection::NotConnected,
        }
    }

    /// Drops the connections to brokers that left the cluster. Requests in flight still get their
    /// responses; a broker that returns before then gets its connection back.
    ///
    /// An unresponsive broker that the cluster has fenced (KRaft) does not respond before its clients
    /// have moved to other brokers: its connections are closed at once.
    pub fn retain(&self, is_member: impl Fn(i32) -> bool) {
        let slots = self.slots.read();
        let left = slots.iter().filter(|((broker, ..), _)| !is_member(*broker));
        let left: Vec<_> = left.map(|((broker, ..), slot)| (*broker, Arc::clone(slot))).collect();
        drop(slots);
        // Not under the lock: who gets the error of a request may send the next one at once, over another connection.
        for (broker, slot) in left {
            slot.close_hung(broker);
        }
        self.slots.write().retain(|(broker, ..), slot| is_member(*broker) || slot.mark_left());
    }

    /// Closes all connections.
    pub fn close(&self) {
        let slots = {
            let mut slots = self.slots.write();
            self.closed.store(true, Ordering::Release);
            std::mem::take(&mut *slots)
        };
        for slot in slots.into_values() {
            slot.close();
        }
    }

    /// The state of all connections to brokers in the cluster, by broker, role and owner.
    #[must_use]
    pub fn status(&self) -> Vec<Status> {
        let slots = self.slots.read();
        let members = slots.iter().filter(|(_, slot)| !slot.has_left());
        let mut all: Vec<Status> = members.map(|(key, slot)| slot.status(*key)).collect();
        all.sort_by_key(|status| (status.broker, status.role, status.owner));
        all
    }
}

/// Publishes that a connection is open, closes it when it is idle, and publishes when it is closed.
fn monitor(
    broker: i32,
    slot: &Arc<PoolSlot>,
    connection: &Arc<Connection>,
    events: broadcast::Sender<Event>,
    lost: Arc<Notify>,
) {
    connection.set_node(broker);
    let address = connection.address().to_owned();
    let _ = events.send(Event::ConnectionOpened { broker, address: address.clone() });
    let (ended, max_idle) = (connection.closed(), connection.settings.max_idle);
    let (slot, connection) = (Arc::downgrade(slot), Arc::downgrade(connection));
    tokio::spawn(async move {
        let mut ended = std::pin::pin!(ended);
        let (cause, idle) = tokio::select! {
            biased;
            cause = &mut ended => (cause, false),
            () = release_when_idle(&slot, &connection, max_idle) => (ended.await, true),
            never = request_refresh_while_hung(&connection, &lost) => match never {},
        };
        let _ = events.send(Event::ConnectionLost { broker, address, cause: cause.broker(broker) });
        if !idle {
            lost.notify_one();
        }
    });
}

/// Requests metadata refreshes while a broker does not respond: the other brokers know whether it is
/// still in the cluster, and which broker leads its partitions now.
async fn request_refresh_while_hung(connection: &Weak<Connection>, lost: &Notify) -> Infallible {
    loop {
        sleep(HUNG_CHECK_INTERVAL).await;
        match connection.upgrade() {
            Some(connection) if connection.is_hung() => lost.notify_one(),
            Some(_) => {}
            None => pending().await,
        }
    }
}

/// Takes a connection out of its slot when it has been idle for too long. Callers that have just got it
/// can still use it; it closes when they drop it.
async fn release_when_idle(slot: &Weak<PoolSlot>, connection: &Weak<Connection>, max_idle: Duration) {
    let mut wait = max_idle;
    loop {
        sleep(wait).await;
        let Some(connection) = connection.upgrade() else { return };
        let idle = connection.idle_time();
        if idle >= max_idle {
            connection.retire(format!("not used for connections.max.idle.ms ({} ms)", max_idle.as_millis()));
            if let Some(slot) = slot.upgrade() {
                // Only this connection: a newer one may have been stored.
                slot.current.compare_and_swap(&connection, None);
            }
            return;
        }
        wait = (max_idle - idle).max(Duration::from_millis(1));
    }
}

/// How often a connection is checked for an unresponsive broker.
const HUNG_CHECK_INTERVAL: Duration = Duration::from_secs(1);

fn closed_error() -> Error {
    Error::new(Kind::Closed, "this client was closed")
}

/// The error for a broker that is not in the metadata.
#[must_use]
pub fn unknown_broker(broker: i32) -> Error {
    let message = format!("broker {broker} is not in the cluster's metadata: it is down, or was removed");
    Error::new(Kind::Connection, message).broker(broker)
}

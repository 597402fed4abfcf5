//! The connections: at most one per broker (and, later, one more per coordinator role).
//!
//! Invariants: connecting is single-flight per broker, in a task of its own: who gives up waiting
//! does not undo what others wait for, and all who wait get the same outcome. A broker that could
//! not be reached is left alone for its backoff. After `close` no connection is made.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwapOption;
use parking_lot::{Mutex, RwLock};
use tokio::sync::{Notify, broadcast, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until};

use super::{Connection, Endpoint, Settings, connect};
use crate::backoff::Backoff;
use crate::environment::Environment;
use crate::error::{Error, Kind, Result};
use crate::metadata::Event;

/// A connection's state, for people.
#[derive(Debug, Clone)]
pub struct Status {
    /// The broker.
    pub broker: i32,
    /// Its address, as `host:port`.
    pub address: String,
    /// Whether the connection is up.
    pub connected: bool,
    /// Requests that wait for an answer.
    pub in_flight: usize,
    /// The last failure.
    pub last_error: Option<Error>,
}

/// What came of an attempt to connect; nothing yet while it lasts.
type Outcome = Option<Result<Arc<Connection>>>;

/// One broker's place in the pool.
#[derive(Debug, Default)]
struct Slot {
    current: ArcSwapOption<Connection>,
    attempts: Mutex<Attempts>,
    last_error: Mutex<Option<Error>>,
}

#[derive(Debug, Default)]
struct Attempts {
    failures: u32,
    not_before: Option<Instant>,
    endpoint: Option<Endpoint>,
    /// The attempt under way.
    running: Option<(watch::Receiver<Outcome>, AbortHandle)>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.stop_connecting();
    }
}

impl Slot {
    fn stop_connecting(&self) {
        if let Some((_, task)) = self.attempts.lock().running.take() {
            task.abort();
        }
    }
}

/// The connections of one client.
#[derive(Debug)]
pub struct Pool {
    slots: RwLock<HashMap<i32, Arc<Slot>>>,
    settings: Settings,
    backoff: Backoff,
    environment: Environment,
    events: broadcast::Sender<Event>,
    lost: Arc<Notify>,
    closed: AtomicBool,
}

impl Pool {
    /// An empty pool, which announces in `events` what becomes of its connections.
    pub fn new(
        settings: Settings,
        backoff: Backoff,
        environment: Environment,
        events: broadcast::Sender<Event>,
    ) -> Self {
        let closed = AtomicBool::new(false);
        Self {
            slots: RwLock::default(),
            settings,
            backoff,
            environment,
            events,
            lost: Arc::default(),
            closed,
        }
    }

    /// Told when a connection was lost: its broker may not lead any more what it led.
    pub fn lost(&self) -> Arc<Notify> {
        Arc::clone(&self.lost)
    }

    fn slot(&self, broker: i32) -> Result<Arc<Slot>> {
        if let Some(slot) = self.slots.read().get(&broker) {
            return Ok(Arc::clone(slot));
        }
        let mut slots = self.slots.write();
        // Looked at under the lock, so that closing cannot miss a slot.
        if self.closed.load(Ordering::Acquire) {
            return Err(closed());
        }
        Ok(Arc::clone(slots.entry(broker).or_default()))
    }

    /// The connection to a broker, made if there is none. The caller bounds the time.
    pub async fn get(&self, broker: i32, endpoint: &Endpoint) -> Result<Arc<Connection>> {
        let slot = self.slot(broker)?;
        if let Some(connection) = alive(&slot) {
            if connection.endpoint() == endpoint {
                return Ok(connection);
            }
            // The broker lives elsewhere now. Who still uses the old connection keeps it.
            slot.current.compare_and_swap(&connection, None);
        }
        let mut outcome = self.attempt(broker, &slot, endpoint)?;
        if let Ok(outcome) = outcome.wait_for(Option::is_some).await
            && let Some(outcome) = &*outcome
        {
            return outcome.clone();
        }
        if self.closed.load(Ordering::Acquire) {
            return Err(closed());
        }
        let words = "the broker moved to another address while it was connected to";
        Err(Error::new(Kind::Connection, words).broker(broker).address(endpoint.to_string()))
    }

    /// The attempt that is under way, or a new one.
    fn attempt(
        &self,
        broker: i32,
        slot: &Arc<Slot>,
        endpoint: &Endpoint,
    ) -> Result<watch::Receiver<Outcome>> {
        let mut attempts = slot.attempts.lock();
        if self.closed.load(Ordering::Acquire) {
            return Err(closed());
        }
        if attempts.endpoint.as_ref() != Some(endpoint) {
            // A broker at another address is another chance.
            if let Some((_, task)) = attempts.running.take() {
                task.abort();
            }
            *attempts = Attempts { endpoint: Some(endpoint.clone()), ..Attempts::default() };
        }
        // Under the lock, because an attempt stores its connection before it says that it is over.
        if let Some(connection) = alive(slot) {
            return Ok(watch::channel(Some(Ok(connection))).1);
        }
        if let Some((running, _)) = &attempts.running {
            return Ok(running.clone());
        }
        let (sender, receiver) = watch::channel(None);
        // Weakly, so that an attempt does not keep its slot alive.
        let weak = Arc::downgrade(slot);
        let (endpoint, settings, environment) =
            (endpoint.clone(), self.settings.clone(), self.environment.clone());
        let (not_before, backoff) = (attempts.not_before, self.backoff);
        let (events, lost) = (self.events.clone(), Arc::clone(&self.lost));
        let task = tokio::spawn(async move {
            if let Some(not_before) = not_before {
                sleep_until(not_before).await;
            }
            let connected = connect(&endpoint, &settings, &environment, None).await;
            let Some(slot) = weak.upgrade() else { return };
            let mut attempts = slot.attempts.lock();
            let outcome = match connected {
                Ok(connection) => {
                    (attempts.failures, attempts.not_before) = (0, None);
                    slot.current.store(Some(Arc::clone(&connection)));
                    announce(broker, &connection, events, lost);
                    Ok(connection)
                }
                Err(error) => {
                    let error = error.broker(broker);
                    attempts.failures += 1;
                    let wait = backoff.after(attempts.failures, environment.random());
                    attempts.not_before = Some(Instant::now() + wait);
                    tracing::info!(target: "ottla.connection", broker, failures = attempts.failures, %error, "cannot connect");
                    *slot.last_error.lock() = Some(error.clone());
                    let address = endpoint.to_string();
                    // Who has stopped listening does not miss it.
                    let _ = events.send(Event::ConnectionLost { broker, address, cause: error.clone() });
                    Err(error)
                }
            };
            attempts.running = None;
            drop(attempts);
            sender.send_replace(Some(outcome));
        });
        attempts.running = Some((receiver.clone(), task.abort_handle()));
        Ok(receiver)
    }

    /// Takes over a connection that was made before the broker's id was known.
    pub fn adopt(&self, broker: i32, connection: Arc<Connection>) {
        if let Ok(slot) = self.slot(broker)
            && alive(&slot).is_none()
        {
            slot.current.store(Some(Arc::clone(&connection)));
            announce(broker, &connection, self.events.clone(), Arc::clone(&self.lost));
        }
    }

    /// A broker with a live connection, preferring the one with the fewest requests in flight.
    #[must_use]
    pub fn least_busy(&self) -> Option<(i32, Arc<Connection>)> {
        let slots = self.slots.read();
        let live = slots.iter().filter_map(|(broker, slot)| Some((*broker, alive(slot)?)));
        live.min_by_key(|(broker, connection)| (connection.in_flight(), *broker))
    }

    /// Drops the connections to brokers that are not in the cluster any more. Who is using one
    /// keeps it until its answers are there.
    pub fn retain(&self, is_member: impl Fn(i32) -> bool) {
        self.slots.write().retain(|broker, _| is_member(*broker));
    }

    /// Ends all connections.
    pub fn close(&self) {
        let slots = {
            let mut slots = self.slots.write();
            self.closed.store(true, Ordering::Release);
            std::mem::take(&mut *slots)
        };
        for slot in slots.into_values() {
            slot.stop_connecting();
            if let Some(connection) = slot.current.load_full() {
                connection.close();
            }
        }
    }

    /// The state of all connections, by broker.
    #[must_use]
    pub fn status(&self) -> Vec<Status> {
        let slots = self.slots.read();
        let status = |(broker, slot): (&i32, &Arc<Slot>)| {
            let connection = slot.current.load_full();
            let died = connection.as_ref().and_then(|connection| connection.cause_of_death());
            Status {
                broker: *broker,
                address: connection
                    .as_ref()
                    .map(|connection| connection.address().to_owned())
                    .unwrap_or_default(),
                connected: connection.is_some() && died.is_none(),
                in_flight: connection.as_ref().map_or(0, |connection| connection.in_flight()),
                last_error: died.or_else(|| slot.last_error.lock().clone()),
            }
        };
        let mut all: Vec<Status> = slots.iter().map(status).collect();
        all.sort_by_key(|status| status.broker);
        all
    }
}

/// The slot's connection if it lives; a dead one is dropped and its cause kept.
fn alive(slot: &Slot) -> Option<Arc<Connection>> {
    let connection = slot.current.load_full()?;
    match connection.cause_of_death() {
        None => Some(connection),
        Some(cause) => {
            *slot.last_error.lock() = Some(cause);
            // Only this one: another may have been stored meanwhile.
            slot.current.compare_and_swap(&connection, None);
            None
        }
    }
}

/// Says that a connection is up, and when it has ended.
fn announce(broker: i32, connection: &Connection, events: broadcast::Sender<Event>, lost: Arc<Notify>) {
    let address = connection.address().to_owned();
    let _ = events.send(Event::ConnectionOpened { broker, address: address.clone() });
    let ended = connection.ended();
    tokio::spawn(async move {
        let cause = ended.await.broker(broker);
        let _ = events.send(Event::ConnectionLost { broker, address, cause });
        lost.notify_one();
    });
}

fn closed() -> Error {
    Error::new(Kind::Closed, "this client was closed")
}

/// The error for a broker that the metadata does not know.
#[must_use]
pub fn unknown_broker(broker: i32) -> Error {
    Error::new(Kind::Connection, format!("broker {broker} is not in the cluster's metadata")).broker(broker)
}

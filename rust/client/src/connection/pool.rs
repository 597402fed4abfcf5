//! The connections: at most one per broker (and, later, one more per coordinator role).
//!
//! Invariants: connecting is single-flight per broker; a broker that could not be reached is left
//! alone for its backoff, and whoever asks meanwhile gets the last cause instead of a new attempt.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use parking_lot::RwLock;
use tokio::time::{Instant, sleep_until};

use super::{Connection, Endpoint, Settings, connect};
use crate::backoff::Backoff;
use crate::environment::Environment;
use crate::error::{Error, Kind, Result};

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

/// One broker's place in the pool.
#[derive(Debug)]
struct Slot {
    current: ArcSwapOption<Connection>,
    /// Held while connecting.
    attempts: tokio::sync::Mutex<Attempts>,
    last_error: parking_lot::Mutex<Option<Error>>,
}

#[derive(Debug, Default)]
struct Attempts {
    failures: u32,
    not_before: Option<Instant>,
    endpoint: Option<Endpoint>,
}

/// The connections of one client.
#[derive(Debug)]
pub struct Pool {
    slots: RwLock<HashMap<i32, Arc<Slot>>>,
    settings: Settings,
    backoff: Backoff,
    environment: Environment,
}

impl Pool {
    /// An empty pool.
    pub fn new(settings: Settings, backoff: Backoff, environment: Environment) -> Self {
        Self { slots: RwLock::default(), settings, backoff, environment }
    }

    fn slot(&self, broker: i32) -> Arc<Slot> {
        if let Some(slot) = self.slots.read().get(&broker) {
            return Arc::clone(slot);
        }
        let empty = || Slot {
            current: ArcSwapOption::empty(),
            attempts: Default::default(),
            last_error: Default::default(),
        };
        Arc::clone(self.slots.write().entry(broker).or_insert_with(|| Arc::new(empty())))
    }

    /// The connection to a broker, made if there is none. The caller bounds the time.
    pub async fn get(&self, broker: i32, endpoint: &Endpoint) -> Result<Arc<Connection>> {
        let slot = self.slot(broker);
        if let Some(connection) = alive(&slot) {
            return Ok(connection);
        }
        let mut attempts = slot.attempts.lock().await;
        // Somebody else may have connected while this call waited for its turn.
        if let Some(connection) = alive(&slot) {
            return Ok(connection);
        }
        if attempts.endpoint.as_ref() != Some(endpoint) {
            // A broker at another address is another chance.
            *attempts = Attempts { endpoint: Some(endpoint.clone()), ..Attempts::default() };
        }
        if let Some(not_before) = attempts.not_before {
            sleep_until(not_before).await;
        }
        match connect(endpoint, &self.settings, &self.environment).await {
            Ok(connection) => {
                let connection = Arc::new(connection);
                attempts.failures = 0;
                attempts.not_before = None;
                slot.current.store(Some(Arc::clone(&connection)));
                Ok(connection)
            }
            Err(error) => {
                let error = error.broker(broker);
                attempts.failures += 1;
                attempts.not_before =
                    Some(Instant::now() + self.backoff.after(attempts.failures, self.environment.random()));
                tracing::info!(target: "ottla.connection", broker, failures = attempts.failures, %error, "cannot connect");
                *slot.last_error.lock() = Some(error.clone());
                Err(error)
            }
        }
    }

    /// Takes over a connection that was made before the broker's id was known.
    pub fn adopt(&self, broker: i32, connection: Arc<Connection>) {
        let slot = self.slot(broker);
        if alive(&slot).is_none() {
            slot.current.store(Some(connection));
        }
    }

    /// A broker with a live connection, preferring the one with the fewest requests in flight.
    #[must_use]
    pub fn least_busy(&self) -> Option<(i32, Arc<Connection>)> {
        let slots = self.slots.read();
        let live = slots.iter().filter_map(|(broker, slot)| Some((*broker, alive(slot)?)));
        live.min_by_key(|(broker, connection)| (connection.in_flight(), *broker))
    }

    /// Drops the connections to brokers that are not in the cluster any more.
    pub fn retain(&self, is_member: impl Fn(i32) -> bool) {
        self.slots.write().retain(|broker, _| is_member(*broker));
    }

    /// Ends all connections.
    pub fn close(&self) {
        self.slots.write().clear();
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

/// The error for a broker that the metadata does not know.
#[must_use]
pub fn unknown_broker(broker: i32) -> Error {
    Error::new(Kind::Connection, format!("broker {broker} is not in the cluster's metadata")).broker(broker)
}

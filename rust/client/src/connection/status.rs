//! The state of connections, for people.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::Duration;

use crate::error::{Error, Phase};

/// Which of its connections to a broker a client uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConnectionRole {
    /// For its partitions, and everything that any broker can answer.
    Data,
    /// For its groups and transactions: a heartbeat never waits behind a fetch's long poll.
    Coordinator,
}

/// Whose connections they are: the client's, which all its users share, or those of one user. Brokers
/// work off one request of a connection at a time, so whoever lets them wait should wait alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner(pub(crate) u32);

impl Owner {
    /// The client itself.
    pub const CLIENT: Self = Self(0);
}

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionState {
    /// It is up.
    Connected,
    /// It comes up.
    Connecting,
    /// It failed, and is left alone for its backoff before the next attempt.
    BackingOff,
    /// It is down, and nobody needs it now.
    Disconnected,
}

/// A connection's state.
#[derive(Debug, Clone)]
pub struct Status {
    /// The broker.
    pub broker: i32,
    /// Which of its connections.
    pub role: ConnectionRole,
    /// Whose it is.
    pub owner: Owner,
    /// Its address, as `host:port`.
    pub address: String,
    /// What it is doing.
    pub state: ConnectionState,
    /// Where it is on its way up.
    pub phase: Option<Phase>,
    /// Requests that wait for an answer.
    pub in_flight: usize,
    /// How long an answer takes, smoothed; fetches do not count, since a broker lets them wait.
    pub round_trip: Option<Duration>,
    /// For how long the broker still wants no requests.
    pub throttled_for: Option<Duration>,
    /// The last failure.
    pub last_error: Option<Error>,
}

/// Where an attempt to connect is, told by who makes it.
#[derive(Debug, Clone, Default)]
pub(super) struct Progress(Arc<Mutex<Option<Phase>>>);

impl Progress {
    pub(super) fn enter(&self, phase: Phase) {
        *self.0.lock() = Some(phase);
    }

    pub(super) fn phase(&self) -> Option<Phase> {
        *self.0.lock()
    }
}

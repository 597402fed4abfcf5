//! The state of connections, as reported to the application.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::Duration;

use crate::error::{Error, Phase};

/// What a connection is for; a client has one per broker and role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConnectionRole {
    /// Partitions, and everything that any broker can serve.
    Data,
    /// Groups, so that a heartbeat never waits behind a fetch's long poll.
    Coordinator,
    /// Transactions, so that a commit never waits behind a member's JoinGroup.
    TransactionCoordinator,
}

/// The owner of a connection: the client, whose connections all users share, or one user. Brokers
/// process one request of a connection at a time, so a user whose requests make brokers wait has
/// connections of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner(pub(crate) u32);

impl Owner {
    /// The client, whose connections all users share.
    pub const CLIENT: Self = Self(0);
}

/// The state of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionState {
    /// The connection is open.
    Connected,
    /// An attempt to connect is running.
    Connecting,
    /// The last attempt failed; the next one waits for the backoff.
    BackingOff,
    /// The connection is closed, and not needed at present.
    Disconnected,
}

/// A connection and its state.
#[derive(Debug, Clone)]
pub struct Status {
    /// The broker's id.
    pub broker: i32,
    /// The connection's role.
    pub role: ConnectionRole,
    /// The connection's owner.
    pub owner: Owner,
    /// The address, as `host:port`.
    pub address: String,
    /// The state.
    pub state: ConnectionState,
    /// The phase of the setup, while connecting.
    pub phase: Option<Phase>,
    /// The number of requests in flight.
    pub in_flight: usize,
    /// The smoothed round-trip time; without fetches, which a broker may delay.
    pub round_trip: Option<Duration>,
    /// How long the broker still wants no requests (KIP-219).
    pub throttled_for: Option<Duration>,
    /// The last error.
    pub last_error: Option<Error>,
}

/// The phase of an attempt to connect, updated by the task that runs it.
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

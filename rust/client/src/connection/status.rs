//! The state of connections, as reported to the application.

use ottla_protocol::ApiKey;
use tokio::time::Duration;

use crate::error::{Error, Phase};

/// The role of a connection. A client has one connection per broker and role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConnectionRole {
    /// Finding the cluster: an attempt to connect to a bootstrap server. Never in the pool.
    Bootstrap,
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

/// The broker of a connection to a bootstrap server, whose id is not known yet. Kafka's Java client numbers
/// bootstrap servers with negative ids too.
pub const UNKNOWN_BROKER: i32 = -1;

/// A connection and its state.
#[derive(Debug, Clone)]
pub struct Status {
    /// The broker's id; [`UNKNOWN_BROKER`] for a bootstrap server.
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
    /// The steps of the latest attempt to connect, in order, with the time that each took; while
    /// connecting, the last one is the current step. Of several addresses that are tried at the same time,
    /// these are the steps of the one that connected, or that got furthest.
    pub phases: Vec<(Phase, Duration)>,
    /// How long the connection has been open.
    pub connected_for: Option<Duration>,
    /// The highest version of each API that both sides support; empty if not connected.
    pub api_versions: Vec<(ApiKey, i16)>,
    /// The number of requests in flight.
    pub in_flight: usize,
    /// The smoothed round-trip time; without fetches, which a broker may delay.
    pub round_trip: Option<Duration>,
    /// How long the broker still wants no requests (KIP-219).
    pub throttled_for: Option<Duration>,
    /// The last error.
    pub last_error: Option<Error>,
}

//! [`Limits`]: how much of the gateway a client may use, and for how long.

use std::time::Duration;

/// How much of the gateway a client may use, and for how long.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The client connections at one time. More are closed when they are accepted. Default: 10,000.
    pub connections: usize,
    /// The connections from one address at one time. Default: as many as there may be.
    pub connections_per_address: usize,
    /// The longest request in bytes; Kafka's default of `socket.request.max.bytes`, 100 MiB.
    pub request_max: usize,
    /// The requests of a connection without a response; no more are read before one has its response. Default: 1,000.
    pub in_flight: usize,
    /// How long nothing may move on a connection. Default: 11 minutes, so that brokers with the default of
    /// `connections.max.idle.ms`, 10 minutes, close it first.
    pub idle: Duration,
    /// How long a connection may take until it is set up: TLS and login of the client, the connection to the broker,
    /// and the first whole request. Default: 30 s.
    pub setup: Duration,
    /// How long the last bytes of a connection may take. Default: 5 s.
    pub closing: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 10_000,
            connections_per_address: usize::MAX,
            request_max: 100 * 1024 * 1024,
            in_flight: 1_000,
            idle: Duration::from_secs(11 * 60),
            setup: Duration::from_secs(30),
            closing: Duration::from_secs(5),
        }
    }
}

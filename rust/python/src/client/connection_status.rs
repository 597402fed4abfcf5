//! `ConnectionStatus`: the result of `connections()` of every client, producer and consumer.

use ottla_client::connection::{ConnectionRole, ConnectionState, Status};
use pyo3::prelude::*;

/// The state of a connection at the time of the call.
///
/// A client has at most two connections to a broker: one for data, and one for the groups and
/// transactions that the broker coordinates. Consumers on a shared client have connections of their
/// own.
#[pyclass(frozen, get_all, module = "ottla")]
pub(crate) struct ConnectionStatus {
    /// The broker's id.
    broker: i32,
    /// The connection's purpose: ``data``, or ``coordinator`` for groups and transactions.
    role: &'static str,
    /// The broker's address as ``host:port``.
    address: String,
    /// ``connected``, ``connecting``, ``backing_off`` after a failure, or ``disconnected``.
    state: &'static str,
    /// The current step while ``connecting``, such as ``DNS`` or ``TLS``.
    phase: Option<String>,
    /// The number of requests in flight.
    in_flight: usize,
    /// The smoothed round-trip time in seconds, without fetches; None if unknown.
    round_trip_time: Option<f64>,
    /// The remaining throttle time in seconds (KIP-219), or None.
    throttled_for: Option<f64>,
    /// The message of the last failure; None if there was none.
    last_error: Option<String>,
}

impl From<Status> for ConnectionStatus {
    fn from(status: Status) -> Self {
        Self {
            broker: status.broker,
            role: match status.role {
                ConnectionRole::Data => "data",
                ConnectionRole::Coordinator => "coordinator",
                ConnectionRole::TransactionCoordinator => "transaction coordinator",
            },
            address: status.address,
            state: match status.state {
                ConnectionState::Connected => "connected",
                ConnectionState::Connecting => "connecting",
                ConnectionState::BackingOff => "backing_off",
                ConnectionState::Disconnected => "disconnected",
            },
            phase: status.phase.map(|phase| phase.to_string()),
            in_flight: status.in_flight,
            round_trip_time: status.round_trip.map(|time| time.as_secs_f64()),
            throttled_for: status.throttled_for.map(|time| time.as_secs_f64()),
            last_error: status.last_error.map(|error| error.to_string()),
        }
    }
}

#[pymethods]
impl ConnectionStatus {
    fn __repr__(&self) -> String {
        format!(
            "ConnectionStatus(broker={}, role={:?}, address={:?}, state={:?})",
            self.broker, self.role, self.address, self.state
        )
    }
}

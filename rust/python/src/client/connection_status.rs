//! `ConnectionStatus`: the result of `connections()` of every client, producer and consumer.

use std::collections::BTreeMap;

use ottla_client::connection::{ConnectionRole, ConnectionState, Status};
use pyo3::prelude::*;

/// The state of a connection at the time of the call.
///
/// A client has at most two connections to a broker: one for data, and one for the groups and
/// transactions that the broker coordinates. Consumers on a shared client have connections of their
/// own.
///
/// Until a client has found its cluster, it also lists the bootstrap servers that it has tried,
/// with the broker -1 and the role ``bootstrap``. The connection that finds the cluster is then
/// listed under its broker's id if the cluster advertises the address; otherwise it is closed.
#[pyclass(frozen, get_all, module = "ottla")]
pub(crate) struct ConnectionStatus {
    /// The broker's id; -1 for a bootstrap server. Java numbers those with negative ids too.
    broker: i32,
    /// The purpose: ``data``, ``coordinator``, ``transaction coordinator`` or ``bootstrap``.
    role: &'static str,
    /// The broker's address as ``host:port``.
    address: String,
    /// ``connected``, ``connecting``, ``backing_off`` after a failure, or ``disconnected``.
    state: &'static str,
    /// The current step while ``connecting``, such as ``DNS`` or ``TLS``.
    phase: Option<String>,
    /// The steps of the latest attempt to connect, in order, with the seconds that each took.
    ///
    /// ``DNS``, ``TCP``, ``TLS`` (if used), ``ApiVersions``, ``SASL`` (if used); and ``Metadata``
    /// if the attempt was to a bootstrap server. While connecting, the last one is the current step
    /// and its time so far; after a failure, it is the step that failed. If the host has several
    /// addresses, these are the steps of the one that connected, or that got furthest.
    phases: Vec<(String, f64)>,
    /// Seconds since the connection was opened; None if it is not open.
    connected_for: Option<f64>,
    /// The highest version that both sides support, by Kafka's name of the API.
    ///
    /// Empty if the connection is not open.
    api_versions: BTreeMap<&'static str, i16>,
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
                ConnectionRole::Bootstrap => "bootstrap",
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
            phases: status
                .phases
                .into_iter()
                .map(|(phase, took)| (phase.to_string(), took.as_secs_f64()))
                .collect(),
            connected_for: status.connected_for.map(|time| time.as_secs_f64()),
            api_versions: status
                .api_versions
                .into_iter()
                .map(|(api, version)| (api.name(), version))
                .collect(),
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

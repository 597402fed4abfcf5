//! `RequestStatistics`: the result of `request_statistics()` of every client, producer and consumer.

use std::collections::BTreeMap;

use ottla_client::Client as Core;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMappingProxy};

/// Statistics of a client's requests since it was created.
///
/// Requests of connection setups are not included; ``ConnectionStatus.phases`` shows their times.
#[pyclass(frozen, get_all, module = "ottla")]
pub(crate) struct RequestStatistics {
    /// The APIs that the client has used, by Kafka's name, such as ``Fetch``; read-only.
    by_api: Py<PyMappingProxy>,
    /// The slowest responses of the last ten minutes, the slowest first; at most 20.
    slowest: Vec<Py<SlowRequest>>,
    /// How often requests, batches and partitions' fetches were sent again, by cause.
    ///
    /// A cause is Kafka's name of an error code, such as ``NOT_LEADER_OR_FOLLOWER``, or
    /// ``connection lost``, ``timeout``, ``cannot connect``, ``no broker`` (no broker was known),
    /// ``malformed response`` or ``other``.
    retries: BTreeMap<&'static str, u64>,
}

#[pymethods]
impl RequestStatistics {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let apis = self.by_api.bind(py).len()?;
        let retries: u64 = self.retries.values().sum();
        Ok(format!("RequestStatistics(apis={apis}, slowest={}, retries={retries})", self.slowest.len()))
    }
}

/// Statistics of one API's requests.
#[pyclass(frozen, get_all, module = "ottla")]
pub(crate) struct ApiStatistics {
    /// The number of requests that were sent.
    total: u64,
    /// The number of requests whose connection ended before the response.
    failed: u64,
    /// The smoothed seconds from sending a request to its response; None before the first one.
    ///
    /// As for ``ConnectionStatus.round_trip_time``, each response counts for an eighth. The time
    /// that a request lets the broker wait is included, such as ``fetch.max.wait.ms``.
    latency_avg: Option<f64>,
    /// Seconds since the last request was sent.
    last_sent: f64,
}

#[pymethods]
impl ApiStatistics {
    fn __repr__(&self) -> String {
        let latency = self.latency_avg.map_or("None".to_owned(), |seconds| format!("{seconds:.6}"));
        format!(
            "ApiStatistics(total={}, failed={}, latency_avg={latency}, last_sent={:.3})",
            self.total, self.failed, self.last_sent
        )
    }
}

/// A response that took long.
#[pyclass(frozen, get_all, module = "ottla")]
pub(crate) struct SlowRequest {
    /// Kafka's name of the request's API.
    api: &'static str,
    /// The broker's address as ``host:port``, with the IP address if the host is a name.
    address: String,
    /// Seconds from sending the request to its response, without an allowed wait.
    ///
    /// A request may let the broker wait before it responds: a Fetch for records, a JoinGroup or
    /// SyncGroup for the other members. The longest such wait is subtracted.
    latency: f64,
    /// Seconds since the response.
    age: f64,
}

#[pymethods]
impl SlowRequest {
    fn __repr__(&self) -> String {
        format!(
            "SlowRequest(api={:?}, address={:?}, latency={:.6}, age={:.3})",
            self.api, self.address, self.latency, self.age
        )
    }
}

/// Returns the statistics of a client's requests.
pub(crate) fn request_statistics(py: Python<'_>, core: &Core) -> PyResult<RequestStatistics> {
    let statistics = core.request_statistics();
    let by_api = PyDict::new(py);
    for of_api in statistics.by_api {
        let value = ApiStatistics {
            total: of_api.total,
            failed: of_api.failed,
            latency_avg: of_api.latency_avg.map(|latency| latency.as_secs_f64()),
            last_sent: of_api.last_sent.as_secs_f64(),
        };
        by_api.set_item(of_api.api.name(), Py::new(py, value)?)?;
    }
    let slow = statistics.slowest.into_iter().map(|slow| {
        let value = SlowRequest {
            api: slow.api.name(),
            address: slow.address.as_ref().to_owned(),
            latency: slow.latency.as_secs_f64(),
            age: slow.age.as_secs_f64(),
        };
        Py::new(py, value)
    });
    Ok(RequestStatistics {
        slowest: slow.collect::<PyResult<_>>()?,
        by_api: PyMappingProxy::new(py, by_api.as_mapping()).unbind(),
        retries: statistics.retries.into_iter().collect(),
    })
}

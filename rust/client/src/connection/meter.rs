//! Measurements of a connection: its round-trip time, its last use, and its share of the client's
//! metrics.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use ottla_protocol::ApiKey;
use tokio::time::{Duration, Instant};

use crate::metrics::{Metrics, Sensor};

pub(super) struct Meter {
    metrics: Arc<Metrics>,
    address: Arc<str>,
    started: Instant,
    /// Last use, in milliseconds since `started`.
    used: AtomicU64,
    /// Smoothed round-trip time in microseconds; 0 before the first measurement.
    round_trip: AtomicU64,
    /// The latencies of the broker, once it is known and if metrics are pushed.
    node: OnceLock<Arc<Sensor>>,
}

impl Meter {
    /// Starts with a new connection.
    pub(super) fn start(metrics: &Arc<Metrics>, address: &str) -> Self {
        metrics.opened.count();
        let (started, used, round_trip) = (Instant::now(), AtomicU64::new(0), AtomicU64::new(0));
        let (metrics, address) = (Arc::clone(metrics), address.into());
        Self { metrics, address, started, used, round_trip, node: OnceLock::new() }
    }

    /// Records latencies for a broker too.
    pub(super) fn set_node(&self, latency: Arc<Sensor>) {
        let _ = self.node.set(latency);
    }

    pub(super) fn closed(&self) {
        self.metrics.closed.count();
    }

    /// Records a written request that gets no response.
    pub(super) fn failed(&self, api: ApiKey) {
        self.metrics.requests.failed(api);
    }

    fn touch(&self, now: Instant) {
        let millis = now.saturating_duration_since(self.started).as_millis();
        self.used.store(u64::try_from(millis).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(super) fn sent(&self, api: ApiKey, bytes: usize) {
        let now = Instant::now();
        self.touch(now);
        self.metrics.sent.record(bytes as f64);
        self.metrics.requests.sent(api, now);
    }

    /// Records a response. `waited` is the time since its request was written, which let the broker wait for
    /// up to `allowed`. Without such a wait, `waited` counts as a round-trip time.
    pub(super) fn received(&self, api: ApiKey, bytes: usize, waited: Option<Duration>, allowed: Duration) {
        let now = Instant::now();
        self.touch(now);
        self.metrics.received.record(bytes as f64);
        let Some(waited) = waited else { return };
        self.metrics.requests.received(api, &self.address, (waited, allowed), now);
        let millis = waited.as_secs_f64() * 1000.0;
        self.metrics.latency.record(millis);
        if let Some(node) = self.node.get() {
            node.record(millis);
        }
        if allowed.is_zero() {
            let micros = u64::try_from(waited.as_micros()).unwrap_or(u64::MAX).max(1);
            let smoothed = match self.round_trip.load(Ordering::Relaxed) {
                0 => micros,
                // As in TCP, each measurement has a weight of one eighth.
                known => known - known / 8 + micros / 8,
            };
            self.round_trip.store(smoothed.max(1), Ordering::Relaxed);
        }
    }

    pub(super) fn round_trip(&self) -> Option<Duration> {
        match self.round_trip.load(Ordering::Relaxed) {
            0 => None,
            micros => Some(Duration::from_micros(micros)),
        }
    }

    /// The time since the connection was opened.
    pub(super) fn age(&self) -> Duration {
        self.started.elapsed()
    }

    pub(super) fn idle_time(&self) -> Duration {
        self.started.elapsed().saturating_sub(Duration::from_millis(self.used.load(Ordering::Relaxed)))
    }
}

//! Measurements of a connection: its round-trip time, its last use, and its share of the client's
//! metrics.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::time::{Duration, Instant};

use crate::metrics::{Metrics, Sensor};

pub(super) struct Meter {
    metrics: Arc<Metrics>,
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
    pub(super) fn start(metrics: &Arc<Metrics>) -> Self {
        metrics.opened.count();
        let (started, used, round_trip) = (Instant::now(), AtomicU64::new(0), AtomicU64::new(0));
        Self { metrics: Arc::clone(metrics), started, used, round_trip, node: OnceLock::new() }
    }

    /// Records latencies for a broker too.
    pub(super) fn set_node(&self, latency: Arc<Sensor>) {
        let _ = self.node.set(latency);
    }

    pub(super) fn closed(&self) {
        self.metrics.closed.count();
    }

    fn touch(&self) {
        let millis = self.started.elapsed().as_millis();
        self.used.store(u64::try_from(millis).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(super) fn sent(&self, bytes: usize) {
        self.touch();
        self.metrics.sent.record(bytes as f64);
    }

    /// Records a response. `waited` is the time since its request was written. If `prompt`, the broker
    /// had no reason to wait, and `waited` counts as a round-trip time.
    pub(super) fn received(&self, bytes: usize, waited: Option<Duration>, prompt: bool) {
        self.touch();
        self.metrics.received.record(bytes as f64);
        let Some(waited) = waited else { return };
        let millis = waited.as_secs_f64() * 1000.0;
        self.metrics.latency.record(millis);
        if let Some(node) = self.node.get() {
            node.record(millis);
        }
        if prompt {
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

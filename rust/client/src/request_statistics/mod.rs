//! Statistics of a client's requests: how many of each API, how fast, the slowest, and what was sent again.
//!
//! `connection/meter.rs` records each request and response by a few atomic operations and without an
//! allocation. Requests of connection setups are not included: `connections()` shows their times.
//!
//! Invariant: memory is bounded by the number of APIs and error codes, whatever the peers send.

mod retry_causes;
mod slowest;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ottla_protocol::ApiKey;
use tokio::time::{Duration, Instant};

pub use slowest::SlowRequest;

use crate::error::Error;
use retry_causes::RetryCauses;
use slowest::SlowestRequests;

/// Statistics of all requests since the client was created.
#[derive(Debug, Clone)]
pub struct RequestStatistics {
    /// The APIs that were used, by key.
    pub by_api: Vec<ApiStatistics>,
    /// The slowest responses of the last ten minutes, the slowest first; at most 20.
    pub slowest: Vec<SlowRequest>,
    /// How often requests and batches were sent again, by cause: Kafka's name of the error code, or a name
    /// of this client.
    pub retries: Vec<(&'static str, u64)>,
}

/// Statistics of one API.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ApiStatistics {
    /// The API.
    pub api: ApiKey,
    /// Requests that were written.
    pub total: u64,
    /// Requests that were written to a connection that ended before the response.
    pub failed: u64,
    /// The smoothed time from a request's last byte to its response, to which each response contributes an
    /// eighth. Includes the time that a request allows the broker to wait.
    pub latency_avg: Option<Duration>,
    /// The time since the last request was written.
    pub last_sent: Duration,
}

/// The counters of one client.
#[derive(Debug)]
pub(crate) struct RequestCounters {
    started: Instant,
    /// By the API's key.
    by_api: Box<[ApiCounters]>,
    slowest: SlowestRequests,
    retries: RetryCauses,
}

#[derive(Debug, Default)]
struct ApiCounters {
    total: AtomicU64,
    failed: AtomicU64,
    /// In nanoseconds; 0 before the first response.
    latency: AtomicU64,
    /// In nanoseconds after `started`.
    last_sent: AtomicU64,
}

impl Default for RequestCounters {
    fn default() -> Self {
        let highest = ApiKey::ALL.iter().map(|api| index(*api)).max().unwrap_or_default();
        let started = Instant::now();
        Self {
            started,
            by_api: (0..=highest).map(|_| ApiCounters::default()).collect(),
            slowest: SlowestRequests::new(started),
            retries: RetryCauses::default(),
        }
    }
}

fn index(api: ApiKey) -> usize {
    usize::try_from(api as i16).unwrap_or_default()
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl RequestCounters {
    /// Records that a request was written.
    pub(crate) fn sent(&self, api: ApiKey, now: Instant) {
        let Some(counters) = self.by_api.get(index(api)) else { return };
        counters.last_sent.store(nanos(now.saturating_duration_since(self.started)), Ordering::Relaxed);
        counters.total.fetch_add(1, Ordering::Relaxed);
    }

    /// Records a response that came `latency` after its request was written. The request let the broker wait
    /// for up to `allowed`, which does not make a response slow.
    pub(crate) fn received(
        &self,
        api: ApiKey,
        address: &Arc<str>,
        (latency, allowed): (Duration, Duration),
        now: Instant,
    ) {
        let Some(counters) = self.by_api.get(index(api)) else { return };
        let measured = nanos(latency).max(1);
        let smoothed = match counters.latency.load(Ordering::Relaxed) {
            0 => measured,
            known => known - known / 8 + measured / 8,
        };
        // A measurement at the same time may be lost, which is a small part of the average.
        counters.latency.store(smoothed.max(1), Ordering::Relaxed);
        self.slowest.record(api, address, latency.saturating_sub(allowed), now);
    }

    /// Records that a written request gets no response.
    pub(crate) fn failed(&self, api: ApiKey) {
        if let Some(counters) = self.by_api.get(index(api)) {
            counters.failed.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Records that a request or a batch is sent again after `error`.
    pub(crate) fn retried(&self, error: &Error) {
        self.retries.count(error);
    }

    pub(crate) fn statistics(&self) -> RequestStatistics {
        let now = Instant::now();
        let age = now.saturating_duration_since(self.started);
        let of_api = |api: ApiKey| {
            let counters = self.by_api.get(index(api))?;
            let total = counters.total.load(Ordering::Relaxed);
            let latency = counters.latency.load(Ordering::Relaxed);
            let last_sent = Duration::from_nanos(counters.last_sent.load(Ordering::Relaxed));
            (total > 0).then(|| ApiStatistics {
                api,
                total,
                failed: counters.failed.load(Ordering::Relaxed),
                latency_avg: (latency > 0).then(|| Duration::from_nanos(latency)),
                last_sent: age.saturating_sub(last_sent),
            })
        };
        RequestStatistics {
            by_api: ApiKey::ALL.iter().filter_map(|api| of_api(*api)).collect(),
            slowest: self.slowest.all(now),
            retries: self.retries.all(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    #[tokio::test(start_paused = true)]
    async fn each_api_has_its_own_counts_and_latency() {
        let counters = RequestCounters::default();
        let address: Arc<str> = "kafka1:9092".into();
        assert!(counters.statistics().by_api.is_empty());
        advance(Duration::from_secs(5)).await;
        for _ in 0..3 {
            counters.sent(ApiKey::Heartbeat, Instant::now());
        }
        counters.sent(ApiKey::Produce, Instant::now());
        let received = |millis| {
            let latency = Duration::from_millis(millis);
            counters.received(ApiKey::Heartbeat, &address, (latency, Duration::ZERO), Instant::now());
        };
        received(80);
        received(160);
        counters.failed(ApiKey::Heartbeat);
        advance(Duration::from_secs(2)).await;
        let by_api = counters.statistics().by_api;
        assert_eq!(by_api.len(), 2);
        let (produce, heartbeat) = (by_api[0], by_api[1]);
        assert_eq!((produce.api, produce.total, produce.latency_avg), (ApiKey::Produce, 1, None));
        assert_eq!((heartbeat.total, heartbeat.failed), (3, 1));
        // Seven eighths of 80 ms and one of 160 ms.
        assert_eq!(heartbeat.latency_avg, Some(Duration::from_millis(90)));
        assert_eq!(heartbeat.last_sent, Duration::from_secs(2));
    }
}

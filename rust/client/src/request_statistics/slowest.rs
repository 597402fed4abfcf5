//! The slowest responses of the last ten minutes.
//!
//! Invariants: of each minute, the 20 slowest are kept, so a response that is dropped is not among the 20
//! slowest of any whole minutes. A response that is not slow enough for the current minute takes no lock.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ottla_protocol::ApiKey;
use parking_lot::Mutex;
use tokio::time::{Duration, Instant};

use super::nanos;

/// How many responses are reported, and kept of each minute.
const KEPT: usize = 20;
const WINDOW: Duration = Duration::from_secs(600);
const MINUTE: Duration = Duration::from_secs(60);

/// A slow response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlowRequest {
    /// The API of the request.
    pub api: ApiKey,
    /// The broker's address.
    pub address: Arc<str>,
    /// The time from the request's last byte to the response, without the time that the request allowed the
    /// broker to wait.
    pub latency: Duration,
    /// The time since the response.
    pub age: Duration,
}

#[derive(Debug)]
pub(super) struct SlowestRequests {
    started: Instant,
    /// The latency in nanoseconds that a response must exceed to be kept, until the end of its minute.
    threshold: AtomicU64,
    /// The end of the current minute, in nanoseconds after `started`.
    minute_ends: AtomicU64,
    minutes: Mutex<VecDeque<Minute>>,
}

#[derive(Debug)]
struct Minute {
    began: Instant,
    kept: Vec<Kept>,
}

#[derive(Debug)]
struct Kept {
    api: ApiKey,
    address: Arc<str>,
    latency: Duration,
    received: Instant,
}

impl SlowestRequests {
    pub(super) fn new(started: Instant) -> Self {
        Self {
            started,
            threshold: AtomicU64::new(0),
            minute_ends: AtomicU64::new(0),
            minutes: Mutex::default(),
        }
    }

    pub(super) fn record(&self, api: ApiKey, address: &Arc<str>, latency: Duration, now: Instant) {
        let since_start = nanos(now.saturating_duration_since(self.started));
        if nanos(latency) <= self.threshold.load(Ordering::Relaxed)
            && since_start < self.minute_ends.load(Ordering::Relaxed)
        {
            return;
        }
        // The request did nothing but wait as long as it allowed.
        if latency.is_zero() {
            return;
        }
        let mut minutes = self.minutes.lock();
        if minutes.back().is_none_or(|minute| now.saturating_duration_since(minute.began) >= MINUTE) {
            minutes.retain(|minute| now.saturating_duration_since(minute.began) < WINDOW + MINUTE);
            minutes.push_back(Minute { began: now, kept: Vec::with_capacity(KEPT) });
            self.minute_ends.store(since_start.saturating_add(nanos(MINUTE)), Ordering::Relaxed);
            self.threshold.store(0, Ordering::Relaxed);
        }
        let Some(minute) = minutes.back_mut() else { return };
        let kept = Kept { api, address: Arc::clone(address), latency, received: now };
        if minute.kept.len() < KEPT {
            minute.kept.push(kept);
        } else if let Some(fastest) = minute.kept.iter_mut().min_by_key(|kept| kept.latency)
            && fastest.latency < latency
        {
            *fastest = kept;
        }
        if minute.kept.len() == KEPT
            && let Some(fastest) = minute.kept.iter().map(|kept| kept.latency).min()
        {
            self.threshold.store(nanos(fastest), Ordering::Relaxed);
        }
    }

    /// The slowest first.
    pub(super) fn all(&self, now: Instant) -> Vec<SlowRequest> {
        let minutes = self.minutes.lock();
        let mut all: Vec<SlowRequest> = minutes
            .iter()
            .flat_map(|minute| &minute.kept)
            .map(|kept| SlowRequest {
                api: kept.api,
                address: Arc::clone(&kept.address),
                latency: kept.latency,
                age: now.saturating_duration_since(kept.received),
            })
            .filter(|request| request.age <= WINDOW)
            .collect();
        drop(minutes);
        all.sort_by_key(|request| std::cmp::Reverse(request.latency));
        all.truncate(KEPT);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    fn latencies(slowest: &SlowestRequests) -> Vec<u128> {
        slowest.all(Instant::now()).iter().map(|request| request.latency.as_millis()).collect()
    }

    /// Compared with a list of all responses, for random latencies over twenty-five minutes.
    #[tokio::test(start_paused = true)]
    async fn the_slowest_of_ten_minutes_are_kept() {
        let slowest = SlowestRequests::new(Instant::now());
        let address: Arc<str> = "kafka1:9092".into();
        let mut random = fastrand::Rng::with_seed(7);
        let mut all: Vec<(Instant, u64)> = Vec::new();
        for minute in 0..25 {
            for _ in 0..240 {
                advance(Duration::from_millis(250)).await;
                let millis = random.u64(1..1_000_000);
                slowest.record(ApiKey::Produce, &address, Duration::from_millis(millis), Instant::now());
                all.push((Instant::now(), millis));
            }
            let reported = latencies(&slowest);
            let mut expected: Vec<u64> =
                all.iter().filter(|(at, _)| at.elapsed() <= WINDOW).map(|(_, millis)| *millis).collect();
            expected.sort_unstable_by_key(|millis| std::cmp::Reverse(*millis));
            expected.truncate(KEPT);
            assert_eq!(reported, expected.into_iter().map(u128::from).collect::<Vec<_>>(), "minute {minute}");
        }
        assert!(slowest.minutes.lock().len() <= 12, "bounded");
        assert!(slowest.minutes.lock().iter().all(|minute| minute.kept.len() <= KEPT));
        // Long after the last one, nothing is left.
        advance(WINDOW + Duration::from_millis(1)).await;
        assert!(latencies(&slowest).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_minute_keeps_faster_ones_than_the_last() {
        let slowest = SlowestRequests::new(Instant::now());
        let address: Arc<str> = "kafka1:9092".into();
        let record = |millis| {
            slowest.record(ApiKey::Fetch, &address, Duration::from_millis(millis), Instant::now());
        };
        (0..40).for_each(|_| record(500));
        record(10);
        assert_eq!(latencies(&slowest), [500; KEPT]);
        advance(MINUTE).await;
        record(10);
        record(0);
        advance(WINDOW - MINUTE + Duration::from_secs(1)).await;
        assert_eq!(latencies(&slowest), [10]);
        let found = slowest.all(Instant::now()).remove(0);
        assert_eq!((found.api, &*found.address), (ApiKey::Fetch, "kafka1:9092"));
        assert_eq!(found.age, WINDOW - MINUTE + Duration::from_secs(1));
    }
}

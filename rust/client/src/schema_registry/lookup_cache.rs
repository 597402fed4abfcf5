//! A cache with one look-up per key at a time.
//!
//! Invariants: callers that need the same key wait for one look-up, each until its own deadline; if the one
//! that performs it gives up or is cancelled, the next one performs it; a failure is cached for a moment if only a
//! later retry may succeed, but a call's own timeout is not.

use std::collections::HashMap;
use std::future::Future;
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::{Duration, Instant, timeout_at};

use super::cache::{Cache, Limits, Sized};
use crate::error::{Error, Kind, Result};

/// The result of a look-up.
#[derive(Debug)]
pub(super) struct Found<V> {
    pub(super) value: V,
    /// Its bytes.
    pub(super) size: usize,
    /// How long it is valid; `None` means forever.
    pub(super) ttl: Option<Duration>,
}

/// The cache, and the look-ups in flight.
#[derive(Debug)]
pub(super) struct LookupCache<K: Hash + Eq, V> {
    cache: Mutex<Cache<K, V>>,
    in_flight: Mutex<HashMap<K, Arc<AsyncMutex<()>>>>,
    /// How long a failure is remembered.
    failure_ttl: Duration,
}

impl<K: Hash + Eq + Clone + Sized, V: Clone> LookupCache<K, V> {
    pub(super) fn new(limits: Limits, failure_ttl: Duration) -> Self {
        Self { cache: Mutex::new(Cache::new(limits)), in_flight: Mutex::default(), failure_ttl }
    }

    /// The value of a key, if it is cached.
    pub(super) fn cached(&self, key: &K, now: Instant) -> Option<V> {
        self.cache.lock().get(key, now)?.ok()
    }

    /// Forgets the values and failures of some keys.
    pub(super) fn forget(&self, is_meant: impl Fn(&K) -> bool) {
        self.cache.lock().forget(is_meant);
    }

    /// The cached value or failure of a key, or the result of `fetch`, which runs until the deadline.
    pub(super) async fn get_or_fetch(
        &self,
        key: &K,
        deadline: Instant,
        fetch: impl Future<Output = Result<Found<V>>>,
    ) -> Result<V> {
        let started = Instant::now();
        if let Some(known) = self.cache.lock().get(key, started) {
            return known;
        }
        let flight = self.join(key);
        let Ok(_permit) = timeout_at(deadline, flight.lock()).await else {
            let millis = started.elapsed().as_millis();
            let message = format!(
                "the schema registry did not respond within {millis} ms to another call that looks up the same schema"
            );
            return Err(Error::new(Kind::Timeout, message));
        };
        if let Some(known) = self.cache.lock().get(key, Instant::now()) {
            return known;
        }
        let fetched = fetch.await;
        let now = Instant::now();
        match fetched {
            Ok(Found { value, size, ttl }) => {
                let expires = ttl.map(|ttl| now + ttl);
                self.cache.lock().insert(key, value.clone(), size, expires);
                Ok(value)
            }
            Err(error) => {
                if !matches!(error.kind(), Kind::Timeout | Kind::Closed) {
                    self.cache.lock().insert_failure(key, error.clone(), now + self.failure_ttl);
                }
                Err(error)
            }
        }
    }

    fn join(&self, key: &K) -> Flight<'_, K> {
        let mut in_flight = self.in_flight.lock();
        let permit = Arc::clone(in_flight.entry(key.clone()).or_default());
        Flight { in_flight: &self.in_flight, key: key.clone(), permit: Some(permit) }
    }
}

/// A caller's share of the look-up of a key. The last one removes it.
struct Flight<'a, K: Hash + Eq> {
    in_flight: &'a Mutex<HashMap<K, Arc<AsyncMutex<()>>>>,
    key: K,
    permit: Option<Arc<AsyncMutex<()>>>,
}

impl<K: Hash + Eq> Flight<'_, K> {
    async fn lock(&self) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        match &self.permit {
            Some(permit) => Some(permit.lock().await),
            None => None,
        }
    }
}

impl<K: Hash + Eq> Drop for Flight<'_, K> {
    fn drop(&mut self) {
        let mut in_flight = self.in_flight.lock();
        // Within the lock: of several that end at once, one is the last.
        self.permit = None;
        if in_flight.get(&self.key).is_some_and(|permit| Arc::strong_count(permit) == 1) {
            in_flight.remove(&self.key);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::time::{sleep, timeout};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn cache() -> LookupCache<u32, u32> {
        LookupCache::new(Limits { entries: 10, bytes: usize::MAX }, SECOND)
    }

    fn found(value: u32) -> Result<Found<u32>> {
        Ok(Found { value, size: 4, ttl: None })
    }

    #[tokio::test(start_paused = true)]
    async fn callers_share_one_look_up() {
        let (cache, fetches) = (cache(), AtomicUsize::new(0));
        let call = || {
            cache.get_or_fetch(&1, Instant::now() + 10 * SECOND, async {
                fetches.fetch_add(1, Ordering::SeqCst);
                sleep(SECOND).await;
                found(7)
            })
        };
        let (first, second, third) = tokio::join!(call(), call(), call());
        assert_eq!([first.unwrap(), second.unwrap(), third.unwrap()], [7; 3]);
        assert_eq!(fetches.load(Ordering::SeqCst), 1);
        assert!(cache.in_flight.lock().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_cancelled_look_up_is_taken_over_by_the_next_caller() {
        let cache = cache();
        let hanging =
            timeout(SECOND, cache.get_or_fetch(&1, Instant::now() + 10 * SECOND, std::future::pending()));
        let waiting = cache.get_or_fetch(&1, Instant::now() + 10 * SECOND, async { found(7) });
        let (hanging, waiting) = tokio::join!(hanging, waiting);
        assert!(hanging.is_err());
        assert_eq!(waiting.unwrap(), 7);
        assert!(cache.in_flight.lock().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_waiting_caller_keeps_its_own_deadline() {
        let cache = cache();
        let slow = cache.get_or_fetch(&1, Instant::now() + 10 * SECOND, async {
            sleep(5 * SECOND).await;
            found(7)
        });
        let started = Instant::now();
        let hasty = async {
            let hasty = cache.get_or_fetch(&1, Instant::now() + SECOND, async { found(8) }).await;
            (hasty, started.elapsed())
        };
        let (slow, (hasty, took)) = tokio::join!(slow, hasty);
        assert_eq!((hasty.unwrap_err().kind(), took), (Kind::Timeout, SECOND));
        assert_eq!(slow.unwrap(), 7);
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_remembered_for_a_moment_and_a_timeout_is_not() {
        let cache = cache();
        let deadline = Instant::now() + 100 * SECOND;
        let fail = |kind| async move { Err(Error::new(kind, "failed")) };
        assert!(cache.get_or_fetch(&1, deadline, fail(Kind::Schema)).await.is_err());
        assert!(cache.get_or_fetch(&1, deadline, async { found(7) }).await.is_err());
        sleep(SECOND).await;
        assert_eq!(cache.get_or_fetch(&1, deadline, async { found(7) }).await.unwrap(), 7);
        assert!(cache.get_or_fetch(&2, deadline, fail(Kind::Timeout)).await.is_err());
        assert_eq!(cache.get_or_fetch(&2, deadline, async { found(8) }).await.unwrap(), 8);
    }
}

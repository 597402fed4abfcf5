//! A bounded cache of look-ups and of their failures. No I/O and no clock.
//!
//! Invariants: the entries and their bytes stay within the limits, except that the newest entry is always
//! kept; the least recently used entries are dropped first; a failure is remembered for the time that the
//! caller sets, and never replaces a value that is still valid.

use std::collections::HashMap;
use std::hash::Hash;

use tokio::time::Instant;

use crate::error::Error;

/// The bytes that an entry takes besides its text.
const OVERHEAD: usize = 256;

/// The limits of a cache.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) entries: usize,
    pub(super) bytes: usize,
}

/// A key that takes memory.
pub(super) trait Sized {
    /// The bytes of its texts.
    fn size(&self) -> usize;
}

#[derive(Debug)]
struct Entry<V> {
    result: Result<V, Error>,
    expires: Option<Instant>,
    size: usize,
    /// The cache's counter when the entry was last used.
    used: u64,
}

/// The cache.
#[derive(Debug)]
pub(super) struct Cache<K, V> {
    limits: Limits,
    entries: HashMap<K, Entry<V>>,
    bytes: usize,
    uses: u64,
}

impl<K: Hash + Eq + Clone + Sized, V: Clone> Cache<K, V> {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, entries: HashMap::new(), bytes: 0, uses: 0 }
    }

    /// The value of a key, or the failure to look it up, unless it has expired.
    pub(super) fn get(&mut self, key: &K, now: Instant) -> Option<Result<V, Error>> {
        self.uses += 1;
        let entry = self.entries.get_mut(key)?;
        if entry.expires.is_some_and(|expires| expires <= now) {
            self.remove(key);
            return None;
        }
        entry.used = self.uses;
        Some(entry.result.clone())
    }

    /// Stores a value of `size` bytes, until `expires`.
    pub(super) fn insert(&mut self, key: &K, value: V, size: usize, expires: Option<Instant>) {
        self.put(key, Ok(value), size, expires);
    }

    /// Remembers a failure until `expires`.
    pub(super) fn insert_failure(&mut self, key: &K, error: Error, expires: Instant) {
        let size = error.message().len();
        self.put(key, Err(error), size, Some(expires));
    }

    fn put(&mut self, key: &K, result: Result<V, Error>, size: usize, expires: Option<Instant>) {
        self.remove(key);
        let size = size.saturating_add(key.size()).saturating_add(OVERHEAD);
        self.uses += 1;
        while !self.entries.is_empty()
            && (self.entries.len() >= self.limits.entries
                || self.bytes.saturating_add(size) > self.limits.bytes)
        {
            self.remove_least_recently_used();
        }
        self.bytes = self.bytes.saturating_add(size);
        self.entries.insert(key.clone(), Entry { result, expires, size, used: self.uses });
    }

    /// Forgets the values and failures of some keys.
    pub(super) fn forget(&mut self, is_meant: impl Fn(&K) -> bool) {
        let bytes = &mut self.bytes;
        self.entries.retain(|key, entry| {
            let is_kept = !is_meant(key);
            if !is_kept {
                *bytes = bytes.saturating_sub(entry.size);
            }
            is_kept
        });
    }

    fn remove(&mut self, key: &K) {
        if let Some(entry) = self.entries.remove(key) {
            self.bytes = self.bytes.saturating_sub(entry.size);
        }
    }

    /// A pass over all entries: each one that is stored has cost a request.
    fn remove_least_recently_used(&mut self) {
        let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone());
        if let Some(key) = oldest {
            self.remove(&key);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use tokio::time::Duration;

    use super::*;
    use crate::error::Kind;

    impl Sized for u32 {
        fn size(&self) -> usize {
            0
        }
    }

    fn cache(entries: usize, bytes: usize) -> Cache<u32, &'static str> {
        Cache::new(Limits { entries, bytes })
    }

    #[test]
    fn the_least_recently_used_entries_make_room() {
        let (mut cache, now) = (cache(2, usize::MAX), Instant::now());
        cache.insert(&1, "one", 3, None);
        cache.insert(&2, "two", 3, None);
        assert_eq!(cache.get(&1, now).unwrap().unwrap(), "one");
        cache.insert(&3, "three", 5, None);
        assert!(cache.get(&2, now).is_none());
        assert!(cache.get(&1, now).is_some() && cache.get(&3, now).is_some());
    }

    #[test]
    fn bytes_are_bounded_and_the_newest_entry_stays() {
        let (mut cache, now) = (cache(10, 2 * OVERHEAD + 100), Instant::now());
        cache.insert(&1, "one", 50, None);
        cache.insert(&2, "two", 50, None);
        assert!(cache.get(&1, now).is_some());
        cache.insert(&1, "other", 10, None);
        assert_eq!(cache.bytes, 2 * OVERHEAD + 60);
        cache.forget(|key| *key == 2);
        assert_eq!((cache.entries.len(), cache.bytes), (1, OVERHEAD + 10));
        cache.insert(&3, "three", 10_000, None);
        assert_eq!((cache.entries.len(), cache.bytes), (1, OVERHEAD + 10_000));
        assert!(cache.get(&3, now).is_some());
    }

    #[test]
    fn values_and_failures_expire_in_their_own_time() {
        let (mut cache, now) = (cache(10, usize::MAX), Instant::now());
        let second = Duration::from_secs(1);
        cache.insert(&1, "id", 2, None);
        cache.insert(&2, "latest", 2, Some(now + 60 * second));
        cache.insert_failure(&3, Error::new(Kind::Schema, "no such id"), now + second);
        assert_eq!(cache.get(&3, now).unwrap().unwrap_err().message(), "no such id");
        assert!(cache.get(&3, now + second).is_none() && cache.get(&2, now + second).is_some());
        assert!(cache.get(&2, now + 60 * second).is_none());
        assert!(cache.get(&1, now + 1_000_000 * second).is_some());
        assert_eq!(cache.entries.len(), 1, "what has expired is removed");
    }
}

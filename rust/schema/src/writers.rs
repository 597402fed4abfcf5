//! The schemas of writers by id: those that are compiled, and why others cannot be used.
//!
//! Invariant: their number is bounded when room is made, before the missing ones of some rows are added: those of the
//! rows stay until the rows were decoded.

use std::collections::HashMap;
use std::hash::Hash;

use crate::limits::short_reason;

/// The largest number of schemas that are kept, beside those that the rows of one call need.
const MAX_WRITERS: usize = 1_000;

/// A writer's schema.
enum Writer<T> {
    Ready(T),
    /// The schema cannot be used, for this reason.
    Unusable(String),
    /// The look-up failed, for this reason.
    Unknown(String),
}

/// Writers' schemas, by a key that has their id.
pub(crate) struct Writers<K, T>(HashMap<K, Writer<T>>);

impl<K: Eq + Hash, T> Writers<K, T> {
    pub(crate) fn new() -> Self {
        Self(HashMap::new())
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.0.keys()
    }

    pub(crate) fn has(&self, key: &K) -> bool {
        self.0.contains_key(key)
    }

    /// Adds a schema, or why it cannot be used.
    pub(crate) fn add(&mut self, key: K, compiled: Result<T, String>) {
        let writer = match compiled {
            Ok(ready) => Writer::Ready(ready),
            Err(reason) => Writer::Unusable(short_reason(reason)),
        };
        self.0.insert(key, writer);
    }

    /// Records why a schema could not be looked up.
    pub(crate) fn add_failure(&mut self, key: K, reason: impl Into<String>) {
        self.0.insert(key, Writer::Unknown(short_reason(reason)));
    }

    /// Forgets the failed look-ups, since those schemas may exist by now.
    pub(crate) fn forget_failures(&mut self) {
        self.0.retain(|_, writer| !matches!(writer, Writer::Unknown(_)));
    }

    /// Forgets schemas if there are too many, but not those whose keys are always kept.
    pub(crate) fn make_room(&mut self, is_kept: impl Fn(&K) -> bool) {
        if self.0.len() >= MAX_WRITERS {
            // Any producer can send ids that no registry knows.
            self.forget_failures();
        }
        if self.0.len() >= MAX_WRITERS {
            self.0.retain(|key, _| is_kept(key));
        }
    }

    /// The schema with this key, or why there is none to use.
    pub(crate) fn get(&mut self, key: &K) -> Result<&mut T, &str> {
        match self.0.get_mut(key) {
            Some(Writer::Ready(ready)) => Ok(ready),
            Some(Writer::Unusable(reason) | Writer::Unknown(reason)) => Err(reason.as_str()),
            None => Err("the schema was not looked up"),
        }
    }

    /// The schema with this key, if it can be used.
    pub(crate) fn ready(&self, key: &K) -> Option<&T> {
        match self.0.get(key)? {
            Writer::Ready(ready) => Some(ready),
            Writer::Unusable(_) | Writer::Unknown(_) => None,
        }
    }
}

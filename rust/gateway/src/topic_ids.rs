//! [`TopicIds`]: what is known of topics by their ids, which newer requests have in the place of names.
//!
//! Invariant: bounded. Clients learn ids from responses, which pass the gateway; of a topic that none of them has named here
//! nothing is known.

use std::collections::HashMap;

use ottla_protocol::wire::Uuid;
use parking_lot::RwLock;

/// The ids that are remembered. A cluster has at most some 100,000 topics; ids beyond that are learnt again.
const KNOWN_MAX: usize = 400_000;

/// What is known of topics, by id.
#[derive(Debug)]
pub(crate) struct TopicIds<T>(RwLock<HashMap<Uuid, T>>);

impl<T> Default for TopicIds<T> {
    fn default() -> Self {
        Self(RwLock::default())
    }
}

impl<T: Clone> TopicIds<T> {
    /// Remembers a topic, unless `is_known` says that what is known of it is right; `value` makes what is remembered.
    pub(crate) fn learn(&self, id: Uuid, is_known: impl FnOnce(&T) -> bool, value: impl FnOnce() -> T) {
        // Brokers before 2.8 have no ids.
        if id.is_zero() || self.0.read().get(&id).is_some_and(is_known) {
            return;
        }
        let mut all = self.0.write();
        if all.len() >= KNOWN_MAX && !all.contains_key(&id) {
            all.clear();
        }
        all.insert(id, value());
    }

    /// What is known of the topic with this id.
    pub(crate) fn get(&self, id: Uuid) -> Option<T> {
        self.0.read().get(&id).cloned()
    }
}

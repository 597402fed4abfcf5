//! [`TopicNames`]: the names of topics by their ids, since conditions name topics and many requests only their ids.
//!
//! Invariant: bounded. Clients learn ids from responses, which pass the gateway; a topic that none of them has named here
//! has no name.

use std::collections::HashMap;

use ottla_protocol::wire::Uuid;
use parking_lot::RwLock;

/// The topics that are remembered.
const KEPT_MAX: usize = 100_000;

/// The names of topics by their ids.
#[derive(Debug, Default)]
pub(super) struct TopicNames(RwLock<HashMap<Uuid, String>>);

impl TopicNames {
    pub(super) fn learn(&self, id: Uuid, name: &str) {
        if self.0.read().get(&id).is_some_and(|known| known == name) {
            return;
        }
        let mut names = self.0.write();
        if names.len() < KEPT_MAX || names.contains_key(&id) {
            names.insert(id, name.to_owned());
        }
    }

    pub(super) fn name(&self, id: Uuid) -> Option<String> {
        self.0.read().get(&id).cloned()
    }
}

//! [`TopicIds`]: which topics the ids are of that requests have in the place of names.
//!
//! Invariant: an id that is not known here is not allowed, since it may be that of a topic that is not.

use std::collections::HashMap;

use ottla_protocol::wire::Uuid;
use parking_lot::Mutex;

/// The ids that are remembered. A cluster has at most some 100,000 topics; ids beyond that are learnt again.
const KNOWN_MAX: usize = 400_000;

/// Whether topics are allowed, by id.
#[derive(Debug, Default)]
pub(super) struct TopicIds {
    known: Mutex<HashMap<Uuid, bool>>,
}

impl TopicIds {
    /// Remembers a topic.
    pub(super) fn learn(&self, id: Uuid, is_allowed: bool) {
        // Brokers before 2.8 have no ids.
        if id.is_zero() {
            return;
        }
        let mut known = self.known.lock();
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        known.insert(id, is_allowed);
    }

    /// Whether the topic is allowed; `None` if it is not known.
    pub(super) fn is_allowed(&self, id: Uuid) -> Option<bool> {
        self.known.lock().get(&id).copied()
    }
}

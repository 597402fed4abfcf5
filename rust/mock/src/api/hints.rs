//! Hints about the new leader in the answers of Produce and Fetch (KIP-951).

use std::collections::BTreeMap;

use crate::state::{ClusterState, NO_LEADER, Node};

/// The brokers that an answer has to name because it names them as leaders.
#[derive(Debug, Default)]
pub(super) struct Hints {
    nodes: BTreeMap<i32, Node>,
}

impl Hints {
    /// The leader and its epoch, if the partition has one.
    pub(super) fn leader(&mut self, state: &ClusterState, topic: &str, partition: i32) -> Option<(i32, i32)> {
        let partition = state.partition(topic, partition).ok()?;
        if partition.leader == NO_LEADER {
            return None;
        }
        if let Some(node) = state.brokers.get(&partition.leader) {
            self.nodes.insert(node.id, node.clone());
        }
        Some((partition.leader, partition.leader_epoch))
    }

    /// The brokers that were named, as the answer's own type has them.
    pub(super) fn into_endpoints<E>(self, make: impl Fn(i32, String, i32, Option<String>) -> E) -> Vec<E> {
        let nodes = self.nodes.into_values();
        nodes.map(|node| make(node.id, node.host, i32::from(node.port), node.rack)).collect()
    }
}

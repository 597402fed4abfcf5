//! The `node_endpoints` of Produce and Fetch responses: the addresses of new leaders (KIP-951).

use std::collections::BTreeMap;

use crate::state::{ClusterState, NO_LEADER, Node};

/// The addresses of the leaders that a response names.
#[derive(Debug, Default)]
pub(super) struct NodeEndpoints {
    nodes: BTreeMap<i32, Node>,
}

impl NodeEndpoints {
    /// Returns the partition's leader and epoch, and adds the leader's address; `None` without a leader.
    pub(super) fn current_leader(
        &mut self,
        state: &ClusterState,
        topic: &str,
        partition: i32,
    ) -> Option<(i32, i32)> {
        let partition = state.partition(topic, partition).ok()?;
        if partition.leader == NO_LEADER {
            return None;
        }
        if let Some(node) = state.brokers.get(&partition.leader) {
            self.nodes.insert(node.id, node.clone());
        }
        Some((partition.leader, partition.leader_epoch))
    }

    /// Converts the brokers to the response's own type.
    pub(super) fn into_response<E>(self, make: impl Fn(i32, String, i32, Option<String>) -> E) -> Vec<E> {
        let nodes = self.nodes.into_values();
        nodes.map(|node| make(node.id, node.host, i32::from(node.port), node.rack)).collect()
    }
}

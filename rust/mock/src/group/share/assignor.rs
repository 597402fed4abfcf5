//! The assignor `simple` of share groups: a pure function of subscriptions.
//!
//! Invariant: each partition of a subscribed topic has at least one of its subscribers, and each subscriber of a topic
//! with partitions has at least one of them.

use std::collections::{BTreeMap, BTreeSet};

use ottla_protocol::wire::Uuid;

use crate::group::consumer::Partitions;

/// The name of the assignor.
pub(crate) const ASSIGNOR: &str = "simple";

/// Assigns the partitions of topics with these numbers of partitions to members with these subscriptions.
pub(super) fn assign(
    members: &BTreeMap<&String, BTreeSet<Uuid>>,
    topics: &BTreeMap<Uuid, i32>,
) -> BTreeMap<String, Partitions> {
    let mut targets: BTreeMap<String, Partitions> =
        members.keys().map(|id| ((*id).clone(), Partitions::new())).collect();
    let first = members.values().next();
    if members.values().all(|topics| Some(topics) == first) {
        // The topics of one subscription are spread together.
        let all: Vec<_> = topics.iter().flat_map(|(topic, count)| (0..*count).map(|p| (*topic, p))).collect();
        spread(&all, &members.keys().copied().collect::<Vec<_>>(), &mut targets);
        return targets;
    }
    for (topic, count) in topics {
        let all: Vec<_> = (0..*count).map(|partition| (*topic, partition)).collect();
        let subscribers = members.iter().filter(|(_, topics)| topics.contains(topic)).map(|(id, _)| *id);
        spread(&all, &subscribers.collect::<Vec<_>>(), &mut targets);
    }
    targets
}

/// Deals partitions to members in turn, until each partition and each member had its turn.
fn spread(partitions: &[(Uuid, i32)], members: &[&String], targets: &mut BTreeMap<String, Partitions>) {
    if partitions.is_empty() {
        return;
    }
    let turns = partitions.len().max(members.len());
    for (partition, id) in partitions.iter().cycle().zip(members.iter().cycle()).take(turns) {
        if let Some(target) = targets.get_mut(*id) {
            target.insert(*partition);
        }
    }
}

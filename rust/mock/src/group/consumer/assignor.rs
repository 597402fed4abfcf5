//! The broker-side assignors: pure functions of subscriptions.
//!
//! Invariant: each partition of a subscribed topic is assigned to exactly one of its subscribers.

use std::collections::{BTreeMap, BTreeSet};

use ottla_protocol::wire::Uuid;

use super::Partitions;

/// An assignor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Assignor {
    /// Balances partitions and moves as few as possible.
    Uniform,
    /// Assigns each member a range of each topic, in the order of member ids.
    Range,
}

/// The subscribed topics of each member.
pub(super) type Subscriptions = BTreeMap<String, BTreeSet<Uuid>>;
/// The target partitions of each member.
pub(super) type TargetAssignment = BTreeMap<String, Partitions>;

impl Assignor {
    const ALL: [Self; 2] = [Self::Uniform, Self::Range];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Range => "range",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|assignor| assignor.name() == name)
    }

    /// Assigns the partitions of topics with these numbers of partitions.
    pub(super) fn assign(
        self,
        members: &Subscriptions,
        topics: &BTreeMap<Uuid, i32>,
        before: &TargetAssignment,
    ) -> TargetAssignment {
        match self {
            Self::Uniform => uniform(members, topics, before),
            Self::Range => range(members, topics),
        }
    }
}

fn range(members: &Subscriptions, topics: &BTreeMap<Uuid, i32>) -> TargetAssignment {
    let mut targets: TargetAssignment = members.keys().map(|id| (id.clone(), Partitions::new())).collect();
    for (topic, count) in topics {
        let subscribers: Vec<_> = members.iter().filter(|(_, topics)| topics.contains(topic)).collect();
        let Ok(number) = i32::try_from(subscribers.len()) else { continue };
        let mut next = 0;
        for ((id, _), place) in subscribers.into_iter().zip(0..number) {
            let size = count / number + i32::from(place < count % number);
            if let Some(target) = targets.get_mut(id) {
                target.extend((next..next + size).map(|partition| (*topic, partition)));
            }
            next += size;
        }
    }
    targets
}

fn uniform(
    members: &Subscriptions,
    topics: &BTreeMap<Uuid, i32>,
    before: &TargetAssignment,
) -> TargetAssignment {
    let may = |id: &str, topic: &Uuid| members.get(id).is_some_and(|topics| topics.contains(topic));
    let mut targets: TargetAssignment = members.keys().map(|id| (id.clone(), Partitions::new())).collect();
    let all = topics.iter().flat_map(|(topic, count)| (0..*count).map(|partition| (*topic, partition)));
    let mut free: Partitions = all.collect();
    for (id, partitions) in before.iter().filter(|(id, _)| members.contains_key(*id)) {
        let kept: Partitions = partitions
            .iter()
            .filter(|(topic, _)| may(id, topic))
            .copied()
            .filter(|p| free.contains(p))
            .collect();
        free.retain(|partition| !kept.contains(partition));
        targets.insert(id.clone(), kept);
    }
    for partition in free {
        let subscribers = targets.iter_mut().filter(|(id, _)| may(id, &partition.0));
        if let Some((_, target)) = subscribers.min_by_key(|(_, target)| target.len()) {
            target.insert(partition);
        }
    }
    while let Some((from, to, partition)) = find_move(&targets, may) {
        if let Some(target) = targets.get_mut(&from) {
            target.remove(&partition);
        }
        targets.entry(to).or_default().insert(partition);
    }
    targets
}

/// Finds a partition to move from a member to one that subscribes to it and has at least two fewer.
fn find_move(
    targets: &TargetAssignment,
    may: impl Fn(&str, &Uuid) -> bool,
) -> Option<(String, String, (Uuid, i32))> {
    let mut by_load: Vec<(&String, &Partitions)> = targets.iter().collect();
    by_load.sort_by_key(|(_, partitions)| partitions.len());
    by_load.iter().rev().find_map(|(from, partitions)| {
        let lighter = by_load.iter().take_while(|(_, other)| other.len() + 2 <= partitions.len());
        lighter.into_iter().find_map(|(to, _)| {
            // Moves high partitions first, so that low ones stay with early members.
            let movable = partitions.iter().rev().find(|(topic, _)| may(to, topic));
            movable.map(|partition| ((*from).clone(), (*to).clone(), *partition))
        })
    })
}

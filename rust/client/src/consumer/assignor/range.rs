//! `range`: assigns consecutive partitions of each topic to its subscribers; the first ones get one more if
//! the numbers do not divide evenly. Topics with the same subscribers and partition count are
//! co-partitioned: members get the same partition numbers of each, so that such topics can be joined.
//!
//! If members and replicas have racks that differ between partitions, members first get partitions with a
//! replica in their rack (KIP-881), without changing how many they get.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::{
    Assignor, GroupAssignment, MemberSubscription, PartitionInfo, Topics, assignment_of, member_order,
};
use crate::error::Result;
use crate::topic_partition::TopicPartition;

/// Assigns consecutive partitions of each topic, as Java's `RangeAssignor`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Range;

impl Assignor for Range {
    fn name(&self) -> &'static str {
        "range"
    }

    fn assign(&self, topics: &Topics, members: &[MemberSubscription]) -> Result<GroupAssignment> {
        let mut subscribers: HashMap<&str, Vec<Subscriber<'_>>> = HashMap::new();
        let mut order: Vec<(usize, &MemberSubscription)> = members.iter().enumerate().collect();
        order.sort_by(|(_, a), (_, b)| member_order(a, b));
        for (member, subscription) in order {
            let rack = subscription.rack.as_deref().filter(|rack| !rack.is_empty());
            let unique: BTreeSet<&str> = subscription.topics.iter().map(AsRef::as_ref).collect();
            for topic in unique {
                subscribers.entry(topic).or_default().push(Subscriber { member, rack, count: 0 });
            }
        }
        let mut topics: Vec<TopicAssignment<'_>> = topics
            .iter()
            .filter_map(|(topic, partitions)| {
                Some(TopicAssignment::new(topic, partitions, subscribers.remove(&**topic)?))
            })
            .collect();
        let mut assigned = vec![Vec::new(); members.len()];
        if topics.iter().any(|topic| topic.racks_differ) {
            assign_by_rack(&mut topics, &mut assigned);
        }
        for topic in &mut topics {
            topic.assign_ranges(|_, _| true, &mut assigned);
        }
        Ok(assignment_of(members, assigned))
    }
}

/// A subscriber of a topic.
#[derive(Debug)]
struct Subscriber<'a> {
    /// Its index among the members.
    member: usize,
    rack: Option<&'a str>,
    /// How many partitions of the topic it has.
    count: usize,
}

impl Subscriber<'_> {
    /// A member without a rack is near all replicas.
    fn is_near(&self, partition: &PartitionInfo) -> bool {
        self.rack.is_none_or(|rack| partition.racks.iter().any(|other| **other == *rack))
    }
}

/// The assignment of one topic.
#[derive(Debug)]
struct TopicAssignment<'a> {
    topic: &'a Arc<str>,
    subscribers: Vec<Subscriber<'a>>,
    /// The unassigned partitions, in order.
    unassigned: Vec<&'a PartitionInfo>,
    partitions: usize,
    /// How many partitions each subscriber gets, and how many subscribers may still get one more.
    quota: usize,
    remaining_extra: usize,
    has_racks: bool,
    racks_differ: bool,
}

impl<'a> TopicAssignment<'a> {
    fn new(topic: &'a Arc<str>, partitions: &'a [PartitionInfo], subscribers: Vec<Subscriber<'a>>) -> Self {
        let near: BTreeSet<&str> = subscribers.iter().filter_map(|subscriber| subscriber.rack).collect();
        let all: BTreeSet<&str> =
            partitions.iter().flat_map(|partition| partition.racks.iter().map(AsRef::as_ref)).collect();
        let on_every_rack = partitions.iter().all(|partition| partition.racks.len() == all.len());
        Self {
            topic,
            unassigned: partitions.iter().collect(),
            partitions: partitions.len(),
            quota: partitions.len() / subscribers.len().max(1),
            remaining_extra: partitions.len() % subscribers.len().max(1),
            has_racks: !near.is_empty(),
            racks_differ: !near.is_disjoint(&all) && !on_every_rack,
            subscribers,
        }
    }

    /// How many more partitions a subscriber may get.
    fn room(&self, subscriber: &Subscriber<'_>) -> usize {
        (self.quota + usize::from(self.remaining_extra > 0)).saturating_sub(subscriber.count)
    }

    fn has_room(&self, at: usize) -> bool {
        self.subscribers.get(at).is_some_and(|subscriber| self.room(subscriber) > 0)
    }

    /// Assigns to each subscriber the first partitions that it accepts, up to its quota.
    fn assign_ranges(
        &mut self,
        accepts: impl Fn(&Subscriber<'_>, &PartitionInfo) -> bool,
        assigned: &mut [Vec<TopicPartition>],
    ) {
        for at in 0..self.subscribers.len() {
            let Some(subscriber) = self.subscribers.get(at) else { return };
            let near = self.unassigned.iter().filter(|partition| accepts(subscriber, partition));
            let partitions: Vec<i32> =
                near.take(self.room(subscriber)).map(|partition| partition.partition).collect();
            self.assign_partitions(at, &partitions, assigned);
        }
    }

    fn assign_partitions(&mut self, at: usize, partitions: &[i32], assigned: &mut [Vec<TopicPartition>]) {
        let Some(subscriber) = self.subscribers.get_mut(at) else { return };
        if partitions.is_empty() {
            return;
        }
        subscriber.count += partitions.len();
        if subscriber.count > self.quota {
            self.remaining_extra = self.remaining_extra.saturating_sub(1);
        }
        self.unassigned.retain(|partition| partitions.binary_search(&partition.partition).is_err());
        if let Some(list) = assigned.get_mut(subscriber.member) {
            list.extend(partitions.iter().map(|partition| (Arc::clone(self.topic), *partition)));
        }
    }
}

/// Assigns partitions with a replica in the member's rack; co-partitioned topics are assigned together.
fn assign_by_rack(topics: &mut [TopicAssignment<'_>], assigned: &mut [Vec<TopicPartition>]) {
    let mut copartitioned: BTreeMap<(Vec<usize>, usize), Vec<&mut TopicAssignment<'_>>> = BTreeMap::new();
    for topic in topics.iter_mut().filter(|topic| topic.has_racks) {
        let subscribers = topic.subscribers.iter().map(|subscriber| subscriber.member).collect();
        copartitioned.entry((subscribers, topic.partitions)).or_default().push(topic);
    }
    for ((subscribers, partitions), mut topics) in copartitioned {
        match topics.as_mut_slice() {
            [topic] if topic.racks_differ => {
                topic.assign_ranges(|subscriber, partition| subscriber.is_near(partition), assigned);
            }
            [_] | [] => {}
            group => assign_copartitioned(subscribers.len(), partitions, group, assigned),
        }
    }
}

/// Assigns each partition number of all topics to the first subscriber that is near all of them.
fn assign_copartitioned(
    subscribers: usize,
    partitions: usize,
    topics: &mut [&mut TopicAssignment<'_>],
    assigned: &mut [Vec<TopicPartition>],
) {
    let mut waiting: Vec<usize> = (0..subscribers).collect();
    for number in (0..).take(partitions) {
        let is_near = |topic: &TopicAssignment<'_>, at: usize| {
            let partition = topic.unassigned.iter().find(|partition| partition.partition == number);
            match (topic.subscribers.get(at), partition) {
                (Some(subscriber), Some(partition)) => subscriber.is_near(partition) && topic.has_room(at),
                _ => false,
            }
        };
        let near = waiting.iter().position(|at| topics.iter().all(|topic| is_near(topic, *at)));
        let Some(at) = near.and_then(|near| waiting.get(near).copied()) else { continue };
        for topic in &mut *topics {
            topic.assign_partitions(at, &[number], assigned);
        }
        if !topics.iter().any(|topic| topic.has_room(at)) {
            waiting.retain(|other| *other != at);
        }
    }
}

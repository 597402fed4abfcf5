//! `range`: of each topic every subscribed member gets consecutive partitions, the first ones one
//! more if it does not come out even. Members get the same numbers of topics that are subscribed to
//! alike and have as many partitions, so that such topics can be joined.
//!
//! If members and replicas have racks and these differ from partition to partition, members first
//! get partitions that have a replica in their own (KIP-881), as many as they would get anyway.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::{Assignor, GroupAssignment, MemberSubscription, TopicInfo, Topics, assignment_of, member_order};
use crate::error::Result;
use crate::topic_partition::TopicPartition;

/// Gives each member consecutive partitions of each topic, as Java's `RangeAssignor`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Range;

impl Assignor for Range {
    fn name(&self) -> &'static str {
        "range"
    }

    fn assign(&self, topics: &Topics, members: &[MemberSubscription]) -> Result<GroupAssignment> {
        let mut readers: HashMap<&str, Vec<Reader<'_>>> = HashMap::new();
        let mut order: Vec<(usize, &MemberSubscription)> = members.iter().enumerate().collect();
        order.sort_by(|(_, a), (_, b)| member_order(a, b));
        for (member, subscription) in order {
            let rack = subscription.rack.as_deref().filter(|rack| !rack.is_empty());
            let unique: BTreeSet<&str> = subscription.topics.iter().map(AsRef::as_ref).collect();
            for topic in unique {
                readers.entry(topic).or_default().push(Reader { member, rack, count: 0 });
            }
        }
        let mut shares: Vec<Share<'_>> = topics
            .iter()
            .filter_map(|(topic, partitions)| Some(Share::new(topic, partitions, readers.remove(&**topic)?)))
            .collect();
        let mut given = vec![Vec::new(); members.len()];
        if shares.iter().any(|share| share.racks_differ) {
            by_racks(&mut shares, &mut given);
        }
        for share in &mut shares {
            share.give_ranges(|_, _| true, &mut given);
        }
        Ok(assignment_of(members, given))
    }
}

/// A member that reads a topic.
#[derive(Debug)]
struct Reader<'a> {
    /// Its place among the members.
    member: usize,
    rack: Option<&'a str>,
    /// How many partitions of the topic it has.
    count: usize,
}

impl Reader<'_> {
    /// A member without a rack is near to everything.
    fn is_near(&self, partition: &TopicInfo) -> bool {
        self.rack.is_none_or(|rack| partition.racks.iter().any(|other| **other == *rack))
    }
}

/// The division of one topic.
#[derive(Debug)]
struct Share<'a> {
    topic: &'a Arc<str>,
    readers: Vec<Reader<'a>>,
    /// Those that nobody has yet, by number.
    left: Vec<&'a TopicInfo>,
    partitions: usize,
    /// What each reader gets, and how many of them may still get one more.
    each: usize,
    extra: usize,
    has_racks: bool,
    racks_differ: bool,
}

impl<'a> Share<'a> {
    fn new(topic: &'a Arc<str>, partitions: &'a [TopicInfo], readers: Vec<Reader<'a>>) -> Self {
        let near: BTreeSet<&str> = readers.iter().filter_map(|reader| reader.rack).collect();
        let all: BTreeSet<&str> =
            partitions.iter().flat_map(|partition| partition.racks.iter().map(AsRef::as_ref)).collect();
        let everywhere = partitions.iter().all(|partition| partition.racks.len() == all.len());
        Self {
            topic,
            left: partitions.iter().collect(),
            partitions: partitions.len(),
            each: partitions.len() / readers.len().max(1),
            extra: partitions.len() % readers.len().max(1),
            has_racks: !near.is_empty(),
            racks_differ: !near.is_disjoint(&all) && !everywhere,
            readers,
        }
    }

    /// How many more partitions a reader may get.
    fn room(&self, reader: &Reader<'_>) -> usize {
        (self.each + usize::from(self.extra > 0)).saturating_sub(reader.count)
    }

    fn has_room(&self, at: usize) -> bool {
        self.readers.get(at).is_some_and(|reader| self.room(reader) > 0)
    }

    /// Gives each reader the first partitions that it may have, as many as it may have.
    fn give_ranges(
        &mut self,
        may: impl Fn(&Reader<'_>, &TopicInfo) -> bool,
        given: &mut [Vec<TopicPartition>],
    ) {
        for at in 0..self.readers.len() {
            let Some(reader) = self.readers.get(at) else { return };
            let near = self.left.iter().filter(|partition| may(reader, partition));
            let taken: Vec<i32> = near.take(self.room(reader)).map(|partition| partition.partition).collect();
            self.give(at, &taken, given);
        }
    }

    fn give(&mut self, at: usize, taken: &[i32], given: &mut [Vec<TopicPartition>]) {
        let Some(reader) = self.readers.get_mut(at) else { return };
        if taken.is_empty() {
            return;
        }
        reader.count += taken.len();
        if reader.count > self.each {
            self.extra = self.extra.saturating_sub(1);
        }
        self.left.retain(|partition| taken.binary_search(&partition.partition).is_err());
        if let Some(list) = given.get_mut(reader.member) {
            list.extend(taken.iter().map(|partition| (Arc::clone(self.topic), *partition)));
        }
    }
}

/// Gives members what is near them; topics that may be joined are given together.
fn by_racks(shares: &mut [Share<'_>], given: &mut [Vec<TopicPartition>]) {
    let mut alike: BTreeMap<(Vec<usize>, usize), Vec<&mut Share<'_>>> = BTreeMap::new();
    for share in shares.iter_mut().filter(|share| share.has_racks) {
        let readers = share.readers.iter().map(|reader| reader.member).collect();
        alike.entry((readers, share.partitions)).or_default().push(share);
    }
    for ((readers, partitions), mut shares) in alike {
        match shares.as_mut_slice() {
            [share] if share.racks_differ => {
                share.give_ranges(|reader, partition| reader.is_near(partition), given);
            }
            [_] | [] => {}
            together => give_together(readers.len(), partitions, together, given),
        }
    }
}

/// Gives the same number of each topic to the first reader that is near all of them.
fn give_together(
    readers: usize,
    partitions: usize,
    shares: &mut [&mut Share<'_>],
    given: &mut [Vec<TopicPartition>],
) {
    let mut waiting: Vec<usize> = (0..readers).collect();
    for number in (0..).take(partitions) {
        let is_near = |share: &Share<'_>, at: usize| {
            let partition = share.left.iter().find(|partition| partition.partition == number);
            match (share.readers.get(at), partition) {
                (Some(reader), Some(partition)) => reader.is_near(partition) && share.has_room(at),
                _ => false,
            }
        };
        let near = waiting.iter().position(|at| shares.iter().all(|share| is_near(share, *at)));
        let Some(at) = near.and_then(|near| waiting.get(near).copied()) else { continue };
        for share in &mut *shares {
            share.give(at, &[number], given);
        }
        if !shares.iter().any(|share| share.has_room(at)) {
            waiting.retain(|other| *other != at);
        }
    }
}

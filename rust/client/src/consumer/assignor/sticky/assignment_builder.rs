//! Balances partitions among members that subscribe to different topics.
//!
//! A partition can go to any member that subscribes to its topic. If a member has at least two more
//! partitions than another, and a chain of moves from member to member connects them, the moves improve the
//! balance; when there is no such chain, the balance is optimal (Harvey, Ladner, Lovász, Tamir:
//! Semi-matchings for bipartite graphs). So previous assignments are kept, the other partitions go to the
//! least loaded members, and then as few partitions as possible move.
//!
//! Members and topics are identified by indexes into lists that do not change.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};

use crate::consumer::assignor::{MemberSubscription, Topics, text_order};
use crate::topic_partition::TopicPartition;

/// A partition: its number and the index of its topic. In this order members keep the first partitions of
/// each topic rather than all of the first topic.
pub(super) type PartitionKey = (i32, usize);

#[derive(Debug)]
pub(super) struct Topic<'a> {
    name: &'a Arc<str>,
    /// The racks with a replica, by partition.
    racks: HashMap<i32, &'a [Arc<str>]>,
    pub(super) subscribers: Vec<usize>,
}

#[derive(Debug, Default)]
pub(super) struct Assignee<'a> {
    rack: Option<&'a str>,
    pub(super) subscribed: HashSet<usize>,
    pub(super) assigned: BTreeSet<PartitionKey>,
    /// Those that it did not have before.
    new: BTreeSet<PartitionKey>,
}

/// An assignment under construction.
#[derive(Debug)]
pub(super) struct AssignmentBuilder<'a> {
    pub(super) topics: Vec<Topic<'a>>,
    pub(super) members: Vec<Assignee<'a>>,
    /// The index in the group of each of `members`, which are in the order of their ids.
    order: Vec<usize>,
    pub(super) owner: HashMap<PartitionKey, usize>,
    pub(super) previous_owner: HashMap<PartitionKey, usize>,
    by_load: BTreeSet<(usize, usize)>,
    racks_differ: bool,
}

impl<'a> AssignmentBuilder<'a> {
    pub(super) fn new(topics: &'a Topics, group: &'a [MemberSubscription]) -> Self {
        let mut order: Vec<usize> = (0..group.len()).collect();
        order.sort_by(|a, b| text_order(&group[*a].member_id, &group[*b].member_id));
        let mut listed: Vec<Topic<'_>> = topics
            .iter()
            .map(|(name, infos)| Topic {
                name,
                racks: infos.iter().map(|info| (info.partition, info.racks.as_slice())).collect(),
                subscribers: Vec::new(),
            })
            .collect();
        listed.sort_by(|a, b| text_order(a.name, b.name));
        let indexes: HashMap<&Arc<str>, usize> = listed.iter().map(|topic| topic.name).zip(0..).collect();
        let members: Vec<Assignee<'_>> = order
            .iter()
            .map(|at| Assignee {
                rack: group[*at].rack.as_deref().filter(|rack| !rack.is_empty()),
                subscribed: group[*at]
                    .topics
                    .iter()
                    .filter_map(|topic| indexes.get(topic).copied())
                    .collect(),
                ..Assignee::default()
            })
            .collect();
        for (at, member) in members.iter().enumerate() {
            for topic in &member.subscribed {
                listed[*topic].subscribers.push(at);
            }
        }
        Self {
            racks_differ: racks_differ(&listed, &members),
            by_load: (0..members.len()).map(|at| (0, at)).collect(),
            topics: listed,
            members,
            order,
            owner: HashMap::new(),
            previous_owner: HashMap::new(),
        }
    }

    /// Assigns partitions to their previous owners, if these still subscribe to the topic. Partitions that
    /// others are nearer to stay unassigned.
    pub(super) fn keep_previous(&mut self, owners: impl IntoIterator<Item = (TopicPartition, usize)>) {
        let indexes: HashMap<&str, usize> = self.topics.iter().map(|topic| &**topic.name).zip(0..).collect();
        let mut by_group = vec![0; self.order.len()];
        for (index, at) in self.order.iter().enumerate() {
            by_group[*at] = index;
        }
        for ((name, partition), owner) in owners {
            let Some(topic) = indexes.get(&*name).copied() else { continue };
            let (key, member) = ((partition, topic), by_group[owner]);
            if self.topics[topic].racks.contains_key(&partition)
                && self.members[member].subscribed.contains(&topic)
            {
                self.previous_owner.insert(key, member);
            }
        }
        let kept = self.previous_owner.clone().into_iter();
        for (key, member) in kept {
            if self.is_near(member, key)
                || !self.topics[key.1].subscribers.iter().any(|at| self.is_near(*at, key))
            {
                self.assign(key, member);
            }
        }
    }

    /// Assigns the rest to the least loaded members, near ones first. Partitions with few candidates go
    /// first.
    pub(super) fn assign_unassigned(&mut self) {
        let near = |key: PartitionKey| match self.racks_differ {
            true => self.topics[key.1].subscribers.iter().filter(|at| self.is_near(**at, key)).count(),
            false => 0,
        };
        let partitions = self.topics.iter().enumerate();
        let partitions =
            partitions.flat_map(|(at, topic)| topic.racks.keys().map(move |partition| (*partition, at)));
        let mut left: Vec<_> = partitions
            .filter(|key| !self.owner.contains_key(key))
            .map(|key| (near(key), self.topics[key.1].subscribers.len(), key.1, key.0))
            .collect();
        left.sort_unstable();
        for (_, _, topic, partition) in left {
            let key = (partition, topic);
            let subscribers = || {
                let in_order = self.by_load.iter().map(|(_, at)| *at);
                in_order.filter(|at| self.members[*at].subscribed.contains(&topic))
            };
            let least = subscribers().find(|at| self.is_near(*at, key)).or_else(|| subscribers().next());
            if let Some(least) = least {
                self.assign(key, least);
            }
        }
    }

    /// Moves partitions from more loaded members to less loaded ones until no move is possible.
    pub(super) fn balance(&mut self) {
        // A member that cannot receive now never can: every member that could pass a partition on to it has
        // too few, and keeps too few. The same holds for the members reached on the way, which have no
        // fewer.
        let mut done: HashSet<usize> = HashSet::new();
        loop {
            let least = self.by_load.iter().find(|(_, at)| !done.contains(at)).copied();
            let most = self.by_load.last().map_or(0, |(load, _)| *load);
            let Some((_, least)) = least.filter(|(load, _)| load + 2 <= most) else { return };
            if !self.move_directly(least)
                && let Err(reached) = self.move_along_path(least)
            {
                done.insert(least);
                done.extend(reached);
            }
        }
    }

    /// The assignment of each member of the group.
    pub(super) fn finish(&self) -> Vec<Vec<TopicPartition>> {
        let mut assigned = vec![Vec::new(); self.members.len()];
        for (member, at) in self.members.iter().zip(&self.order) {
            let named =
                |(partition, topic): &PartitionKey| (Arc::clone(self.topics[*topic].name), *partition);
            assigned[*at] = member.assigned.iter().map(named).collect();
        }
        assigned
    }

    pub(super) fn load(&self, member: usize) -> usize {
        self.members[member].assigned.len()
    }

    /// A member without a rack is near all replicas.
    pub(super) fn is_near(&self, member: usize, (partition, topic): PartitionKey) -> bool {
        !self.racks_differ
            || self.members[member].rack.is_none_or(|rack| {
                let racks = self.topics[topic].racks.get(&partition);
                racks.is_some_and(|racks| racks.iter().any(|other| **other == *rack))
            })
    }

    pub(super) fn assign(&mut self, key: PartitionKey, to: usize) {
        if let Some(from) = self.owner.insert(key, to) {
            let load = self.load(from);
            self.by_load.remove(&(load, from));
            self.by_load.insert((load - 1, from));
            self.members[from].assigned.remove(&key);
            self.members[from].new.remove(&key);
        }
        let load = self.load(to);
        self.by_load.remove(&(load, to));
        self.by_load.insert((load + 1, to));
        self.members[to].assigned.insert(key);
        if self.previous_owner.get(&key) != Some(&to) {
            self.members[to].new.insert(key);
        }
    }

    /// The members with at least two more partitions than `member`, the most loaded first.
    fn donors(&self, member: usize) -> impl Iterator<Item = usize> {
        let least = self.load(member) + 2;
        self.by_load.iter().rev().take_while(move |(load, _)| *load >= least).map(|(_, at)| *at)
    }

    /// Moves one partition to `to` from a member that has at least two more.
    fn move_directly(&mut self, to: usize) -> bool {
        let found = match self.racks_differ {
            true => self
                .donors(to)
                .filter_map(|from| self.best(from, to))
                .max_by_key(|key| self.move_value(*key, to)),
            // A partition that is new to its owner costs nothing to move.
            false => self
                .donors(to)
                .find_map(|from| self.last_of(&self.members[from].new, to))
                .or_else(|| self.donors(to).find_map(|from| self.best(from, to))),
        };
        found.inspect(|key| self.assign(*key, to)).is_some()
    }

    fn last_of(&self, partitions: &BTreeSet<PartitionKey>, to: usize) -> Option<PartitionKey> {
        partitions.iter().rev().find(|key| self.members[to].subscribed.contains(&key.1)).copied()
    }

    /// The best partition for one member to give to another.
    fn best(&self, from: usize, to: usize) -> Option<PartitionKey> {
        let readable =
            self.members[from].assigned.iter().filter(|key| self.members[to].subscribed.contains(&key.1));
        readable.max_by_key(|key| (self.move_value(**key, to), **key)).copied()
    }

    /// The value of a move: nearer, back to the previous owner, not away from the previous owner.
    fn move_value(&self, key: PartitionKey, to: usize) -> (i8, bool, bool) {
        let from = self.owner.get(&key).copied();
        let nearer =
            i8::from(self.is_near(to, key)) - from.map_or(0, |from| i8::from(self.is_near(from, key)));
        let before = self.previous_owner.get(&key).copied();
        (nearer, before == Some(to), before != from)
    }

    /// Finds the shortest chain of moves to `to` from a member that has at least two more, and applies it;
    /// otherwise returns the members reached, which have too few.
    fn move_along_path(&mut self, to: usize) -> Result<(), Vec<usize>> {
        let enough = self.load(to) + 2;
        let mut receiver: HashMap<usize, usize> = HashMap::new();
        let mut seen_topics = HashSet::new();
        let mut waiting = VecDeque::from([to]);
        while let Some(at) = waiting.pop_front() {
            let mut topics: Vec<usize> = self.members[at].subscribed.iter().copied().collect();
            topics.sort_unstable();
            for topic in topics.into_iter().filter(|topic| seen_topics.insert(*topic)) {
                let mut owners: Vec<usize> = self.topics[topic]
                    .racks
                    .keys()
                    .filter_map(|partition| self.owner.get(&(*partition, topic)).copied())
                    .collect();
                owners.sort_unstable_by_key(|owner| (std::cmp::Reverse(self.load(*owner)), *owner));
                owners.dedup();
                for owner in owners {
                    if owner == to || receiver.contains_key(&owner) {
                        continue;
                    }
                    receiver.insert(owner, at);
                    if self.load(owner) >= enough {
                        self.apply_path(owner, &receiver);
                        return Ok(());
                    }
                    waiting.push_back(owner);
                }
            }
        }
        Err(receiver.into_keys().collect())
    }

    fn apply_path(&mut self, mut from: usize, receiver: &HashMap<usize, usize>) {
        while let Some(to) = receiver.get(&from).copied() {
            if let Some(key) = self.best(from, to) {
                self.assign(key, to);
            }
            from = to;
        }
    }
}

/// Whether racks matter: members and replicas share one, and partitions differ in theirs.
fn racks_differ(topics: &[Topic<'_>], members: &[Assignee<'_>]) -> bool {
    let lists = || topics.iter().flat_map(|topic| topic.racks.values());
    let all: BTreeSet<&str> = lists().flat_map(|racks| racks.iter().map(AsRef::as_ref)).collect();
    let shared = members.iter().filter_map(|member| member.rack).any(|rack| all.contains(rack));
    shared && lists().any(|racks| racks.len() != all.len())
}

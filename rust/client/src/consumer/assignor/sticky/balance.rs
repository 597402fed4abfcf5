//! Dividing partitions evenly among members that do not all read the same topics.
//!
//! A partition may be with any member that reads its topic. If somebody has at least two more than
//! another, and partitions can be handed on from the one to the other, from member to member if need
//! be, that makes the division more even; when nothing of the kind is left, no division is more even
//! (Harvey, Ladner, Lovász, Tamir: Semi-matchings for bipartite graphs). So what was before is kept,
//! the rest is filled in where there is least, and then only as many partitions move as must.
//!
//! Members and topics are named by their places in lists that never change.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};

use crate::consumer::assignor::{MemberSubscription, Topics, text_order};
use crate::topic_partition::TopicPartition;

/// A partition: its number and its topic's place. In this order members keep them: the first ones
/// of each topic rather than all of the first topic.
pub(super) type Slot = (i32, usize);

#[derive(Debug)]
pub(super) struct Topic<'a> {
    name: &'a Arc<str>,
    /// By partition, the racks that have a replica.
    racks: HashMap<i32, &'a [Arc<str>]>,
    pub(super) readers: Vec<usize>,
}

#[derive(Debug, Default)]
pub(super) struct Member<'a> {
    rack: Option<&'a str>,
    pub(super) reads: HashSet<usize>,
    pub(super) has: BTreeSet<Slot>,
    /// Those of them that it did not have before.
    new: BTreeSet<Slot>,
}

/// Who has what.
#[derive(Debug)]
pub(super) struct Board<'a> {
    pub(super) topics: Vec<Topic<'a>>,
    pub(super) members: Vec<Member<'a>>,
    /// By which place in `members` a member of the group goes, in the order of their ids.
    order: Vec<usize>,
    pub(super) holder: HashMap<Slot, usize>,
    pub(super) before: HashMap<Slot, usize>,
    by_load: BTreeSet<(usize, usize)>,
    racks_differ: bool,
}

impl<'a> Board<'a> {
    pub(super) fn new(topics: &'a Topics, group: &'a [MemberSubscription]) -> Self {
        let mut order: Vec<usize> = (0..group.len()).collect();
        order.sort_by(|a, b| text_order(&group[*a].member_id, &group[*b].member_id));
        let mut listed: Vec<Topic<'_>> = topics
            .iter()
            .map(|(name, infos)| Topic {
                name,
                racks: infos.iter().map(|info| (info.partition, info.racks.as_slice())).collect(),
                readers: Vec::new(),
            })
            .collect();
        listed.sort_by(|a, b| text_order(a.name, b.name));
        let places: HashMap<&Arc<str>, usize> = listed.iter().map(|topic| topic.name).zip(0..).collect();
        let members: Vec<Member<'_>> = order
            .iter()
            .map(|at| Member {
                rack: group[*at].rack.as_deref().filter(|rack| !rack.is_empty()),
                reads: group[*at].topics.iter().filter_map(|topic| places.get(topic).copied()).collect(),
                ..Member::default()
            })
            .collect();
        for (at, member) in members.iter().enumerate() {
            for topic in &member.reads {
                listed[*topic].readers.push(at);
            }
        }
        Self {
            racks_differ: racks_differ(&listed, &members),
            by_load: (0..members.len()).map(|at| (0, at)).collect(),
            topics: listed,
            members,
            order,
            holder: HashMap::new(),
            before: HashMap::new(),
        }
    }

    /// Gives members what they had, as far as they still read it. What is nearer to another goes
    /// to nobody yet.
    pub(super) fn keep(&mut self, owners: impl IntoIterator<Item = (TopicPartition, usize)>) {
        let places: HashMap<&str, usize> = self.topics.iter().map(|topic| &**topic.name).zip(0..).collect();
        let mut by_group = vec![0; self.order.len()];
        for (place, at) in self.order.iter().enumerate() {
            by_group[*at] = place;
        }
        for ((name, partition), owner) in owners {
            let Some(topic) = places.get(&*name).copied() else { continue };
            let (slot, member) = ((partition, topic), by_group[owner]);
            if self.topics[topic].racks.contains_key(&partition)
                && self.members[member].reads.contains(&topic)
            {
                self.before.insert(slot, member);
            }
        }
        let kept = self.before.clone().into_iter();
        for (slot, member) in kept {
            if self.is_near(member, slot)
                || !self.topics[slot.1].readers.iter().any(|at| self.is_near(*at, slot))
            {
                self.give(slot, member);
            }
        }
    }

    /// Gives what nobody has to who has least, nearby if there is anybody. What few can take goes first.
    pub(super) fn fill(&mut self) {
        let near = |slot: Slot| match self.racks_differ {
            true => self.topics[slot.1].readers.iter().filter(|at| self.is_near(**at, slot)).count(),
            false => 0,
        };
        let slots = self.topics.iter().enumerate();
        let slots = slots.flat_map(|(at, topic)| topic.racks.keys().map(move |partition| (*partition, at)));
        let mut left: Vec<_> = slots
            .filter(|slot| !self.holder.contains_key(slot))
            .map(|slot| (near(slot), self.topics[slot.1].readers.len(), slot.1, slot.0))
            .collect();
        left.sort_unstable();
        for (_, _, topic, partition) in left {
            let slot = (partition, topic);
            let readers = || {
                let in_order = self.by_load.iter().map(|(_, at)| *at);
                in_order.filter(|at| self.members[*at].reads.contains(&topic))
            };
            let least = readers().find(|at| self.is_near(*at, slot)).or_else(|| readers().next());
            if let Some(least) = least {
                self.give(slot, least);
            }
        }
    }

    /// Moves partitions from who has more to who has less until that is not possible any more.
    pub(super) fn level(&mut self) {
        // Who cannot be given more now cannot be later either: whoever could hand something on to it
        // has too little, and goes on having it. So can none of these, since they have no less.
        let mut done: HashSet<usize> = HashSet::new();
        loop {
            let least = self.by_load.iter().find(|(_, at)| !done.contains(at)).copied();
            let most = self.by_load.last().map_or(0, |(load, _)| *load);
            let Some((_, least)) = least.filter(|(load, _)| load + 2 <= most) else { return };
            if !self.move_directly(least)
                && let Err(reached) = self.hand_on(least)
            {
                done.insert(least);
                done.extend(reached);
            }
        }
    }

    /// What each member of the group has.
    pub(super) fn given(&self) -> Vec<Vec<TopicPartition>> {
        let mut given = vec![Vec::new(); self.members.len()];
        for (member, at) in self.members.iter().zip(&self.order) {
            let named = |(partition, topic): &Slot| (Arc::clone(self.topics[*topic].name), *partition);
            given[*at] = member.has.iter().map(named).collect();
        }
        given
    }

    pub(super) fn load(&self, member: usize) -> usize {
        self.members[member].has.len()
    }

    /// Who has no rack is near to everything.
    pub(super) fn is_near(&self, member: usize, (partition, topic): Slot) -> bool {
        !self.racks_differ
            || self.members[member].rack.is_none_or(|rack| {
                let racks = self.topics[topic].racks.get(&partition);
                racks.is_some_and(|racks| racks.iter().any(|other| **other == *rack))
            })
    }

    pub(super) fn give(&mut self, slot: Slot, to: usize) {
        if let Some(from) = self.holder.insert(slot, to) {
            let load = self.load(from);
            self.by_load.remove(&(load, from));
            self.by_load.insert((load - 1, from));
            self.members[from].has.remove(&slot);
            self.members[from].new.remove(&slot);
        }
        let load = self.load(to);
        self.by_load.remove(&(load, to));
        self.by_load.insert((load + 1, to));
        self.members[to].has.insert(slot);
        if self.before.get(&slot) != Some(&to) {
            self.members[to].new.insert(slot);
        }
    }

    /// Those that have at least two more than `member`, the most first.
    fn givers(&self, member: usize) -> impl Iterator<Item = usize> {
        let least = self.load(member) + 2;
        self.by_load.iter().rev().take_while(move |(load, _)| *load >= least).map(|(_, at)| *at)
    }

    /// Moves one partition to `to` from somebody who has at least two more.
    fn move_directly(&mut self, to: usize) -> bool {
        let found = match self.racks_differ {
            true => self
                .givers(to)
                .filter_map(|from| self.best(from, to))
                .max_by_key(|slot| self.worth(*slot, to)),
            // What is new to its holder costs nothing to move.
            false => self
                .givers(to)
                .find_map(|from| self.last_of(&self.members[from].new, to))
                .or_else(|| self.givers(to).find_map(|from| self.best(from, to))),
        };
        found.inspect(|slot| self.give(*slot, to)).is_some()
    }

    fn last_of(&self, slots: &BTreeSet<Slot>, to: usize) -> Option<Slot> {
        slots.iter().rev().find(|slot| self.members[to].reads.contains(&slot.1)).copied()
    }

    /// What one member had best give to another, if it can.
    fn best(&self, from: usize, to: usize) -> Option<Slot> {
        let readable = self.members[from].has.iter().filter(|slot| self.members[to].reads.contains(&slot.1));
        readable.max_by_key(|slot| (self.worth(**slot, to), **slot)).copied()
    }

    /// What a move is worth: to be nearer, to be where it was before, not to be taken from where it was.
    fn worth(&self, slot: Slot, to: usize) -> (i8, bool, bool) {
        let from = self.holder.get(&slot).copied();
        let nearer =
            i8::from(self.is_near(to, slot)) - from.map_or(0, |from| i8::from(self.is_near(from, slot)));
        let before = self.before.get(&slot).copied();
        (nearer, before == Some(to), before != from)
    }

    /// Finds the shortest way by which partitions can be handed on to `to` from somebody who has at
    /// least two more, and does so; or says who could hand something on but has too little.
    fn hand_on(&mut self, to: usize) -> Result<(), Vec<usize>> {
        let enough = self.load(to) + 2;
        let mut receiver: HashMap<usize, usize> = HashMap::new();
        let mut seen_topics = HashSet::new();
        let mut waiting = VecDeque::from([to]);
        while let Some(at) = waiting.pop_front() {
            let mut topics: Vec<usize> = self.members[at].reads.iter().copied().collect();
            topics.sort_unstable();
            for topic in topics.into_iter().filter(|topic| seen_topics.insert(*topic)) {
                let mut holders: Vec<usize> = self.topics[topic]
                    .racks
                    .keys()
                    .filter_map(|partition| self.holder.get(&(*partition, topic)).copied())
                    .collect();
                holders.sort_unstable_by_key(|holder| (std::cmp::Reverse(self.load(*holder)), *holder));
                holders.dedup();
                for holder in holders {
                    if holder == to || receiver.contains_key(&holder) {
                        continue;
                    }
                    receiver.insert(holder, at);
                    if self.load(holder) >= enough {
                        self.hand_along(holder, &receiver);
                        return Ok(());
                    }
                    waiting.push_back(holder);
                }
            }
        }
        Err(receiver.into_keys().collect())
    }

    fn hand_along(&mut self, mut from: usize, receiver: &HashMap<usize, usize>) {
        while let Some(to) = receiver.get(&from).copied() {
            if let Some(slot) = self.best(from, to) {
                self.give(slot, to);
            }
            from = to;
        }
    }
}

/// Whether racks make a difference: some members and replicas share one, and not all partitions
/// are in the same ones.
fn racks_differ(topics: &[Topic<'_>], members: &[Member<'_>]) -> bool {
    let lists = || topics.iter().flat_map(|topic| topic.racks.values());
    let all: BTreeSet<&str> = lists().flat_map(|racks| racks.iter().map(AsRef::as_ref)).collect();
    let shared = members.iter().filter_map(|member| member.rack).any(|rack| all.contains(rack));
    shared && lists().any(|racks| racks.len() != all.len())
}

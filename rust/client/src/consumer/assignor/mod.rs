//! Who in a classic group reads which partitions: what assignors are, and those that come along.
//!
//! The group's leader decodes what the members told of themselves (`protocol.rs`), asks the assignor
//! that all have in common, and sends each member its part (`plan.rs`). An assignor is a function
//! from the group to an assignment, without I/O and without a state of its own.
//!
//! Invariant: whatever an assignor answers, a partition never gets two readers: one that its owner
//! still holds is given to nobody else before the owner has let go of it (KIP-429).

mod plan;
mod protocol;
mod range;
mod round_robin;
mod sticky;

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::error::Result;
use crate::metadata::Snapshot;
use crate::topic_partition::TopicPartition;

pub use plan::{Subscriptions, plan};
pub use protocol::{decode_assignment, decode_subscription, encode_assignment, encode_subscription};
pub use range::Range;
pub use round_robin::RoundRobin;
pub use sticky::{CooperativeSticky, Sticky};

/// Divides the partitions of the subscribed topics among the members of a group.
///
/// Members agree on an assignor by its name, so that every member must have one of the same name;
/// only the group's leader asks it to assign.
pub trait Assignor: fmt::Debug + Send + Sync {
    /// The name by which members agree on it, such as `range`.
    fn name(&self) -> &str;

    /// Whether members may keep what they own during a rebalance (KIP-429). If not, each gives up
    /// everything before it joins again. Every assignor of a member must say so for it to be done.
    fn cooperative(&self) -> bool {
        false
    }

    /// What a member tells the leader's assignor beyond the rest of its subscription.
    fn user_data(&self, _topics: &[Arc<str>], _last: &LastAssignment) -> Option<Bytes> {
        None
    }

    /// Told what this member was given, with what the leader's assignor had to say about it.
    fn on_assignment(&self, _assignment: &MemberAssignment, _generation: i32) {}

    /// Gives each member its partitions. Who is left out gets none; a partition that is given to two
    /// members, or to one that is not subscribed to its topic, is an error of the assignor. What is
    /// given to a member while another one owns it is held back by the caller.
    fn assign(&self, topics: &Topics, members: &[MemberSubscription]) -> Result<GroupAssignment>;
}

/// What a member was given when it last had an assignment, and in which generation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LastAssignment {
    /// The partitions; none if it never had any.
    pub partitions: Vec<TopicPartition>,
    /// The generation; `None` before the first assignment.
    pub generation: Option<i32>,
}

/// What a member told of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemberSubscription {
    /// Its id.
    pub member_id: Arc<str>,
    /// `group.instance.id`, of a static member.
    pub instance_id: Option<Arc<str>>,
    /// The topics that it reads.
    pub topics: Vec<Arc<str>>,
    /// The partitions that it holds while it joins; none with eager assignors.
    pub owned: Vec<TopicPartition>,
    /// The generation in which it got them; -1 if it does not say.
    pub generation: i32,
    /// `client.rack` (KIP-881).
    pub rack: Option<Arc<str>>,
    /// What its assignor has added.
    pub user_data: Option<Bytes>,
}

/// What a member is given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemberAssignment {
    /// The partitions.
    pub partitions: Vec<TopicPartition>,
    /// What the leader's assignor has to say to the member's.
    pub user_data: Option<Bytes>,
}

/// What the members are given, by their ids.
pub type GroupAssignment = BTreeMap<Arc<str>, MemberAssignment>;

/// The subscribed topics that exist, with their partitions by number.
pub type Topics = BTreeMap<Arc<str>, Vec<TopicInfo>>;

/// A partition, as assignors see it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TopicInfo {
    /// Its number.
    pub partition: i32,
    /// The racks that have a replica, each once.
    pub racks: Vec<Arc<str>>,
}

/// The topics of these names, as far as the metadata has them.
#[must_use]
pub fn topics<'a>(snapshot: &Snapshot, names: impl IntoIterator<Item = &'a Arc<str>>) -> Topics {
    let racks: BTreeMap<i32, Arc<str>> = snapshot
        .brokers
        .values()
        .filter_map(|broker| Some((broker.id, broker.rack.as_deref()?.into())))
        .collect();
    let mut found = Topics::new();
    for topic in names.into_iter().filter_map(|name| snapshot.topic(name)) {
        let partitions = topic.partitions.iter().map(|partition| {
            let replicas = topic.replicas(partition).iter();
            let mut racks: Vec<Arc<str>> = replicas.filter_map(|id| racks.get(id).cloned()).collect();
            racks.sort_unstable();
            racks.dedup();
            TopicInfo { partition: partition.index, racks }
        });
        let partitions: Vec<TopicInfo> = partitions.collect();
        if !partitions.is_empty() {
            found.insert(Arc::clone(&topic.name), partitions);
        }
    }
    found
}

/// The assignor of this name: Kafka's (`range`) or that of Java's class
/// (`org.apache.kafka.clients.consumer.RangeAssignor`).
#[must_use]
pub fn named(name: &str) -> Option<Arc<dyn Assignor>> {
    let class = name.strip_prefix("org.apache.kafka.clients.consumer.");
    match class.unwrap_or(name) {
        "range" | "RangeAssignor" => Some(Arc::new(Range)),
        "roundrobin" | "RoundRobinAssignor" => Some(Arc::new(RoundRobin)),
        "sticky" | "StickyAssignor" => Some(Arc::new(Sticky)),
        "cooperative-sticky" | "CooperativeStickyAssignor" => Some(Arc::new(CooperativeSticky)),
        _ => None,
    }
}

/// The order in which members are served, Java's: static members by their instance's id, before
/// others by the member's. Java compares UTF-16.
fn member_order(a: &MemberSubscription, b: &MemberSubscription) -> Ordering {
    match (&a.instance_id, &b.instance_id) {
        (Some(a), Some(b)) => text_order(a, b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => text_order(&a.member_id, &b.member_id),
    }
}

/// As Java orders strings.
fn text_order(a: &str, b: &str) -> Ordering {
    a.encode_utf16().cmp(b.encode_utf16())
}

/// An assignment of these partitions and no user data, one list for each member, in order.
fn assignment_of(members: &[MemberSubscription], given: Vec<Vec<TopicPartition>>) -> GroupAssignment {
    let of = |(member, mut partitions): (&MemberSubscription, Vec<TopicPartition>)| {
        partitions.sort_unstable();
        (Arc::clone(&member.member_id), MemberAssignment { partitions, user_data: None })
    };
    members.iter().zip(given).map(of).collect()
}

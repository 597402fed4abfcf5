//! The partition assignors of classic groups: the [`Assignor`] trait and Kafka's assignors.
//!
//! The group's leader decodes the subscriptions of all members (`protocol.rs`), calls the assignor that
//! they have in common, and sends each member its assignment (`plan.rs`). An assignor is a function from
//! the group to an assignment, without I/O or state.
//!
//! Invariant: whatever an assignor returns, a partition never has two readers. A partition that a member
//! still owns is assigned to another one only after its owner has revoked it (KIP-429).

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

/// Assigns the partitions of the subscribed topics to the members of a group.
///
/// Members agree on an assignor by name, so every member needs one of the same name; only the leader's is
/// called.
pub trait Assignor: fmt::Debug + Send + Sync {
    /// The name on which members agree, such as `range`.
    fn name(&self) -> &str;

    /// Whether members keep their partitions during a rebalance (KIP-429). Otherwise each gives up all of
    /// them before it rejoins. It takes effect only if all assignors of a member are cooperative.
    fn cooperative(&self) -> bool {
        false
    }

    /// The user data of a member's subscription, for the leader's assignor.
    fn user_data(&self, _topics: &[Arc<str>], _last: &LastAssignment) -> Option<Bytes> {
        None
    }

    /// Called with this member's assignment and the user data of the leader's assignor.
    fn on_assignment(&self, _assignment: &MemberAssignment, _generation: i32) {}

    /// Assigns partitions to members; a member without an entry gets none. It is an error to assign a
    /// partition twice, or to a member that does not subscribe to its topic. The caller withholds
    /// partitions that another member owns.
    fn assign(&self, topics: &Topics, members: &[MemberSubscription]) -> Result<GroupAssignment>;
}

/// The last assignment of a member and its generation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LastAssignment {
    /// The partitions; empty if it never had any.
    pub partitions: Vec<TopicPartition>,
    /// The generation; `None` before the first assignment.
    pub generation: Option<i32>,
}

/// The subscription of a member.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemberSubscription {
    /// The member id.
    pub member_id: Arc<str>,
    /// `group.instance.id` of a static member.
    pub instance_id: Option<Arc<str>>,
    /// The subscribed topics.
    pub topics: Vec<Arc<str>>,
    /// The partitions that the member owns while it joins; none with eager assignors.
    pub owned: Vec<TopicPartition>,
    /// The generation in which it got them; -1 if unknown.
    pub generation: i32,
    /// `client.rack` (KIP-881).
    pub rack: Option<Arc<str>>,
    /// The user data of its assignor.
    pub user_data: Option<Bytes>,
}

/// The assignment of a member.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemberAssignment {
    /// The partitions.
    pub partitions: Vec<TopicPartition>,
    /// User data from the leader's assignor.
    pub user_data: Option<Bytes>,
}

/// The assignments by member id.
pub type GroupAssignment = BTreeMap<Arc<str>, MemberAssignment>;

/// The subscribed topics that exist, and their partitions in order.
pub type Topics = BTreeMap<Arc<str>, Vec<PartitionInfo>>;

/// A partition, as assignors see it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PartitionInfo {
    /// The partition.
    pub partition: i32,
    /// The racks with a replica, without duplicates.
    pub racks: Vec<Arc<str>>,
}

/// The topics of these names that the metadata knows.
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
            PartitionInfo { partition: partition.index, racks }
        });
        let partitions: Vec<PartitionInfo> = partitions.collect();
        if !partitions.is_empty() {
            found.insert(Arc::clone(&topic.name), partitions);
        }
    }
    found
}

/// The assignor of this name, Kafka's (`range`) or that of Java's class
/// (`org.apache.kafka.clients.consumer.RangeAssignor`).
#[must_use]
pub fn by_name(name: &str) -> Option<Arc<dyn Assignor>> {
    let class = name.strip_prefix("org.apache.kafka.clients.consumer.");
    match class.unwrap_or(name) {
        "range" | "RangeAssignor" => Some(Arc::new(Range)),
        "roundrobin" | "RoundRobinAssignor" => Some(Arc::new(RoundRobin)),
        "sticky" | "StickyAssignor" => Some(Arc::new(Sticky)),
        "cooperative-sticky" | "CooperativeStickyAssignor" => Some(Arc::new(CooperativeSticky)),
        _ => None,
    }
}

/// Java's order of members: static members by instance id, before the others by member id.
fn member_order(a: &MemberSubscription, b: &MemberSubscription) -> Ordering {
    match (&a.instance_id, &b.instance_id) {
        (Some(a), Some(b)) => text_order(a, b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => text_order(&a.member_id, &b.member_id),
    }
}

/// Java's order of strings: by UTF-16 code units.
fn text_order(a: &str, b: &str) -> Ordering {
    a.encode_utf16().cmp(b.encode_utf16())
}

/// An assignment of these partitions without user data: one list per member, in order.
fn assignment_of(members: &[MemberSubscription], assigned: Vec<Vec<TopicPartition>>) -> GroupAssignment {
    let of = |(member, mut partitions): (&MemberSubscription, Vec<TopicPartition>)| {
        partitions.sort_unstable();
        (Arc::clone(&member.member_id), MemberAssignment { partitions, user_data: None })
    };
    members.iter().zip(assigned).map(of).collect()
}

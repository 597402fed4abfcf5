//! The leader's part of a rebalance: from the members' subscriptions to their encoded assignments.
//!
//! Invariant: each partition is assigned to one member at most, and to none while another member still owns
//! it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use ottla_protocol::messages::join_group::JoinGroupResponseMember;
use ottla_protocol::messages::sync_group::SyncGroupRequestAssignment;

use super::protocol::{decode_subscription, encode_assignment};
use super::{Assignor, GroupAssignment, MemberAssignment, MemberSubscription, Topics};
use crate::error::{Error, Kind, Result};

/// The subscriptions of all members of a group.
#[derive(Debug, Clone, Default)]
pub struct Subscriptions {
    /// One per member.
    pub members: Vec<MemberSubscription>,
}

impl Subscriptions {
    /// Decodes the subscriptions in the leader's JoinGroup response.
    pub fn decode(members: &[JoinGroupResponseMember]) -> Result<Self> {
        let decoded = members.iter().map(|member| {
            let instance = member.group_instance_id.as_deref().map(Arc::from);
            decode_subscription(member.member_id.as_str().into(), instance, member.metadata.clone())
        });
        Ok(Self { members: decoded.collect::<Result<_>>()? })
    }

    /// All subscribed topics, without duplicates.
    #[must_use]
    pub fn topics(&self) -> Vec<Arc<str>> {
        let unique: BTreeSet<&Arc<str>> = self.members.iter().flat_map(|member| &member.topics).collect();
        unique.into_iter().cloned().collect()
    }
}

/// Calls the assignor and encodes the assignment of each member.
pub fn plan(
    assignor: &dyn Assignor,
    topics: &Topics,
    subscriptions: &Subscriptions,
) -> Result<Vec<SyncGroupRequestAssignment>> {
    let members = &subscriptions.members;
    let mut assigned = assignor.assign(topics, members)?;
    check_assignment(&assigned, topics, members).map_err(|message| {
        Error::new(Kind::Config, format!("the assignor {}: {message}", assignor.name()))
    })?;
    if assignor.cooperative() {
        withhold_owned(&mut assigned, members);
    }
    let nothing = MemberAssignment::default();
    let encode = |member: &MemberSubscription| {
        let assignment = encode_assignment(assigned.get(&member.member_id).unwrap_or(&nothing))?;
        Ok(SyncGroupRequestAssignment { member_id: member.member_id.to_string(), assignment })
    };
    members.iter().map(encode).collect()
}

/// Checks the assignment: the assignor may belong to the application.
fn check_assignment(
    assigned: &GroupAssignment,
    topics: &Topics,
    members: &[MemberSubscription],
) -> Result<(), String> {
    let known: HashMap<&str, &MemberSubscription> =
        members.iter().map(|member| (&*member.member_id, member)).collect();
    let mut seen = HashSet::new();
    for (id, assignment) in assigned {
        let member = known.get(&**id).ok_or_else(|| format!("the group has no member {id}"))?;
        let reads: HashSet<&str> = member.topics.iter().map(AsRef::as_ref).collect();
        for (topic, partition) in &assignment.partitions {
            if !reads.contains(&**topic) {
                return Err(format!(
                    "{topic}-{partition} is assigned to {id}, which does not subscribe to {topic}"
                ));
            }
            let exists =
                topics.get(topic).is_some_and(|all| all.iter().any(|info| info.partition == *partition));
            if !exists {
                return Err(format!("partition {topic}-{partition} does not exist"));
            }
            if !seen.insert((topic, partition)) {
                return Err(format!("{topic}-{partition} is assigned to two members"));
            }
        }
    }
    Ok(())
}

/// Removes partitions that another member owns. The owner sees that they are no longer assigned to it,
/// revokes them and rejoins; then their new owner gets them (KIP-429).
fn withhold_owned(assigned: &mut GroupAssignment, members: &[MemberSubscription]) {
    let mut owners: HashMap<(&str, i32), Vec<&str>> = HashMap::new();
    for member in members {
        for (topic, partition) in &member.owned {
            owners.entry((topic, *partition)).or_default().push(&member.member_id);
        }
    }
    for (id, assignment) in assigned {
        assignment.partitions.retain(|(topic, partition)| {
            owners.get(&(&**topic, *partition)).is_none_or(|owners| owners.contains(&&**id))
        });
    }
}

//! The leader's part: from what the coordinator handed over of all members to what it hands on to
//! each.
//!
//! Invariant: what goes out gives each partition to one member at most, and to none that would have
//! to take it from an owner who does not know yet.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use ottla_protocol::messages::join_group::JoinGroupResponseMember;
use ottla_protocol::messages::sync_group::SyncGroupRequestAssignment;

use super::protocol::{decode_subscription, encode_assignment};
use super::{Assignor, GroupAssignment, MemberAssignment, MemberSubscription, Topics};
use crate::error::{Error, Kind, Result};

/// What all members of a group told of themselves.
#[derive(Debug, Clone, Default)]
pub struct Subscriptions {
    /// One for each member.
    pub members: Vec<MemberSubscription>,
}

impl Subscriptions {
    /// From the coordinator's answer to the leader.
    pub fn decode(members: &[JoinGroupResponseMember]) -> Result<Self> {
        let decoded = members.iter().map(|member| {
            let instance = member.group_instance_id.as_deref().map(Arc::from);
            decode_subscription(member.member_id.as_str().into(), instance, member.metadata.clone())
        });
        Ok(Self { members: decoded.collect::<Result<_>>()? })
    }

    /// The topics that some member reads, each once.
    #[must_use]
    pub fn topics(&self) -> Vec<Arc<str>> {
        let unique: BTreeSet<&Arc<str>> = self.members.iter().flat_map(|member| &member.topics).collect();
        unique.into_iter().cloned().collect()
    }
}

/// Asks the assignor, and says what each member is to be told.
pub fn plan(
    assignor: &dyn Assignor,
    topics: &Topics,
    subscriptions: &Subscriptions,
) -> Result<Vec<SyncGroupRequestAssignment>> {
    let members = &subscriptions.members;
    let mut given = assignor.assign(topics, members)?;
    check(&given, topics, members)
        .map_err(|words| Error::new(Kind::Config, format!("the assignor {}: {words}", assignor.name())))?;
    if assignor.cooperative() {
        hold_back(&mut given, members);
    }
    let nothing = MemberAssignment::default();
    let tell = |member: &MemberSubscription| {
        let assignment = encode_assignment(given.get(&member.member_id).unwrap_or(&nothing))?;
        Ok(SyncGroupRequestAssignment { member_id: member.member_id.to_string(), assignment })
    };
    members.iter().map(tell).collect()
}

/// Assignors may be users' own.
fn check(given: &GroupAssignment, topics: &Topics, members: &[MemberSubscription]) -> Result<(), String> {
    let known: HashMap<&str, &MemberSubscription> =
        members.iter().map(|member| (&*member.member_id, member)).collect();
    let mut taken = HashSet::new();
    for (id, assignment) in given {
        let member = known.get(&**id).ok_or_else(|| format!("the group has no member {id}"))?;
        let reads: HashSet<&str> = member.topics.iter().map(AsRef::as_ref).collect();
        for (topic, partition) in &assignment.partitions {
            if !reads.contains(&**topic) {
                return Err(format!("{topic}-{partition} goes to {id}, which does not read {topic}"));
            }
            let exists =
                topics.get(topic).is_some_and(|all| all.iter().any(|info| info.partition == *partition));
            if !exists {
                return Err(format!("there is no partition {topic}-{partition}"));
            }
            if !taken.insert((topic, partition)) {
                return Err(format!("{topic}-{partition} goes to two members"));
            }
        }
    }
    Ok(())
}

/// Takes out what a member would have to get from another that owns it. The owner sees that it is
/// not given it any more, lets go of it and joins again; then it goes to its new one (KIP-429).
fn hold_back(given: &mut GroupAssignment, members: &[MemberSubscription]) {
    let mut owners: HashMap<(&str, i32), Vec<&str>> = HashMap::new();
    for member in members {
        for (topic, partition) in &member.owned {
            owners.entry((topic, *partition)).or_default().push(&member.member_id);
        }
    }
    for (id, assignment) in given {
        assignment.partitions.retain(|(topic, partition)| {
            owners.get(&(&**topic, *partition)).is_none_or(|owners| owners.contains(&&**id))
        });
    }
}

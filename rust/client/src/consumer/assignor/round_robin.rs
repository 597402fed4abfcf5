//! `roundrobin`: assigns all partitions of all topics in order, one member after the other. A member that
//! does not subscribe to the topic is skipped.

use std::collections::HashSet;
use std::sync::Arc;

use super::{Assignor, GroupAssignment, MemberSubscription, Topics, assignment_of, member_order, text_order};
use crate::error::Result;

/// Assigns partitions to members in turn, as Java's `RoundRobinAssignor`.
#[derive(Debug, Clone, Copy, Default)]
pub struct RoundRobin;

impl Assignor for RoundRobin {
    fn name(&self) -> &'static str {
        "roundrobin"
    }

    fn assign(&self, topics: &Topics, members: &[MemberSubscription]) -> Result<GroupAssignment> {
        let mut assigned = vec![Vec::new(); members.len()];
        let mut rotation: Vec<(usize, HashSet<&str>)> = members
            .iter()
            .enumerate()
            .map(|(at, member)| (at, member.topics.iter().map(AsRef::as_ref).collect()))
            .collect();
        rotation.sort_by(|(a, _), (b, _)| match (members.get(*a), members.get(*b)) {
            (Some(a), Some(b)) => member_order(a, b),
            _ => a.cmp(b),
        });
        let mut ordered: Vec<_> = topics.iter().collect();
        ordered.sort_by(|(a, _), (b, _)| text_order(a, b));
        let mut next = 0;
        for (topic, partitions) in ordered {
            for info in partitions {
                let subscribed = |(_, topics): &&(usize, HashSet<&str>)| topics.contains(&**topic);
                let skip = rotation
                    .iter()
                    .cycle()
                    .skip(next)
                    .take(rotation.len())
                    .position(|turn| subscribed(&turn));
                // A topic without subscribers is not assigned.
                let Some(skip) = skip else { break };
                let turn = (next + skip) % rotation.len();
                if let Some(list) = rotation.get(turn).and_then(|(at, _)| assigned.get_mut(*at)) {
                    list.push((Arc::clone(topic), info.partition));
                }
                next = turn + 1;
            }
        }
        Ok(assignment_of(members, assigned))
    }
}

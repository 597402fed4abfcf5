//! `roundrobin`: all partitions of all topics in order, dealt to the members one by one. What a
//! member is not subscribed to goes to the next one.

use std::collections::HashSet;
use std::sync::Arc;

use super::{Assignor, GroupAssignment, MemberSubscription, Topics, assignment_of, member_order, text_order};
use crate::error::Result;

/// Deals the partitions to the members in turn, as Java's `RoundRobinAssignor`.
#[derive(Debug, Clone, Copy, Default)]
pub struct RoundRobin;

impl Assignor for RoundRobin {
    fn name(&self) -> &'static str {
        "roundrobin"
    }

    fn assign(&self, topics: &Topics, members: &[MemberSubscription]) -> Result<GroupAssignment> {
        let mut given = vec![Vec::new(); members.len()];
        let mut turns: Vec<(usize, HashSet<&str>)> = members
            .iter()
            .enumerate()
            .map(|(at, member)| (at, member.topics.iter().map(AsRef::as_ref).collect()))
            .collect();
        turns.sort_by(|(a, _), (b, _)| match (members.get(*a), members.get(*b)) {
            (Some(a), Some(b)) => member_order(a, b),
            _ => a.cmp(b),
        });
        let mut ordered: Vec<_> = topics.iter().collect();
        ordered.sort_by(|(a, _), (b, _)| text_order(a, b));
        let mut next = 0;
        for (topic, partitions) in ordered {
            for info in partitions {
                let subscribed = |(_, topics): &&(usize, HashSet<&str>)| topics.contains(&**topic);
                let skip =
                    turns.iter().cycle().skip(next).take(turns.len()).position(|turn| subscribed(&turn));
                // A topic to which nobody is subscribed goes to nobody.
                let Some(skip) = skip else { break };
                let turn = (next + skip) % turns.len();
                if let Some(list) = turns.get(turn).and_then(|(at, _)| given.get_mut(*at)) {
                    list.push((Arc::clone(topic), info.partition));
                }
                next = turn + 1;
            }
        }
        Ok(assignment_of(members, given))
    }
}

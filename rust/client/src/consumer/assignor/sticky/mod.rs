//! `sticky` and `cooperative-sticky`: as balanced as the subscriptions allow, then as close to the previous
//! assignment as possible. Rack awareness ranks between the two (KIP-881): nearness is worth a move.
//!
//! An eager member reports its previous partitions in its user data, since it has given them up; a
//! cooperative one reports the partitions that it owns. Both formats are Java's.

mod assignment_builder;
mod previous_owners;
mod refine;
mod user_data;

use std::sync::Arc;

use bytes::Bytes;

use super::{Assignor, GroupAssignment, LastAssignment, MemberSubscription, Topics, assignment_of};
use crate::error::Result;
use assignment_builder::AssignmentBuilder;
use previous_owners::{PreviousAssignment, previous_owners};

/// Keeps previous assignments; members give up all partitions before they join, as with Java's
/// `StickyAssignor`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sticky;

/// Keeps previous assignments; members keep reading their partitions during a rebalance (KIP-429), as with
/// Java's `CooperativeStickyAssignor`.
#[derive(Debug, Clone, Copy, Default)]
pub struct CooperativeSticky;

impl Assignor for Sticky {
    fn name(&self) -> &'static str {
        "sticky"
    }

    fn user_data(&self, _: &[Arc<str>], last: &LastAssignment) -> Option<Bytes> {
        last.generation.and_then(|generation| user_data::encode_previous(&last.partitions, generation))
    }

    fn assign(&self, topics: &Topics, members: &[MemberSubscription]) -> Result<GroupAssignment> {
        let previous = members.iter().map(|member| {
            let (partitions, generation) =
                member.user_data.clone().and_then(user_data::decode_previous).unwrap_or_default();
            PreviousAssignment { partitions, generation: generation.unwrap_or(-1) }
        });
        Ok(assign(topics, members, previous.collect()))
    }
}

impl Assignor for CooperativeSticky {
    fn name(&self) -> &'static str {
        "cooperative-sticky"
    }

    fn cooperative(&self) -> bool {
        true
    }

    /// The generation, for older leaders that do not read it from the subscription.
    fn user_data(&self, _: &[Arc<str>], last: &LastAssignment) -> Option<Bytes> {
        Some(user_data::encode_generation(last.generation.unwrap_or(-1)))
    }

    fn assign(&self, topics: &Topics, members: &[MemberSubscription]) -> Result<GroupAssignment> {
        let previous = members.iter().map(|member| {
            let reported = || member.user_data.clone().and_then(user_data::decode_generation).unwrap_or(-1);
            let generation = if member.generation >= 0 { member.generation } else { reported() };
            PreviousAssignment { partitions: member.owned.clone(), generation }
        });
        Ok(assign(topics, members, previous.collect()))
    }
}

fn assign(
    topics: &Topics,
    members: &[MemberSubscription],
    previous: Vec<PreviousAssignment>,
) -> GroupAssignment {
    let mut builder = AssignmentBuilder::new(topics, members);
    builder.keep_previous(previous_owners(previous));
    builder.assign_unassigned();
    builder.balance();
    builder.refine();
    assignment_of(members, builder.finish())
}

//! `sticky` and `cooperative-sticky`: as balanced as the subscriptions allow, and with that as close
//! to what was before as can be. Racks come between the two (KIP-881): to read nearby is worth a move.
//!
//! What was before, an eager member tells by its user data, since it has given up everything; a
//! cooperative one by what it owns. Both formats are Java's.

mod balance;
mod claims;
mod refine;
mod user_data;

use std::sync::Arc;

use bytes::Bytes;

use super::{Assignor, GroupAssignment, LastAssignment, MemberSubscription, Topics, assignment_of};
use crate::error::Result;
use balance::Board;
use claims::{Claim, previous_owners};

/// Keeps as much as can be kept from one assignment to the next; members give up everything before
/// they join, as with Java's `StickyAssignor`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sticky;

/// The same for members that keep reading what they own during a rebalance (KIP-429), as with Java's
/// `CooperativeStickyAssignor`.
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
        let claims = members.iter().map(|member| {
            let (partitions, generation) =
                member.user_data.clone().and_then(user_data::decode_previous).unwrap_or_default();
            Claim { partitions, generation: generation.unwrap_or(-1) }
        });
        Ok(assign(topics, members, claims.collect()))
    }
}

impl Assignor for CooperativeSticky {
    fn name(&self) -> &'static str {
        "cooperative-sticky"
    }

    fn cooperative(&self) -> bool {
        true
    }

    /// The generation, for leaders that are too old to read it from the subscription itself.
    fn user_data(&self, _: &[Arc<str>], last: &LastAssignment) -> Option<Bytes> {
        Some(user_data::encode_generation(last.generation.unwrap_or(-1)))
    }

    fn assign(&self, topics: &Topics, members: &[MemberSubscription]) -> Result<GroupAssignment> {
        let claims = members.iter().map(|member| {
            let told = || member.user_data.clone().and_then(user_data::decode_generation).unwrap_or(-1);
            let generation = if member.generation >= 0 { member.generation } else { told() };
            Claim { partitions: member.owned.clone(), generation }
        });
        Ok(assign(topics, members, claims.collect()))
    }
}

fn assign(topics: &Topics, members: &[MemberSubscription], claims: Vec<Claim>) -> GroupAssignment {
    let mut board = Board::new(topics, members);
    board.keep(previous_owners(claims));
    board.fill();
    board.level();
    board.refine();
    assignment_of(members, board.given())
}

//! What a commit stands on: who asked for it, and as what its partitions were assigned then.
//!
//! Invariant: an offset goes out only while its partition is assigned as it was when the commit was
//! asked for. Once that was given up another member may read it, and a late commit, under a generation
//! that is right again, would overwrite that member's offset.

use std::collections::HashMap;

use ottla_protocol::ErrorCode;

use crate::config::GroupProtocol;
use crate::consumer::member::Member;
use crate::consumer::offsets::{Committed, Outcomes};
use crate::consumer::state::Shared;
use crate::error::Error;
use crate::topic_partition::TopicPartition;

/// What a commit stands on.
#[derive(Debug)]
pub(crate) struct Claim {
    /// Whether the group decided about the partitions.
    subscribed: bool,
    member: Option<Member>,
    /// Since which version each partition was assigned, of those that were.
    since: HashMap<TopicPartition, u64>,
}

impl Claim {
    /// A claim to partitions as they are now.
    pub(crate) fn new(shared: &Shared, offsets: &HashMap<TopicPartition, Committed>) -> Self {
        let (subscribed, member) = (shared.is_subscribed(), shared.member());
        let mut assignment = shared.assignment.lock();
        let since = |partition: &TopicPartition| Some((partition.clone(), assignment.slot(partition)?.since));
        Self { subscribed, member, since: offsets.keys().filter_map(since).collect() }
    }

    /// Takes out of `offsets` what may not go out as `member` any more, with why. `member` was read
    /// before: what is given up after this look is nobody else's in that member's generation.
    pub(crate) fn withdraw(
        &self,
        shared: &Shared,
        member: &Member,
        offsets: &mut HashMap<TopicPartition, Committed>,
    ) -> Outcomes {
        let subscribed = shared.is_subscribed();
        if !self.subscribed && !subscribed {
            // Nobody but the application decides who reads them.
            return Outcomes::new();
        }
        let unchanged = self.subscribed == subscribed && self.is_same(shared, member);
        let mut assignment = shared.assignment.lock();
        let gone = offsets.extract_if(|partition, _| {
            match (self.since.get(partition), assignment.slot(partition)) {
                (Some(since), Some(slot)) => *since != slot.since,
                // It never was this member's own: what can be told is whether the group has gone on.
                (None, None) => !unchanged,
                _ => true,
            }
        });
        gone.map(|(partition, _)| {
            let error = given_up(&partition);
            (partition, Err(error))
        })
        .collect()
    }

    /// Notes what was committed, of partitions that are assigned as they were.
    pub(crate) fn note(&self, shared: &Shared, partition: &TopicPartition, offset: i64) {
        let mut assignment = shared.assignment.lock();
        let slot = assignment.slot(partition);
        if let Some(slot) = slot.filter(|slot| self.since.get(partition) == Some(&slot.since)) {
            slot.committed = offset;
        }
    }

    /// Whether it is the member that asked. Epochs go up without its doing; a generation does not.
    fn is_same(&self, shared: &Shared, member: &Member) -> bool {
        let epochs = shared.client.config().group_protocol == GroupProtocol::Consumer;
        self.member.as_ref().is_some_and(|then| {
            then.member_id == member.member_id && (epochs || then.generation == member.generation)
        })
    }
}

fn given_up((topic, partition): &TopicPartition) -> Error {
    let words = "not committed: the partition was given up after this commit was asked for, and another member may have read on; what it has not committed is read again";
    Error::with_code(ErrorCode::IllegalGeneration, words).at(topic, *partition)
}

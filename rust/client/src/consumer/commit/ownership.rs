//! The ownership that a commit relies on: the identity and the assignment of its partitions when it was
//! requested.
//!
//! Invariant: an offset is sent only while its partition has been assigned without interruption since the
//! commit was requested. After a revocation another member may read the partition, and a late commit, under
//! a generation that is valid again, would overwrite that member's offset.

use std::collections::HashMap;

use ottla_protocol::ErrorCode;

use crate::config::GroupProtocol;
use crate::consumer::partition_state::PartitionState;
use crate::consumer::state::ConsumerState;
use crate::error::Error;
use crate::group_offsets::ConsumerGroupMetadata;
use crate::group_offsets::{CommitResults, CommittedOffset};
use crate::topic_partition::TopicPartition;

/// The ownership that a commit relies on.
#[derive(Debug)]
pub(crate) struct CommitOwnership {
    /// Whether the group assigned the partitions.
    subscribed: bool,
    member: Option<ConsumerGroupMetadata>,
    /// The version of each partition at its assignment.
    assigned_versions: HashMap<TopicPartition, u64>,
}

impl CommitOwnership {
    /// Captures the current ownership of the partitions of `offsets`.
    pub(crate) fn capture(
        shared: &ConsumerState,
        offsets: &HashMap<TopicPartition, CommittedOffset>,
    ) -> Self {
        let (subscribed, member) = (shared.is_subscribed(), shared.group_metadata());
        let mut subscriptions = shared.subscriptions.lock();
        let assigned_version = |partition: &TopicPartition| {
            Some((partition.clone(), subscriptions.state(partition)?.assigned_version))
        };
        Self { subscribed, member, assigned_versions: offsets.keys().filter_map(assigned_version).collect() }
    }

    /// Removes offsets that may no longer be committed as `member`, and returns an error for each. `member`
    /// was read before the assignment: a partition revoked after this check has no other owner in that
    /// member's generation.
    pub(crate) fn remove_revoked(
        &self,
        shared: &ConsumerState,
        member: &ConsumerGroupMetadata,
        offsets: &mut HashMap<TopicPartition, CommittedOffset>,
    ) -> CommitResults {
        let subscribed = shared.is_subscribed();
        if !self.subscribed && !subscribed {
            // Only the application chooses the partitions.
            return CommitResults::new();
        }
        let unchanged = self.subscribed == subscribed && self.is_same_member(shared, member);
        let mut subscriptions = shared.subscriptions.lock();
        let revoked = offsets.extract_if(|partition, _| {
            match (self.assigned_versions.get(partition), subscriptions.state(partition)) {
                (Some(version), Some(state)) => *version != state.assigned_version,
                // The partition was never assigned here; only a change of membership can be detected.
                (None, None) => !unchanged,
                _ => true,
            }
        });
        revoked
            .map(|(partition, _)| {
                let error = revoked_error(&partition);
                (partition, Err(error))
            })
            .collect()
    }

    /// Records a committed offset, unless the partition was reassigned.
    pub(crate) fn record_committed(&self, shared: &ConsumerState, partition: &TopicPartition, offset: i64) {
        self.update(shared, partition, |state| state.auto_committed = offset);
    }

    /// Records an offset that cannot be committed because the topic is gone. Returns whether it is the first
    /// one of the partition.
    pub(crate) fn record_dropped(
        &self,
        shared: &ConsumerState,
        partition: &TopicPartition,
        offset: i64,
    ) -> bool {
        let before = self.update(shared, partition, |state| std::mem::replace(&mut state.dropped, offset));
        before.is_none_or(|before| before < 0)
    }

    /// Changes the state of a partition, unless it was reassigned.
    fn update<T>(
        &self,
        shared: &ConsumerState,
        partition: &TopicPartition,
        change: impl FnOnce(&mut PartitionState) -> T,
    ) -> Option<T> {
        let mut subscriptions = shared.subscriptions.lock();
        let state = subscriptions.state(partition)?;
        (self.assigned_versions.get(partition) == Some(&state.assigned_version)).then(|| change(state))
    }

    /// Whether `member` requested the commit. Its epoch may have grown since; its generation may not.
    fn is_same_member(&self, shared: &ConsumerState, member: &ConsumerGroupMetadata) -> bool {
        let has_epochs = shared.client.config().group_protocol == GroupProtocol::Consumer;
        self.member.as_ref().is_some_and(|then| {
            then.member_id == member.member_id && (has_epochs || then.generation == member.generation)
        })
    }
}

fn revoked_error((topic, partition): &TopicPartition) -> Error {
    let message = "not committed: the partition was revoked after this commit was requested, and another member may have continued reading; it reads the uncommitted records again";
    Error::with_code(ErrorCode::IllegalGeneration, message).at(topic, *partition)
}

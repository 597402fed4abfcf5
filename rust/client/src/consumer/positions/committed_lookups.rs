//! Looks up the committed offsets of the group, as the member that this consumer currently is.
//!
//! Invariant: a changed generation or epoch is no error for the application: the membership learns of it,
//! and the lookup is retried.

use std::collections::HashMap;

use tokio::time::{Duration, Instant};

use crate::consumer::commit::no_group;
use crate::consumer::state::ConsumerState;
use crate::error::recovery::{Recovery, recovery};
use crate::error::{Error, Result};
use crate::group_offsets::{self, CommittedOffset};
use crate::topic_partition::TopicPartition;

/// The committed offset of each partition.
pub(crate) type CommittedOffsets = HashMap<TopicPartition, Option<CommittedOffset>>;

/// Sends one lookup, under one generation or epoch.
pub(crate) async fn fetch_once(
    shared: &ConsumerState,
    partitions: Vec<TopicPartition>,
    timeout: Duration,
) -> Result<CommittedOffsets> {
    let member = shared.group_metadata().ok_or_else(no_group)?;
    let stable = shared.read_committed();
    let found = group_offsets::committed(&shared.client, &member, Some(partitions), stable, timeout).await;
    if let Err(error) = &found
        && let (Some(group), Some(code)) = (shared.membership(), error.code())
    {
        group.report_error(&member, code);
    }
    found
}

/// Whether a retry may succeed: after a backoff, or once the member has a new generation or epoch.
pub(crate) fn may_pass(shared: &ConsumerState, error: &Error) -> bool {
    error.is_transient() || (shared.membership().is_some() && is_about_member(error))
}

fn is_about_member(error: &Error) -> bool {
    error.code().is_some_and(|code| matches!(recovery(code), Recovery::Rejoin | Recovery::AwaitEpoch))
}

/// Retries until the timeout. A consumer that unsubscribes meanwhile continues without membership.
pub(crate) async fn fetch(
    shared: &ConsumerState,
    partitions: Vec<TopicPartition>,
    timeout: Duration,
) -> Result<CommittedOffsets> {
    let mut retry = shared.client.retry("fetching the group's committed offsets", timeout);
    loop {
        let left = retry.deadline().saturating_duration_since(Instant::now());
        let requested_as = shared.group_metadata();
        match fetch_once(shared, partitions.clone(), left).await {
            Err(error)
                if is_about_member(&error)
                    && (shared.membership().is_some() || shared.group_metadata() != requested_as) =>
            {
                retry.pause(error).await?;
            }
            result => return result,
        }
    }
}

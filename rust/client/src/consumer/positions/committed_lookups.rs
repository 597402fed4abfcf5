//! Asking for the group's committed offsets, as the member that this consumer is by then.
//!
//! Invariant: that the group has gone on, ahead of the member or without it, is the membership's
//! matter and not the application's: the group is told, and who asks asks again.

use std::collections::HashMap;

use tokio::time::{Duration, Instant};

use crate::consumer::commit::no_group;
use crate::consumer::offsets::{self, Committed};
use crate::consumer::state::Shared;
use crate::error::{Error, Result};
use crate::retry::recovery::{Recovery, recovery};
use crate::topic_partition::TopicPartition;

/// What is committed of each partition.
pub(crate) type Stored = HashMap<TopicPartition, Option<Committed>>;

/// Asks once, under one generation or epoch.
pub(crate) async fn ask(
    shared: &Shared,
    partitions: Vec<TopicPartition>,
    timeout: Duration,
) -> Result<Stored> {
    let member = shared.member().ok_or_else(no_group)?;
    let stable = shared.read_committed();
    let found = offsets::committed(&shared.client, &member, Some(partitions), stable, timeout).await;
    if let Err(error) = &found
        && let (Some(group), Some(code)) = (shared.membership(), error.code())
    {
        group.trouble(&member, code);
    }
    found
}

/// Whether asking again helps: by itself, or once the membership has gone on.
pub(crate) fn is_transient(shared: &Shared, error: &Error) -> bool {
    error.is_transient() || (shared.membership().is_some() && is_about_member(error))
}

fn is_about_member(error: &Error) -> bool {
    error.code().is_some_and(|code| matches!(recovery(code), Recovery::Rejoin | Recovery::AwaitEpoch))
}

/// Asks until the time is over. A consumer that has unsubscribed meanwhile is a member no longer, and asks
/// as who it is then.
pub(crate) async fn ask_within(
    shared: &Shared,
    partitions: Vec<TopicPartition>,
    timeout: Duration,
) -> Result<Stored> {
    let mut retry = shared.client.retry("asking for the group's committed offsets", timeout);
    loop {
        let left = retry.deadline().saturating_duration_since(Instant::now());
        let asks_as = shared.member();
        match ask(shared, partitions.clone(), left).await {
            Err(error)
                if is_about_member(&error)
                    && (shared.membership().is_some() || shared.member() != asks_as) =>
            {
                retry.pause(error).await?;
            }
            outcome => return outcome,
        }
    }
}

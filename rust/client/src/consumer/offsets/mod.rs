//! A group's committed offsets: storing them (OffsetCommit) and reading them (OffsetFetch).
//!
//! What passes by itself is tried again until the time is over, at the coordinator that is then the
//! group's; what is about the member (another generation, another epoch, fenced) is the caller's to
//! deal with, and comes at once under the broker's code.
//!
//! Invariants: no partition that was asked about is left out of a result. That nothing is committed
//! is only said when the coordinator has said so: taken for that, any failure would make a consumer
//! start elsewhere than where it stopped.

mod commit;
mod fetch;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ottla_protocol::ErrorCode;
use ottla_protocol::wire::Uuid;

use crate::cluster::Client;
use crate::error::{Error, Result};
use crate::metadata::{Snapshot, TopicSelector};
use crate::retry::Retry;
use crate::retry::recovery::{Recovery, recovery};
use crate::topic_partition::TopicPartition;

pub(super) use commit::Outcomes;
pub use commit::commit;
pub use fetch::committed;

/// An offset as a group keeps it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Committed {
    /// The offset of the next record to read.
    pub offset: i64,
    /// The leader epoch of the last record that was read, with which a truncated log is noticed (KIP-320).
    pub leader_epoch: Option<i32>,
    /// Whatever the application wants to be kept with it.
    pub metadata: String,
    /// The id of the topic that the offset is of; zero if it is whichever has the name when it is
    /// committed. A topic that was deleted and made again is another one, and gets no offset of the
    /// first one's. A fetched offset has none.
    pub topic_id: Uuid,
}

/// Partitions as a request names them: by topic, and by its id if all topics have one.
struct Named<'a> {
    topics: BTreeMap<&'a str, NamedTopic<'a>>,
    by_id: HashMap<Uuid, &'a Arc<str>>,
}

struct NamedTopic<'a> {
    name: &'a Arc<str>,
    id: Uuid,
    partitions: Vec<i32>,
}

impl<'a> Named<'a> {
    /// With the ids that are given, and otherwise those of the snapshot.
    fn new(
        snapshot: &Snapshot,
        partitions: impl IntoIterator<Item = &'a TopicPartition>,
        ids: &HashMap<Arc<str>, Uuid>,
    ) -> Self {
        let mut topics: BTreeMap<&str, NamedTopic<'_>> = BTreeMap::new();
        for (name, partition) in partitions {
            let topic = topics.entry(name).or_insert_with(|| {
                let known = || snapshot.topic(name).map_or(Uuid::ZERO, |topic| topic.id);
                let id = ids.get(name).copied().unwrap_or_else(known);
                NamedTopic { name, id, partitions: Vec::new() }
            });
            topic.partitions.push(*partition);
        }
        let by_id = topics.values().map(|topic| (topic.id, topic.name)).collect();
        Self { topics, by_id }
    }

    /// Whether all can be named by their ids.
    fn have_ids(&self) -> bool {
        !self.by_id.contains_key(&Uuid::ZERO)
    }

    /// The topic that an answer names one way or the other.
    fn topic(&self, name: &str, id: Uuid) -> Option<&'a Arc<str>> {
        if id.is_zero() {
            self.topics.get(name).map(|topic| topic.name)
        } else {
            self.by_id.get(&id).copied()
        }
    }
}

/// Whether a code is about the member or the group, and so about every partition alike.
fn is_about_member(code: ErrorCode) -> bool {
    use ErrorCode as E;
    matches!(recovery(code), Recovery::Rejoin | Recovery::AwaitEpoch)
        || matches!(
            code,
            E::FencedInstanceId
                | E::GroupAuthorizationFailed
                | E::InvalidGroupId
                | E::GroupIdNotFound
                | E::UnsupportedVersion
        )
}

/// Waits before the next attempt, and gets fresh metadata if the failure was about a topic.
async fn recover(client: &Client, retry: &mut Retry, stale: u64, error: Error) -> Result<()> {
    let about_topic = error.code().is_some_and(|code| recovery(code) == Recovery::Refresh);
    retry.pause(error).await?;
    if about_topic && let Err(error) = retry.attempt(client.refresh(stale, TopicSelector::Tracked)).await {
        retry.pause(error).await?;
    }
    Ok(())
}

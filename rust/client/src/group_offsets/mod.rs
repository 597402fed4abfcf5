//! Commits offsets to a group (OffsetCommit) and fetches them (OffsetFetch), for consumers and for producers with
//! transactions. `group_metadata` is the identity under which offsets are committed.
//!
//! Transient failures are retried until the timeout, at the coordinator of the moment. Errors about the
//! member (another generation or epoch, fenced) are returned at once under the broker's error code; the
//! caller handles them.
//!
//! Invariants: a result includes every requested partition. A missing commit is reported only on the
//! coordinator's word: inferring it from a failure would make a consumer start at the wrong offset.

mod commit;
mod fetch;
mod group_metadata;
mod unknown_topics;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ottla_protocol::ErrorCode;
use ottla_protocol::wire::Uuid;

use crate::cluster::Client;
use crate::error::recovery::{Recovery, recovery};
use crate::error::{Error, Kind, Outlook, Result};
use crate::metadata::{Snapshot, TopicSelector};
use crate::retry::Retry;
use crate::topic_partition::TopicPartition;

pub(crate) use commit::CommitResults;
pub use commit::commit;
pub use fetch::committed;
pub use group_metadata::ConsumerGroupMetadata;
pub(crate) use unknown_topics::{Refusals, UnknownTopics, is_unknown_topic};

/// A committed offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommittedOffset {
    /// The offset of the next record to read.
    pub offset: i64,
    /// The leader epoch of the last record read, to detect log truncation (KIP-320).
    pub leader_epoch: Option<i32>,
    /// Metadata that the application stores with the offset; `None` is null on the wire.
    pub metadata: Option<String>,
    /// The id of the offset's topic; zero stands for the topic that has the name at the time of the commit.
    /// The offset is not committed for a topic recreated under that name. Fetched offsets have none.
    pub topic_id: Uuid,
}

impl Default for CommittedOffset {
    /// The metadata is empty, as Java's default, and not null.
    fn default() -> Self {
        Self { offset: 0, leader_epoch: None, metadata: Some(String::new()), topic_id: Uuid::ZERO }
    }
}

/// Returns the id of an offset's topic, zero if it is unknown, and adds a known one to `ids`. Fails if the
/// offset belongs to a deleted topic: one that was recreated with another id.
pub(crate) fn add_topic_id(
    ids: &mut HashMap<Arc<str>, Uuid>,
    snapshot: &Snapshot,
    partition: &TopicPartition,
    committed: &CommittedOffset,
) -> Result<Uuid> {
    let topic = &partition.0;
    let now = snapshot.topic(topic).map_or(Uuid::ZERO, |topic| topic.id);
    let id = if committed.topic_id.is_zero() { now } else { committed.topic_id };
    let is_current = now.is_zero() || now == id;
    // Offsets without an id may be mixed with others while the metadata does not know the topic.
    if is_current && (id.is_zero() || *ids.entry(Arc::clone(topic)).or_insert(id) == id) {
        return Ok(id);
    }
    Err(recreated_topic(partition))
}

/// Whether the offset belongs to a topic with another id than `now`, as far as both are known.
fn is_of_another_topic(committed: &CommittedOffset, now: Uuid) -> bool {
    !committed.topic_id.is_zero() && !now.is_zero() && committed.topic_id != now
}

/// The error for an offset of a topic that was recreated with another id.
fn recreated_topic((topic, partition): &TopicPartition) -> Error {
    let message =
        "not committed: the topic was deleted and recreated, and the offset belongs to the deleted one";
    Error::with_code(ErrorCode::UnknownTopicId, message)
        .at(topic, *partition)
        .with_outlook(Outlook::Permanent)
}

/// Whether the error of an offset is final because its topic or partition does not exist: it was deleted, or
/// recreated as another one.
pub(crate) fn is_gone(error: &Error) -> bool {
    error.kind() == Kind::UnknownTopic && error.outlook() == Outlook::Permanent
}

/// The topics of a request, by name, and by id if all topics have one.
pub(crate) struct RequestTopics<'a> {
    pub(crate) topics: BTreeMap<&'a str, RequestTopic<'a>>,
    by_id: HashMap<Uuid, &'a Arc<str>>,
}

pub(crate) struct RequestTopic<'a> {
    pub(crate) name: &'a Arc<str>,
    pub(crate) id: Uuid,
    pub(crate) partitions: Vec<i32>,
}

impl<'a> RequestTopics<'a> {
    /// Uses the given topic ids, and those of the metadata for other topics.
    pub(crate) fn new(
        snapshot: &Snapshot,
        partitions: impl IntoIterator<Item = &'a TopicPartition>,
        ids: &HashMap<Arc<str>, Uuid>,
    ) -> Self {
        let mut topics: BTreeMap<&str, RequestTopic<'_>> = BTreeMap::new();
        for (name, partition) in partitions {
            let topic = topics.entry(name).or_insert_with(|| {
                let known = || snapshot.topic(name).map_or(Uuid::ZERO, |topic| topic.id);
                let id = ids.get(name).copied().unwrap_or_else(known);
                RequestTopic { name, id, partitions: Vec::new() }
            });
            topic.partitions.push(*partition);
        }
        let by_id = topics.values().map(|topic| (topic.id, topic.name)).collect();
        Self { topics, by_id }
    }

    /// Whether all topics have ids.
    pub(crate) fn have_ids(&self) -> bool {
        !self.by_id.contains_key(&Uuid::ZERO)
    }

    /// The topic that a response names by name or id.
    pub(crate) fn topic(&self, name: &str, id: Uuid) -> Option<&'a Arc<str>> {
        if id.is_zero() {
            self.topics.get(name).map(|topic| topic.name)
        } else {
            self.by_id.get(&id).copied()
        }
    }
}

/// Whether the code is about the member or the group, and so about all partitions.
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

/// Backs off before the next attempt, and refreshes the metadata if the error is about a topic.
async fn recover(client: &Client, retry: &mut Retry, stale: u64, error: Error) -> Result<()> {
    let about_topic = error.code().is_some_and(|code| recovery(code) == Recovery::Refresh);
    retry.pause(error).await?;
    if about_topic && let Err(error) = retry.attempt(client.refresh(stale, TopicSelector::Tracked)).await {
        retry.pause(error).await?;
    }
    Ok(())
}

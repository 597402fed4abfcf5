//! Offsets that the coordinator refuses because it does not know their topics: whether the topics are gone.
//!
//! Invariants: the metadata decides. A topic or partition that it lacks too, or a topic that has another id,
//! is gone at once. If the metadata lists it, the coordinator may not have heard of a new topic yet; it is
//! asked again for at most [`PATIENCE`], because a revocation, and with it the group, may wait for the commit.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use ottla_protocol::ErrorCode;
use tokio::time::{Duration, Instant, timeout_at};

use super::{CommittedOffset, is_of_another_topic, recreated_topic};
use crate::cluster::Client;
use crate::error::{Error, Outlook, Result};
use crate::metadata::{Snapshot, TopicSelector};
use crate::retry::Retry;
use crate::topic_partition::TopicPartition;

/// How long a coordinator may take to hear of a topic that the metadata lists.
const PATIENCE: Duration = Duration::from_millis(750);

/// The refusals of one attempt.
pub(crate) type Refusals = HashMap<TopicPartition, Error>;

/// The patience of one commit with a coordinator that does not know topics.
#[derive(Debug, Default)]
pub(crate) struct UnknownTopics {
    /// When the patience ends; it begins with the first refusal.
    until: OnceLock<Instant>,
}

/// What is known about the refusals of one attempt.
#[derive(Debug, Default)]
pub(crate) struct Settled {
    /// The final errors.
    pub(crate) failed: Vec<(TopicPartition, Error)>,
    /// One of the refusals that may pass.
    pub(crate) passing: Option<Error>,
}

/// Whether the code says that the coordinator does not know the topic or the partition.
pub(crate) fn is_unknown_topic(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::UnknownTopicOrPartition | ErrorCode::UnknownTopicId)
}

impl UnknownTopics {
    fn until(&self) -> Instant {
        *self.until.get_or_init(|| Instant::now() + PATIENCE)
    }

    /// Backs off before the next attempt. At the end of the patience, that is the last one.
    pub(super) async fn pause(&self, retry: &mut Retry, refusal: Error) -> Result<()> {
        timeout_at(self.until(), retry.pause(refusal)).await.unwrap_or(Ok(()))
    }

    /// Asks the metadata, newer than generation `stale`, about the topics of refused `offsets`.
    pub(crate) async fn settle(
        &self,
        client: &Client,
        stale: u64,
        deadline: Instant,
        refusals: Refusals,
        offsets: &HashMap<TopicPartition, CommittedOffset>,
    ) -> Settled {
        let mut settled = Settled::default();
        if refusals.is_empty() {
            return settled;
        }
        let mut names: Vec<Arc<str>> = refusals.keys().map(|(topic, _)| Arc::clone(topic)).collect();
        names.sort_unstable();
        names.dedup();
        let refreshed = client.refresh(stale, TopicSelector::Topics(&names));
        let snapshot = match timeout_at(self.until().min(deadline), refreshed).await {
            Ok(Ok(snapshot)) => Some(snapshot),
            Ok(Err(_)) | Err(_) => None,
        };
        for (partition, refusal) in refusals {
            let Some(committed) = offsets.get(&partition) else { continue };
            let gone = snapshot.as_deref().and_then(|it| gone_error(it, &partition, committed, &refusal));
            match gone {
                Some(error) => settled.failed.push((partition, error)),
                None if Instant::now() >= self.until() => {
                    settled.failed.push((partition, not_known(&refusal)))
                }
                None => settled.passing = Some(refusal),
            }
        }
        settled
    }
}

/// The final error if the metadata confirms that the topic or the partition does not exist.
fn gone_error(
    snapshot: &Snapshot,
    partition: &TopicPartition,
    committed: &CommittedOffset,
    refusal: &Error,
) -> Option<Error> {
    let (name, index) = partition;
    let topic = snapshot.topic(name);
    if topic.is_some_and(|topic| is_of_another_topic(committed, topic.id)) {
        return Some(recreated_topic(partition));
    }
    let message = match topic {
        Some(topic)
            if topic.error != ErrorCode::None && topic.error != ErrorCode::UnknownTopicOrPartition =>
        {
            return None;
        }
        Some(topic) if topic.exists() && topic.partition(*index).is_some() => return None,
        Some(topic) if topic.exists() => "not committed: the topic has no such partition",
        _ => "not committed: the topic does not exist; it was deleted, or its name is wrong",
    };
    Some(refusal.clone().with_message(message).with_outlook(Outlook::Permanent))
}

/// The error for a topic that only the coordinator does not know.
fn not_known(refusal: &Error) -> Error {
    refusal
        .clone()
        .prefixed("not committed: the group's coordinator does not know the topic yet; commit again")
}

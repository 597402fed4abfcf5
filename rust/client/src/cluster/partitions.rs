//! Partitions that an existing topic does not have: an error as soon as a missing topic is one.
//!
//! Invariant: a partition counts as missing only if refreshed metadata lacks it for longer than a new topic or
//! partition takes to reach all brokers.

use std::sync::Arc;

use ottla_protocol::ErrorCode;
use tokio::time::{Duration, Instant};

use super::topics::PROPAGATION_TIME;
use crate::cluster::{Client, IfMissing};
use crate::error::Result;
use crate::metadata::no_leader::no_leader;
use crate::metadata::{Snapshot, TopicSelector};
use crate::topic_partition::TopicPartition;

/// Whether the topic is known, and has no such partition.
pub(crate) fn lacks_partition(snapshot: &Snapshot, (topic, partition): &TopicPartition) -> bool {
    snapshot
        .topic(topic)
        .is_some_and(|known| known.error == ErrorCode::None && known.partition(*partition).is_none())
}

impl Client {
    /// Waits until the topics and the partitions exist; fails soon if one does not.
    pub(crate) async fn check_partitions(
        &self,
        partitions: &[TopicPartition],
        timeout: Duration,
    ) -> Result<()> {
        let fail_after = Instant::now() + PROPAGATION_TIME;
        let mut names: Vec<Arc<str>> = partitions.iter().map(|(topic, _)| Arc::clone(topic)).collect();
        names.sort();
        names.dedup();
        let mut retry = self.retry("looking up partitions", timeout);
        if names.iter().any(|name| self.snapshot().topic(name).is_none()) {
            self.topics(&names, IfMissing::Fail, timeout).await?;
        }
        let mut is_refreshed = false;
        loop {
            let snapshot = self.snapshot();
            let missing = partitions.iter().find(|partition| lacks_partition(&snapshot, partition));
            let Some((topic, partition)) = missing else { return Ok(()) };
            let error = no_leader(&snapshot, topic, *partition);
            if is_refreshed {
                if Instant::now() >= fail_after {
                    return Err(error);
                }
                retry.pause(error).await?;
            }
            let refreshed = self.refresh(snapshot.generation, TopicSelector::Topics(&names));
            match retry.attempt(refreshed).await {
                Ok(_) => is_refreshed = true,
                Err(error) if error.is_transient() => retry.pause(error).await?,
                Err(error) => return Err(error),
            }
        }
    }
}

//! A topic that the producer writes to: its metadata, partitioner state and partition queues, looked
//! up once so that `send` needs no map.
//!
//! Invariant: `queues` and `topic.partitions` have the same length and order.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::time::{Instant, timeout_at};

use super::Producer;
use super::partitioner::PartitionerState;
use super::queue::PartitionQueue;
use crate::cluster::IfMissing;
use crate::error::{Error, Kind, Result};
use crate::metadata::{Topic, TopicSelector};
use crate::names::check_name;

/// A topic that a producer writes to.
#[derive(Debug)]
pub struct TopicWriter {
    pub(super) topic: Arc<Topic>,
    pub(super) partitioner: Arc<PartitionerState>,
    pub(super) queues: Box<[Arc<PartitionQueue>]>,
    /// The metadata's change counter when `topic` was last found to be current.
    pub(super) seen_changes: AtomicU64,
}

impl TopicWriter {
    /// The number of the topic's partitions.
    #[must_use]
    pub fn partition_count(&self) -> usize {
        self.queues.len()
    }

    /// Whether `partition` is beyond the known ones. It may have been added since the last refresh.
    #[must_use]
    pub fn lacks_partition(&self, partition: Option<i32>) -> bool {
        partition.is_some_and(|partition| usize::try_from(partition).is_ok_and(|at| at >= self.queues.len()))
    }

    pub(super) fn queue(&self, partition: i32) -> Option<&Arc<PartitionQueue>> {
        self.queues.get(usize::try_from(partition).ok()?)
    }
}

impl Producer {
    /// Returns the writer of a known topic without waiting, or `None` if the topic has to be looked
    /// up.
    #[must_use]
    pub fn cached_topic_writer(&self, topic: &str) -> Option<Arc<TopicWriter>> {
        let metadata = &self.client().inner.metadata;
        let changes = metadata.update_version();
        let writer = Arc::clone(self.inner.topic_writers.read().get(topic)?);
        if writer.seen_changes.load(Ordering::Acquire) == changes {
            return Some(writer);
        }
        // Partitions may have been added, or leaders changed, since the last lookup.
        let current = Arc::clone(metadata.peek().topic(topic)?);
        if Arc::ptr_eq(&current, &writer.topic) {
            writer.seen_changes.store(changes, Ordering::Release);
            return Some(writer);
        }
        if current.partitions.is_empty() {
            // A brief gap in the metadata must not fail records that can wait.
            return Some(writer);
        }
        Some(self.store_topic_writer(current, Some(&writer)))
    }

    /// Looks a topic up, until a deadline.
    pub async fn topic_writer(&self, topic: &str, deadline: Instant) -> Result<Arc<TopicWriter>> {
        check_name("topic", topic)?;
        if let Some(writer) = self.cached_topic_writer(topic) {
            return Ok(writer);
        }
        if self.accumulator().closed.load(Ordering::Acquire) {
            return Err(self.accumulator().closed_error());
        }
        self.start();
        let name: Arc<str> = topic.into();
        let client = self.client();
        let began = Instant::now();
        let timeout = deadline.saturating_duration_since(began);
        let found = client.topics(std::slice::from_ref(&name), IfMissing::Create, timeout).await;
        self.accumulator().metrics.metadata_wait.record_nanos_since(began);
        let found = found.and_then(|found| {
            let gone = || Error::new(Kind::UnknownTopic, "the topic has disappeared").topic(topic);
            found.into_iter().next().ok_or_else(gone)
        });
        match found {
            Ok(found) => Ok(self.store_topic_writer(found, None)),
            Err(error) => {
                self.accumulator().record_refused(&error);
                Err(error)
            }
        }
    }

    /// Looks a topic up for records to partitions up to `partition`. If that is beyond the known
    /// partitions, the metadata is refreshed first, at a limited rate, because it may have been
    /// added.
    pub async fn topic_writer_for(
        &self,
        topic: &str,
        partition: Option<i32>,
        deadline: Instant,
    ) -> Result<Arc<TopicWriter>> {
        let writer = self.topic_writer(topic, deadline).await?;
        if !writer.lacks_partition(partition) || !self.inner.may_look_up_partition(Instant::now()) {
            return Ok(writer);
        }
        let (client, name) = (self.client(), Arc::clone(&writer.topic.name));
        let refresh =
            client.refresh(client.snapshot().generation, TopicSelector::Topics(std::slice::from_ref(&name)));
        if let Ok(Err(error)) = timeout_at(deadline, refresh).await {
            tracing::debug!(target: "ottla.producer", %error, "cannot look up a partition");
        }
        Ok(self.cached_topic_writer(topic).unwrap_or(writer))
    }

    fn store_topic_writer(&self, topic: Arc<Topic>, before: Option<&TopicWriter>) -> Arc<TopicWriter> {
        let accumulator = &self.inner.accumulator;
        let queues = topic
            .partitions
            .iter()
            .map(|partition| accumulator.queue(&topic.name, partition.index))
            .collect();
        let partitioner = before.map_or_else(Default::default, |before| Arc::clone(&before.partitioner));
        let writer =
            Arc::new(TopicWriter { partitioner, queues, topic, seen_changes: AtomicU64::new(u64::MAX) });
        self.inner.topic_writers.write().insert(Arc::clone(&writer.topic.name), Arc::clone(&writer));
        writer
    }
}

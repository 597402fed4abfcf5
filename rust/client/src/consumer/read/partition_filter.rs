//! The partitions whose records a poll returns: all, or those that the application names.

use std::collections::HashSet;
use std::sync::Arc;

use crate::topic_partition::TopicPartition;

/// The partitions whose records a poll returns. Default: all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PartitionFilter(Option<Arc<HashSet<TopicPartition>>>);

impl PartitionFilter {
    /// Only these partitions.
    #[must_use]
    pub fn only(partitions: impl IntoIterator<Item = TopicPartition>) -> Self {
        Self(Some(Arc::new(partitions.into_iter().collect())))
    }

    /// Whether it selects all partitions.
    pub(in crate::consumer) fn is_all(&self) -> bool {
        self.0.is_none()
    }

    /// Whether it selects a partition.
    pub(in crate::consumer) fn selects(&self, partition: &TopicPartition) -> bool {
        self.0.as_ref().is_none_or(|selected| selected.contains(partition))
    }
}

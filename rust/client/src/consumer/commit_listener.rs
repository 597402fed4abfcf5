//! `CommitListener`: learns of the commits of a consumer.

use std::collections::HashMap;
use std::fmt;

use crate::group_offsets::CommittedOffset;
use crate::topic_partition::TopicPartition;

/// Notified of all successful commits of a consumer, automatic or requested; `onCommit` of Java's
/// `ConsumerInterceptor`.
pub trait CommitListener: fmt::Debug + Send + Sync {
    /// Called after each successful commit, in order, while later ones wait. It must not block.
    fn on_commit(&self, offsets: &HashMap<TopicPartition, CommittedOffset>);
}

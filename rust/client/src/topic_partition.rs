//! A partition of a topic, as requests and results name it.

use std::sync::Arc;
/// A partition of a topic.
pub type TopicPartition = (Arc<str>, i32);

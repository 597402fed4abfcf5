//! A topic's name and a partition's number, as requests and results identify a partition.

use std::sync::Arc;
/// A topic's name and a partition's number.
pub type TopicPartition = (Arc<str>, i32);

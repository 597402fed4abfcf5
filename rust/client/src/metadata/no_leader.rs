//! Errors for missing topics and for partitions without a leader.

use ottla_protocol::{ApiKey, ErrorCode};

use crate::error::Error;
use crate::metadata::Snapshot;

/// The error for a topic that does not exist.
pub(crate) fn missing_topic() -> Error {
    Error::from_code(ErrorCode::UnknownTopicOrPartition)
        .prefixed("the cluster has no topic of this name: create it, or correct the name")
}

/// The error for a partition without a leader to send requests to.
pub(crate) fn no_leader(snapshot: &Snapshot, topic: &str, partition: i32) -> Error {
    use ottla_protocol::ErrorCode as E;
    let error = match snapshot.topic(topic) {
        None => missing_topic(),
        Some(known) if known.error == E::UnknownTopicOrPartition => missing_topic(),
        Some(known) if known.error != E::None => {
            Error::from_code(known.error).lacking(ApiKey::Metadata, topic)
        }
        Some(known) => match known.partition(partition) {
            None => {
                let count = known.partitions.len();
                let message = format!("the topic's partitions are 0 to {}", count.saturating_sub(1));
                Error::from_code(E::UnknownTopicOrPartition).prefixed(message)
            }
            Some(found) if found.error != E::None => Error::from_code(found.error),
            Some(_) => Error::from_code(E::LeaderNotAvailable),
        },
    };
    error.at(&topic.into(), partition)
}

//! OffsetForLeaderEpoch: the end offsets of leader epochs, which reveal whether a log was truncated
//! below a position (KIP-320).
//!
//! Invariant: a single request, without retries; the caller retries
//! (`consumer/positions/leader_lookups.rs`).

use std::sync::Arc;

use ottla_protocol::messages::offset_for_leader_epoch::{
    OffsetForLeaderEpochRequest, OffsetForLeaderPartition, OffsetForLeaderTopic,
};
use ottla_protocol::{ApiKey, ErrorCode};

use crate::cluster::{Client, Route};
use crate::error::{Error, Result};
use crate::metadata::Snapshot;
use crate::requests::{PartitionRequests, PartitionResults};
use crate::topic_partition::TopicPartition;

/// The first version that consumers may use; earlier ones are for brokers only.
const SINCE: i16 = 3;

/// The end of an epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EpochEnd {
    /// The largest epoch not above the requested one; -1 if the leader knows none.
    pub(crate) leader_epoch: i32,
    /// The offset after the epoch's last record; -1 if the leader does not know it.
    pub(crate) end_offset: i64,
}

impl EpochEnd {
    /// The result for a broker that does not support the request: no truncation.
    const NOT_TRUNCATED: Self = Self { leader_epoch: i32::MAX, end_offset: i64::MAX };
}

impl Client {
    /// Looks up the ends of epochs on one broker. A broker that does not support this (before Kafka 2.3)
    /// is assumed to have truncated nothing.
    pub(crate) async fn epoch_ends_on(
        &self,
        broker: i32,
        part: &PartitionRequests<i32>,
        snapshot: &Snapshot,
    ) -> Result<PartitionResults<EpochEnd>> {
        let connection = self.connection(Route::Broker(broker)).await?;
        let usable = connection.version::<OffsetForLeaderEpochRequest>(i16::MAX).ok();
        let Some(version) = usable.filter(|version| *version >= SINCE) else {
            let nothing = |partition: &TopicPartition| (partition.clone(), Ok(EpochEnd::NOT_TRUNCATED));
            return Ok(part.keys().map(nothing).collect());
        };
        let request = build_request(part, snapshot);
        let response = connection.request(&request, version).await.map_err(|error| error.broker(broker))?;
        connection.throttle(response.throttle_time_ms);
        let mut results = Vec::new();
        for topic in response.topics {
            let name: Arc<str> = topic.topic.into();
            for partition_result in topic.partitions {
                let end = EpochEnd {
                    leader_epoch: partition_result.leader_epoch,
                    end_offset: partition_result.end_offset,
                };
                let partition = (Arc::clone(&name), partition_result.partition);
                let refusal = |code| Error::from_code(code).lacking(ApiKey::OffsetForLeaderEpoch, &name);
                let end = ErrorCode::from(partition_result.error_code).ok().map(|()| end).map_err(refusal);
                results.push((partition, end));
            }
        }
        Ok(results)
    }
}

fn build_request(part: &PartitionRequests<i32>, snapshot: &Snapshot) -> OffsetForLeaderEpochRequest {
    let mut topics: Vec<OffsetForLeaderTopic> = Vec::new();
    for ((topic, partition), leader_epoch) in part {
        if topics.last().is_none_or(|last| *last.topic != **topic) {
            topics.push(OffsetForLeaderTopic { topic: topic.to_string(), partitions: Vec::new() });
        }
        if let Some(last) = topics.last_mut() {
            last.partitions.push(OffsetForLeaderPartition {
                partition: *partition,
                current_leader_epoch: snapshot.leader_epoch(topic, *partition),
                leader_epoch: *leader_epoch,
            });
        }
    }
    OffsetForLeaderEpochRequest { replica_id: -1, topics }
}

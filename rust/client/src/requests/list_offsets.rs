//! ListOffsets: the start and end of partitions, and the offsets of timestamps.
//!
//! Invariant: no partition is missing from the result of [`Client::list_offsets`]
//! (`leader_requests.rs`).

use std::collections::HashMap;
use std::sync::Arc;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::list_offsets::{ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic};
use tokio::time::Duration;

use crate::cluster::{Client, Route};
use crate::error::{Error, Kind, Result};
use crate::metadata::Snapshot;
use crate::requests::{PartitionRequests, PartitionResults};
use crate::topic_partition::TopicPartition;

/// The wire value for the record with the largest timestamp, and the first version that supports it.
const MAX_TIMESTAMP: i64 = -3;
const MAX_TIMESTAMP_SINCE: i16 = 7;

/// The offset to look up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OffsetSpec {
    /// The first record in the log.
    Earliest,
    /// The end of the log: the offset of the next record.
    Latest,
    /// The record with the largest timestamp (KIP-734).
    MaxTimestamp,
    /// The first record at or after this time, in milliseconds since the epoch. A time before 1970 is before all
    /// records.
    Timestamp(i64),
}

impl OffsetSpec {
    fn wire_timestamp(self) -> i64 {
        match self {
            Self::Latest => -1,
            Self::Earliest => -2,
            Self::MaxTimestamp => MAX_TIMESTAMP,
            // Negative numbers are the names above; a record that has a time has one since 1970.
            Self::Timestamp(millis) => millis.max(0),
        }
    }
}

/// An offset, as the leader reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedOffset {
    /// The offset; -1 if no record has such a timestamp.
    pub offset: i64,
    /// The record's timestamp in milliseconds; -1 if the lookup was not by timestamp.
    pub timestamp: i64,
    /// The record's leader epoch; -1 if unknown.
    pub leader_epoch: i32,
}

impl Client {
    /// Looks up offsets of partitions. With `read_committed`, `Latest` is the last stable offset.
    pub async fn list_offsets(
        &self,
        wanted: impl IntoIterator<Item = (TopicPartition, OffsetSpec)>,
        read_committed: bool,
        timeout: Duration,
    ) -> Result<HashMap<TopicPartition, ListedOffset>> {
        self.request_from_leaders(
            "listing offsets",
            wanted,
            timeout,
            |client, broker, part, snapshot| async move {
                client.list_offsets_on(broker, &part, read_committed, &snapshot).await
            },
        )
        .await
    }

    /// Looks up offsets on one broker: a single request, without retries.
    pub(crate) async fn list_offsets_on(
        &self,
        broker: i32,
        part: &PartitionRequests<OffsetSpec>,
        read_committed: bool,
        snapshot: &Snapshot,
    ) -> Result<PartitionResults<ListedOffset>> {
        let request = build_request(part, read_committed, snapshot);
        send_request(self, broker, &request).await
    }
}

async fn send_request(
    client: &Client,
    broker: i32,
    request: &ListOffsetsRequest,
) -> Result<PartitionResults<ListedOffset>> {
    let connection = client.connection(Route::Broker(broker)).await?;
    let version = connection.version::<ListOffsetsRequest>(10)?;
    let mut partitions = request.topics.iter().flat_map(|topic| &topic.partitions);
    if version < MAX_TIMESTAMP_SINCE && partitions.any(|p| p.timestamp == MAX_TIMESTAMP) {
        let message = format!(
            "the broker supports ListOffsets up to version {version}; the largest timestamp needs {MAX_TIMESTAMP_SINCE} (Kafka 3.0)"
        );
        return Err(Error::new(Kind::Broker, message).broker(broker).address(connection.address()));
    }
    let response = connection.request(request, version).await.map_err(|error| error.broker(broker))?;
    connection.throttle(response.throttle_time_ms);
    let mut results = Vec::new();
    for topic in response.topics {
        let name: Arc<str> = topic.name.into();
        for partition_result in topic.partitions {
            let (offset, timestamp, leader_epoch) =
                (partition_result.offset, partition_result.timestamp, partition_result.leader_epoch);
            let listed = ListedOffset { offset, timestamp, leader_epoch };
            let partition = (Arc::clone(&name), partition_result.partition_index);
            results.push((partition, ErrorCode::from(partition_result.error_code), listed));
        }
    }
    Ok(results)
}

fn build_request(
    part: &PartitionRequests<OffsetSpec>,
    read_committed: bool,
    snapshot: &Snapshot,
) -> ListOffsetsRequest {
    let mut topics: Vec<ListOffsetsTopic> = Vec::new();
    for ((topic, partition), spec) in part {
        if topics.last().is_none_or(|last| *last.name != **topic) {
            topics.push(ListOffsetsTopic { name: topic.to_string(), ..Default::default() });
        }
        if let Some(last) = topics.last_mut() {
            last.partitions.push(ListOffsetsPartition {
                partition_index: *partition,
                current_leader_epoch: snapshot.leader_epoch(topic, *partition),
                timestamp: spec.wire_timestamp(),
            });
        }
    }
    ListOffsetsRequest {
        replica_id: -1,
        isolation_level: i8::from(read_committed),
        topics,
        ..Default::default()
    }
}

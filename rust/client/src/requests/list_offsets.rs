//! ListOffsets: where partitions start and end, and where a timestamp lies in them.
//!
//! Invariant: no partition is left out of the result (`leader_requests.rs`), but of what one broker says by
//! itself.

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

/// On the wire, the record with the largest timestamp, and the version that first knows it.
const MAX_TIMESTAMP: i64 = -3;
const MAX_TIMESTAMP_SINCE: i16 = 7;

/// Which offset is response for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OffsetSpec {
    /// The first record that is there.
    Earliest,
    /// The end: where the next record will be.
    Latest,
    /// The record with the largest timestamp (KIP-734).
    MaxTimestamp,
    /// The first record at or after this time, in milliseconds since 1970.
    Timestamp(i64),
}

impl OffsetSpec {
    fn wire_timestamp(self) -> i64 {
        match self {
            Self::Latest => -1,
            Self::Earliest => -2,
            Self::MaxTimestamp => MAX_TIMESTAMP,
            Self::Timestamp(millis) => millis,
        }
    }
}

/// An offset as the leader told it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedOffset {
    /// The offset; -1 if no record has such a timestamp.
    pub offset: i64,
    /// The record's timestamp in milliseconds; -1 where none was response for.
    pub timestamp: i64,
    /// The leader epoch of the record; -1 if unknown.
    pub leader_epoch: i32,
}

impl Client {
    /// The offsets of partitions. `read_committed` has `Latest` mean the last stable offset.
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

    /// What one broker says of what it leads: one request, and nothing is tried again.
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
        let words = format!(
            "the broker speaks ListOffsets up to {version}; the largest timestamp needs {MAX_TIMESTAMP_SINCE} (Kafka 3.0)"
        );
        return Err(Error::new(Kind::Broker, words).broker(broker).address(connection.address()));
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

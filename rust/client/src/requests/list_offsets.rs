//! ListOffsets: the start and end of partitions, and the offsets of timestamps.
//!
//! Invariant: no partition is missing from the result of [`Client::list_offsets`]
//! (`leader_requests.rs`).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ottla_protocol::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsTopic,
};
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::time::Duration;

use crate::cluster::{Client, Route};
use crate::error::{Error, Result};
use crate::metadata::Snapshot;
use crate::requests::{PartitionRequests, PartitionResults};
use crate::topic_partition::TopicPartition;

/// The offset to look up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OffsetSpec {
    /// The first record in the log.
    Earliest,
    /// The end of the log: the offset of the next record.
    Latest,
    /// The record with the largest timestamp (KIP-734).
    MaxTimestamp,
    /// With tiered storage, the first record on the leader's own disk (KIP-405).
    EarliestLocal,
    /// With tiered storage, the last record that remote storage has (KIP-1005).
    LatestTiered,
    /// With tiered storage, the first record that is to be copied to remote storage (KIP-1023).
    EarliestPendingUpload,
    /// The first record at or after this time, in milliseconds since the epoch. A time before 1970 is before all
    /// records.
    Timestamp(i64),
}

impl OffsetSpec {
    /// The specifications with a name.
    pub const NAMED: [Self; 6] = [
        Self::Earliest,
        Self::Latest,
        Self::MaxTimestamp,
        Self::EarliestLocal,
        Self::LatestTiered,
        Self::EarliestPendingUpload,
    ];

    /// Its name; `None` for a time.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        match self {
            Self::Earliest => Some("earliest"),
            Self::Latest => Some("latest"),
            Self::MaxTimestamp => Some("max_timestamp"),
            Self::EarliestLocal => Some("earliest_local"),
            Self::LatestTiered => Some("latest_tiered"),
            Self::EarliestPendingUpload => Some("earliest_pending_upload"),
            Self::Timestamp(_) => None,
        }
    }

    /// The timestamp that stands for it in a request, and the first version of ListOffsets that knows it.
    fn wire_timestamp(self) -> (i64, i16) {
        match self {
            Self::Latest => (-1, 0),
            Self::Earliest => (-2, 0),
            Self::MaxTimestamp => (-3, 7),
            Self::EarliestLocal => (-4, 8),
            Self::LatestTiered => (-5, 9),
            Self::EarliestPendingUpload => (-6, 11),
            // Negative numbers are the names above; a record that has a time has one since 1970.
            Self::Timestamp(millis) => (millis.max(0), 0),
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

    /// As [`Client::list_offsets`], with the error of each partition in the place of its offset.
    pub async fn list_offsets_each(
        &self,
        wanted: impl IntoIterator<Item = (TopicPartition, OffsetSpec)>,
        read_committed: bool,
        timeout: Duration,
    ) -> BTreeMap<TopicPartition, Result<ListedOffset>> {
        self.request_each_from_leaders(
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
        let connection = self.connection(Route::Broker(broker)).await?;
        let version = connection.version::<ListOffsetsRequest>(i16::MAX)?;
        let (known, unknown): (Vec<_>, Vec<_>) =
            part.iter().partition(|(_, spec)| spec.wire_timestamp().1 <= version);
        let mut results: PartitionResults<ListedOffset> = unknown
            .into_iter()
            .map(|(partition, spec)| (partition.clone(), Err(unsupported(*spec, version))))
            .collect();
        if known.is_empty() {
            return Ok(results);
        }
        let request = build_request(&known, read_committed, snapshot);
        let response = connection.request(&request, version).await.map_err(|error| error.broker(broker))?;
        connection.throttle(response.throttle_time_ms);
        for topic in response.topics {
            let name: Arc<str> = topic.name.into();
            for result in topic.partitions {
                let ListOffsetsPartitionResponse { offset, timestamp, leader_epoch, .. } = result;
                let listed = ListedOffset { offset, timestamp, leader_epoch };
                let refusal = |code| Error::from_code(code).lacking(ApiKey::ListOffsets, &name);
                let listed = ErrorCode::from(result.error_code).ok().map(|()| listed).map_err(refusal);
                results.push(((Arc::clone(&name), result.partition_index), listed));
            }
        }
        Ok(results)
    }
}

fn unsupported(spec: OffsetSpec, version: i16) -> Error {
    let (name, needed) = (spec.name().unwrap_or("a time"), spec.wire_timestamp().1);
    let release = match spec {
        OffsetSpec::MaxTimestamp => " (Kafka 3.0)",
        OffsetSpec::EarliestLocal => " (Kafka 3.5)",
        OffsetSpec::LatestTiered => " (Kafka 3.9)",
        OffsetSpec::EarliestPendingUpload => " (Kafka 4.2)",
        OffsetSpec::Earliest | OffsetSpec::Latest | OffsetSpec::Timestamp(_) => "",
    };
    let message = format!(
        "the broker supports ListOffsets up to version {version}; {name} needs version {needed}{release}"
    );
    Error::with_code(ErrorCode::UnsupportedVersion, message)
}

fn build_request(
    part: &[(&TopicPartition, &OffsetSpec)],
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
                timestamp: spec.wire_timestamp().0,
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

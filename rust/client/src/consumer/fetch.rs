//! One Fetch request to one broker: building it, and judging what came back per partition.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::fetch::{FetchPartition, FetchRequest, FetchResponse, FetchTopic};
use ottla_protocol::records::AbortedTransaction;
use tokio::time::Duration;

use crate::cluster::{Client, Route};
use crate::error::Result;
use crate::list_offsets::TopicPartition;
use crate::metadata::brokers;

/// Where to read on in a partition.
#[derive(Debug, Clone)]
pub(super) struct Position {
    pub(super) partition: TopicPartition,
    pub(super) offset: i64,
    pub(super) leader_epoch: i32,
}

/// Bounds of one request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) max_wait: Duration,
    pub(super) min_bytes: i32,
    pub(super) max_bytes: i32,
    pub(super) partition_max_bytes: i32,
    pub(super) read_committed: bool,
}

/// What a broker answered for one partition.
#[derive(Debug)]
pub(super) struct Fetched {
    pub(super) error: ErrorCode,
    pub(super) high_watermark: i64,
    pub(super) aborted: Vec<AbortedTransaction>,
    pub(super) records: Bytes,
}

/// Fetches from `broker`. Partitions that the answer leaves out are missing from the result.
pub(super) async fn fetch(
    client: &Client,
    broker: i32,
    positions: &[Position],
    limits: Limits,
) -> Result<HashMap<TopicPartition, Fetched>> {
    let connection = client.connection(Route::Broker(broker)).await?;
    let snapshot = client.snapshot();
    let id = |topic: &str| snapshot.topic(topic).map(|known| known.id).filter(|id| !id.is_zero());
    // Versions from 13 on name topics by id, so each must have one.
    let all_have_ids = positions.iter().all(|position| id(&position.partition.0).is_some());
    let version = connection.version::<FetchRequest>(if all_have_ids { i16::MAX } else { 12 })?;
    let mut request = build_request(positions, limits, &client.config().client_rack);
    if version >= 13 {
        for topic in &mut request.topics {
            topic.topic_id = id(&topic.topic).unwrap_or_default();
        }
    }
    let timeout = client.config().request_timeout + limits.max_wait;
    let response =
        connection.request_within(&request, version, timeout).await.map_err(|error| error.broker(broker))?;
    connection.throttle(response.throttle_time_ms);
    if let Err(code) = ErrorCode::from(response.error_code).ok() {
        return Err(crate::error::Error::from_code(code).broker(broker));
    }
    Ok(process_response(client, response))
}

fn build_request(positions: &[Position], limits: Limits, rack: &str) -> FetchRequest {
    let mut topics: Vec<FetchTopic> = Vec::new();
    for position in positions {
        let (topic, partition) = &position.partition;
        let entry = FetchPartition {
            partition: *partition,
            current_leader_epoch: position.leader_epoch,
            fetch_offset: position.offset,
            partition_max_bytes: limits.partition_max_bytes,
            ..Default::default()
        };
        match topics.iter_mut().find(|known| known.topic == **topic) {
            Some(known) => known.partitions.push(entry),
            None => topics.push(FetchTopic {
                topic: topic.to_string(),
                partitions: vec![entry],
                ..Default::default()
            }),
        }
    }
    FetchRequest {
        max_wait_ms: i32::try_from(limits.max_wait.as_millis()).unwrap_or(i32::MAX),
        min_bytes: limits.min_bytes,
        max_bytes: limits.max_bytes,
        isolation_level: i8::from(limits.read_committed),
        topics,
        rack_id: rack.to_owned(),
        ..Default::default()
    }
}

fn process_response(client: &Client, response: FetchResponse) -> HashMap<TopicPartition, Fetched> {
    let snapshot = client.snapshot();
    let named = response.node_endpoints.into_iter().map(|n| (n.node_id, n.host, n.port, n.rack));
    let endpoints = brokers(named);
    let mut fetched = HashMap::new();
    for topic in response.responses {
        let name = match snapshot.name_of(topic.topic_id) {
            Some(name) => Arc::clone(name),
            None => topic.topic.into(),
        };
        for answer in topic.partitions {
            let leader = &answer.current_leader;
            if leader.leader_id >= 0 {
                let metadata = &client.inner.metadata;
                metadata.process_leader(
                    &name,
                    answer.partition_index,
                    leader.leader_id,
                    leader.leader_epoch,
                    &endpoints,
                );
            }
            let aborted = answer.aborted_transactions.unwrap_or_default();
            let aborted = aborted
                .into_iter()
                .map(|a| AbortedTransaction { producer_id: a.producer_id, first_offset: a.first_offset });
            fetched.insert(
                (Arc::clone(&name), answer.partition_index),
                Fetched {
                    error: ErrorCode::from(answer.error_code),
                    high_watermark: answer.high_watermark,
                    aborted: aborted.collect(),
                    records: answer.records.unwrap_or_default(),
                },
            );
        }
    }
    fetched
}

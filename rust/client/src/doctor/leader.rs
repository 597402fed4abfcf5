//! Checks a leader as a consumer would: lists a partition's offsets and fetches from it.

use std::sync::Arc;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::fetch::{FetchPartition, FetchRequest, FetchTopic};
use ottla_protocol::messages::list_offsets::{ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic};
use ottla_protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic};

use super::ProbeContext;
use super::check::{Check, Reason};
use super::facts::{Failure, PartitionFacts};
use super::progress::Subject;
use super::steps::{exchange, failure, of_code, of_error, step};
use super::topics::LedPartition;
use crate::cluster::bootstrap::request_metadata;
use crate::connection::Connection;

const EARLIEST: i64 = -2;
const LATEST: i64 = -1;
/// Checks partitions one after the other, on the connection to their leader.
pub(super) async fn check(
    probe: &ProbeContext,
    connection: &Connection,
    led: &[LedPartition],
) -> Vec<PartitionFacts> {
    let mut checked = Vec::new();
    for partition in led {
        checked.push(check_partition(probe, connection, partition).await);
    }
    checked
}

async fn check_partition(
    probe: &ProbeContext,
    connection: &Connection,
    led: &LedPartition,
) -> PartitionFacts {
    let mut facts = PartitionFacts {
        topic: led.topic.to_string(),
        partition: led.partition,
        steps: Vec::new(),
        start: None,
        end: None,
        leader_now: None,
    };
    let subject = Subject::partition(&led.topic, led.partition);
    let (listed, bounds) = step(probe, &subject, Check::ListOffsets, async {
        // A request may list a partition only once, so the two offsets take two requests.
        let start = list_offset(connection, led, EARLIEST).await?;
        Ok((start, list_offset(connection, led, LATEST).await?))
    })
    .await;
    facts.steps.push(listed);
    if let Some((start, end)) = bounds {
        (facts.start, facts.end) = (Some(start), Some(end));
        let (fetched, _) = step(probe, &subject, Check::Fetch, fetch(connection, led, end)).await;
        facts.steps.push(fetched);
    }
    let not_leader = |code| matches!(code, ErrorCode::NotLeaderOrFollower | ErrorCode::FencedLeaderEpoch);
    if facts.steps.iter().filter_map(|step| step.failure.as_ref()?.code).any(not_leader) {
        let (_, leader) = step(probe, &subject, Check::Metadata, leader_now(connection, led)).await;
        facts.leader_now = leader.flatten();
    }
    facts
}

async fn list_offset(connection: &Connection, led: &LedPartition, timestamp: i64) -> Result<i64, Failure> {
    let partition = ListOffsetsPartition { partition_index: led.partition, timestamp, ..Default::default() };
    let topic = ListOffsetsTopic { name: led.topic.to_string(), partitions: vec![partition] };
    let request = ListOffsetsRequest { replica_id: -1, topics: vec![topic], ..Default::default() };
    let response = exchange(connection, &request, i16::MAX).await?;
    let listed = response.topics.iter().flat_map(|topic| &topic.partitions).next();
    let listed =
        listed.ok_or_else(|| failure(Reason::Other, "the response does not contain the partition"))?;
    ErrorCode::from(listed.error_code).ok().map_err(of_code)?;
    Ok(listed.offset)
}

/// Fetches from the end, which returns immediately and without records: it checks the permission to read
/// and the leader's readiness, not the log.
async fn fetch(connection: &Connection, led: &LedPartition, offset: i64) -> Result<(), Failure> {
    let partition = FetchPartition {
        partition: led.partition,
        current_leader_epoch: -1,
        fetch_offset: offset,
        partition_max_bytes: 1,
        ..Default::default()
    };
    let topic =
        FetchTopic { topic: led.topic.to_string(), topic_id: led.topic_id, partitions: vec![partition] };
    let request = FetchRequest { max_wait_ms: 0, max_bytes: 1, topics: vec![topic], ..Default::default() };
    let max = if led.topic_id.is_zero() { FetchRequest::FIRST_BY_ID - 1 } else { i16::MAX };
    let response = exchange(connection, &request, max).await?;
    ErrorCode::from(response.error_code).ok().map_err(of_code)?;
    let fetched = response.responses.iter().flat_map(|topic| &topic.partitions).next();
    match fetched {
        Some(fetched) => ErrorCode::from(fetched.error_code).ok().map_err(of_code),
        None => Err(failure(Reason::Other, "the response does not contain the partition")),
    }
}

/// The leader according to the broker itself.
async fn leader_now(connection: &Connection, led: &LedPartition) -> Result<Option<i32>, Failure> {
    let topic = MetadataRequestTopic { name: Some(led.topic.to_string()), ..Default::default() };
    let request = MetadataRequest { topics: Some(vec![topic]), ..Default::default() };
    let response = request_metadata(connection, &request).await.map_err(|error| of_error(&error, false))?;
    let mut partitions = response.topics.iter().flat_map(|topic| &topic.partitions);
    let found = partitions.find(|partition| partition.partition_index == led.partition);
    Ok(found.map(|partition| partition.leader_id).filter(|leader| *leader >= 0))
}

/// The partitions to check of those that a broker leads: all, or the first one.
pub(super) fn choose(led: &[LedPartition], all: bool) -> Arc<[LedPartition]> {
    led.iter().take(if all { usize::MAX } else { 1 }).cloned().collect()
}

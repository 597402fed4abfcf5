//! A leader as a consumer meets it: where does a partition start and end, and does a fetch work?

use std::sync::Arc;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::fetch::{FetchPartition, FetchRequest, FetchTopic};
use ottla_protocol::messages::list_offsets::{ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic};
use ottla_protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic};

use super::Probe;
use super::check::{Check, Reason};
use super::facts::{Failure, PartitionFacts};
use super::steps::{failure, of_code, of_error, step};
use super::topics::Led;
use crate::cluster::bootstrap::request_metadata;
use crate::connection::Connection;

const EARLIEST: i64 = -2;
const LATEST: i64 = -1;
/// Topics have names up to here, ids from there on; a name is what the doctor was given.
const FETCH_BY_NAME: i16 = 12;

/// Looks at partitions, one after the other, on the connection to their leader.
pub(super) async fn look(probe: &Probe, connection: &Connection, leads: &[Led]) -> Vec<PartitionFacts> {
    let mut looked = Vec::new();
    for led in leads {
        looked.push(look_at(probe, connection, led).await);
    }
    looked
}

async fn look_at(probe: &Probe, connection: &Connection, led: &Led) -> PartitionFacts {
    let mut facts = PartitionFacts {
        topic: led.topic.to_string(),
        partition: led.partition,
        steps: Vec::new(),
        start: None,
        end: None,
        leader_now: None,
    };
    let (listed, bounds) = step(probe, Check::ListOffsets, async {
        // A request names a partition once, so that its two ends take two.
        let start = list_offset(connection, led, EARLIEST).await?;
        Ok((start, list_offset(connection, led, LATEST).await?))
    })
    .await;
    facts.steps.push(listed);
    if let Some((start, end)) = bounds {
        (facts.start, facts.end) = (Some(start), Some(end));
        let (fetched, _) = step(probe, Check::Fetch, fetch(connection, led, end)).await;
        facts.steps.push(fetched);
    }
    let refused = |code| matches!(code, ErrorCode::NotLeaderOrFollower | ErrorCode::FencedLeaderEpoch);
    if facts.steps.iter().filter_map(|step| step.failure.as_ref()?.code).any(refused) {
        let (_, leader) = step(probe, Check::Metadata, leader_now(connection, led)).await;
        facts.leader_now = leader.flatten();
    }
    facts
}

async fn list_offset(connection: &Connection, led: &Led, timestamp: i64) -> Result<i64, Failure> {
    let partition = ListOffsetsPartition { partition_index: led.partition, timestamp, ..Default::default() };
    let topic = ListOffsetsTopic { name: led.topic.to_string(), partitions: vec![partition] };
    let request = ListOffsetsRequest { replica_id: -1, topics: vec![topic], ..Default::default() };
    let response = exchange(connection, &request, i16::MAX).await?;
    let answer = response.topics.iter().flat_map(|topic| &topic.partitions).next();
    let answer = answer.ok_or_else(|| failure(Reason::Other, "the answer leaves the partition out"))?;
    ErrorCode::from(answer.error_code).ok().map_err(of_code)?;
    Ok(answer.offset)
}

/// Fetches from the end, which is answered at once and brings nothing: what is tried is the right
/// to read and the leader's readiness, not the log.
async fn fetch(connection: &Connection, led: &Led, offset: i64) -> Result<(), Failure> {
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
    let max = if led.topic_id.is_zero() { FETCH_BY_NAME } else { i16::MAX };
    let response = exchange(connection, &request, max).await?;
    ErrorCode::from(response.error_code).ok().map_err(of_code)?;
    let answer = response.responses.iter().flat_map(|topic| &topic.partitions).next();
    match answer {
        Some(answer) => ErrorCode::from(answer.error_code).ok().map_err(of_code),
        None => Err(failure(Reason::Other, "the answer leaves the partition out")),
    }
}

/// Whom the broker itself takes for the leader.
async fn leader_now(connection: &Connection, led: &Led) -> Result<Option<i32>, Failure> {
    let topic = MetadataRequestTopic { name: Some(led.topic.to_string()), ..Default::default() };
    let request = MetadataRequest { topics: Some(vec![topic]), ..Default::default() };
    let response = request_metadata(connection, &request).await.map_err(|error| of_error(&error, false))?;
    let mut partitions = response.topics.iter().flat_map(|topic| &topic.partitions);
    let found = partitions.find(|partition| partition.partition_index == led.partition);
    Ok(found.map(|partition| partition.leader_id).filter(|leader| *leader >= 0))
}

async fn exchange<R: ottla_protocol::Request>(
    connection: &Connection,
    request: &R,
    max: i16,
) -> Result<R::Response, Failure> {
    let ended = |error| of_error(&error, connection.close_reason().is_some());
    let version = connection.version::<R>(max).map_err(|error| of_error(&error, false))?;
    connection.request(request, version).await.map_err(ended)
}

/// Partitions to look at, of those that a broker leads: all, or the first.
pub(super) fn choose(leads: &[Led], all: bool) -> Arc<[Led]> {
    leads.iter().take(if all { usize::MAX } else { 1 }).cloned().collect()
}

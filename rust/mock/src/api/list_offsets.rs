//! ListOffsets (2), versions 1–11: the earliest and latest offsets of a log, and offsets by timestamp.
//!
//! -1 latest, -2 earliest, -3 the largest timestamp (from version 7), -4 the earliest local (from 8), -5 the
//! latest tiered (from 9), -6 the earliest pending upload (from 11). The mock has no tiered storage. Leader
//! epochs from version 4.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsResponse,
    ListOffsetsTopicResponse,
};

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::fault::FaultTarget;
use crate::log::{PartitionLog, TimestampAndOffset};
use crate::state::ClusterState;

const READ_COMMITTED: i8 = 1;

impl RequestHandler for ListOffsetsRequest {
    fn targets(&self, _version: i16, _state: &ClusterState) -> Vec<FaultTarget> {
        let of = |topic: &str, index| FaultTarget { topic: topic.to_owned(), partition: Some(index) };
        let topics = self.topics.iter();
        topics.flat_map(|t| t.partitions.iter().map(|p| of(&t.name, p.partition_index))).collect()
    }

    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<ListOffsetsResponse> {
        let mut response = ListOffsetsResponse::default();
        for topic in &self.topics {
            let response_for = |requested: &ListOffsetsPartition| {
                let found = find(context, &topic.name, requested, self.isolation_level == READ_COMMITTED);
                build_partition(requested.partition_index, context.version, found)
            };
            response.topics.push(ListOffsetsTopicResponse {
                name: topic.name.clone(),
                partitions: topic.partitions.iter().map(response_for).collect(),
            });
        }
        HandlerResult::Response(response)
    }

    fn throttle_time(response: &mut ListOffsetsResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn find(
    context: &RequestContext<'_>,
    topic: &str,
    requested: &ListOffsetsPartition,
    committed: bool,
) -> Result<Option<TimestampAndOffset>, ErrorCode> {
    context.check_fault(topic, Some(requested.partition_index))?;
    let partition = context.state.partition(topic, requested.partition_index)?;
    partition.check_leader(context.broker, requested.current_leader_epoch)?;
    let log = &partition.log;
    let end = if committed { log.last_stable_offset() } else { log.high_watermark() };
    match (requested.timestamp, context.version) {
        (-1, _) => Ok(Some(at(log, end))),
        (-2, _) | (-4, 8..) => Ok(Some(at(log, log.start_offset()))),
        (-3, 7..) => Ok(log.find_max_timestamp()),
        (-5, 9..) | (-6, 11..) => Ok(None),
        (0.., _) => Ok(log.find_timestamp(requested.timestamp)),
        _ => Err(ErrorCode::UnsupportedVersion),
    }
}

fn at(log: &PartitionLog, offset: i64) -> TimestampAndOffset {
    TimestampAndOffset { offset, timestamp: -1, leader_epoch: log.epoch_at(offset) }
}

fn build_partition(
    index: i32,
    version: i16,
    found: Result<Option<TimestampAndOffset>, ErrorCode>,
) -> ListOffsetsPartitionResponse {
    let mut response = ListOffsetsPartitionResponse { partition_index: index, ..Default::default() };
    match found {
        Ok(Some(found)) => {
            response.offset = found.offset;
            response.timestamp = found.timestamp;
            // Versions below 4 lack the field, and it is not ignorable.
            response.leader_epoch = if version >= 4 { found.leader_epoch } else { -1 };
        }
        Ok(None) => {}
        Err(code) => response.error_code = code.code(),
    }
    response
}

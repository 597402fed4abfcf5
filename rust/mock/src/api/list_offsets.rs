//! ListOffsets (2), versions 1–11: where a log starts, where it ends, and what lies at a time.
//!
//! -1 latest, -2 earliest; -3 the largest timestamp (from 7), -4 the earliest local (from 8), -5 the
//! latest tiered (from 9), -6 the earliest to be tiered (from 11): the mock has no tiered storage.
//! Leader epochs from 4 on.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsResponse,
    ListOffsetsTopicResponse,
};

use super::{Call, Serve, Served};
use crate::fault::Target;
use crate::log::{Found, PartitionLog};
use crate::state::ClusterState;

const READ_COMMITTED: i8 = 1;

impl Serve for ListOffsetsRequest {
    fn targets(&self, _version: i16, _state: &ClusterState) -> Vec<Target> {
        let of = |topic: &str, index| Target { topic: topic.to_owned(), partition: Some(index) };
        let topics = self.topics.iter();
        topics.flat_map(|t| t.partitions.iter().map(|p| of(&t.name, p.partition_index))).collect()
    }

    fn serve(&self, call: &mut Call<'_>) -> Served<ListOffsetsResponse> {
        let mut response = ListOffsetsResponse::default();
        for topic in &self.topics {
            let answer = |wanted: &ListOffsetsPartition| {
                let found = find(call, &topic.name, wanted, self.isolation_level == READ_COMMITTED);
                build_partition(wanted.partition_index, call.version, found)
            };
            response.topics.push(ListOffsetsTopicResponse {
                name: topic.name.clone(),
                partitions: topic.partitions.iter().map(answer).collect(),
            });
        }
        Served::Answer(response)
    }

    fn throttle_time(response: &mut ListOffsetsResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn find(
    call: &Call<'_>,
    topic: &str,
    wanted: &ListOffsetsPartition,
    committed: bool,
) -> Result<Option<Found>, ErrorCode> {
    call.check_fault(topic, Some(wanted.partition_index))?;
    let partition = call.state.partition(topic, wanted.partition_index)?;
    partition.check_leader(call.broker, wanted.current_leader_epoch)?;
    let log = &partition.log;
    let end = if committed { log.last_stable_offset() } else { log.high_watermark() };
    match (wanted.timestamp, call.version) {
        (-1, _) => Ok(Some(at(log, end))),
        (-2, _) | (-4, 8..) => Ok(Some(at(log, log.start_offset()))),
        (-3, 7..) => Ok(log.find_max_timestamp()),
        (-5, 9..) | (-6, 11..) => Ok(None),
        (0.., _) => Ok(log.find_timestamp(wanted.timestamp)),
        _ => Err(ErrorCode::UnsupportedVersion),
    }
}

fn at(log: &PartitionLog, offset: i64) -> Found {
    Found { offset, timestamp: -1, leader_epoch: log.epoch_at(offset) }
}

fn build_partition(
    index: i32,
    version: i16,
    found: Result<Option<Found>, ErrorCode>,
) -> ListOffsetsPartitionResponse {
    let mut answer = ListOffsetsPartitionResponse { partition_index: index, ..Default::default() };
    match found {
        Ok(Some(found)) => {
            answer.offset = found.offset;
            answer.timestamp = found.timestamp;
            // The field is not ignorable: before version 4 it must keep its default.
            answer.leader_epoch = if version >= 4 { found.leader_epoch } else { -1 };
        }
        Ok(None) => {}
        Err(code) => answer.error_code = code.code(),
    }
    answer
}

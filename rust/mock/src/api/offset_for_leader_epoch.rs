//! OffsetForLeaderEpoch (23), versions 2–4: the end offset of a leader epoch, by which clients detect a
//! truncated log (KIP-320). The end offset of an epoch that the log does not know yet is -1.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::offset_for_leader_epoch::{
    EpochEndOffset, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
};

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::fault::FaultTarget;
use crate::state::ClusterState;

impl RequestHandler for OffsetForLeaderEpochRequest {
    fn targets(&self, _version: i16, _state: &ClusterState) -> Vec<FaultTarget> {
        let of = |topic: &str, index| FaultTarget { topic: topic.to_owned(), partition: Some(index) };
        let topics = self.topics.iter();
        topics.flat_map(|t| t.partitions.iter().map(|p| of(&t.topic, p.partition))).collect()
    }

    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<OffsetForLeaderEpochResponse> {
        let topics = self.topics.iter().map(|topic| {
            let response_for = |requested: &OffsetForLeaderPartition| {
                let found = find(context, &topic.topic, requested);
                let (leader_epoch, end_offset) = found.ok().flatten().unwrap_or((-1, -1));
                EpochEndOffset {
                    error_code: found.err().unwrap_or(ErrorCode::None).code(),
                    partition: requested.partition,
                    leader_epoch,
                    end_offset,
                }
            };
            OffsetForLeaderTopicResult {
                topic: topic.topic.clone(),
                partitions: topic.partitions.iter().map(response_for).collect(),
            }
        });
        HandlerResult::Response(OffsetForLeaderEpochResponse {
            topics: topics.collect(),
            ..Default::default()
        })
    }

    fn throttle_time(response: &mut OffsetForLeaderEpochResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn find(
    context: &RequestContext<'_>,
    topic: &str,
    requested: &OffsetForLeaderPartition,
) -> Result<Option<(i32, i64)>, ErrorCode> {
    context.check_fault(topic, Some(requested.partition))?;
    let partition = context.state.partition(topic, requested.partition)?;
    partition.check_leader(context.broker, requested.current_leader_epoch)?;
    Ok(partition.log.epoch_end(requested.leader_epoch))
}

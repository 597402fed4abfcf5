//! OffsetForLeaderEpoch (23), versions 2–4: where a leader epoch ended, so that a client finds out that
//! the log was truncated (KIP-320). An epoch that is newer than the log has -1.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::offset_for_leader_epoch::{
    EpochEndOffset, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
};

use super::{Call, Serve, Served};
use crate::fault::Target;
use crate::state::ClusterState;

impl Serve for OffsetForLeaderEpochRequest {
    fn targets(&self, _version: i16, _state: &ClusterState) -> Vec<Target> {
        let of = |topic: &str, index| Target { topic: topic.to_owned(), partition: Some(index) };
        let topics = self.topics.iter();
        topics.flat_map(|t| t.partitions.iter().map(|p| of(&t.topic, p.partition))).collect()
    }

    fn serve(&self, call: &mut Call<'_>) -> Served<OffsetForLeaderEpochResponse> {
        let topics = self.topics.iter().map(|topic| {
            let answer = |wanted: &OffsetForLeaderPartition| {
                let found = find(call, &topic.topic, wanted);
                let (leader_epoch, end_offset) = found.ok().flatten().unwrap_or((-1, -1));
                EpochEndOffset {
                    error_code: found.err().unwrap_or(ErrorCode::None).code(),
                    partition: wanted.partition,
                    leader_epoch,
                    end_offset,
                }
            };
            OffsetForLeaderTopicResult {
                topic: topic.topic.clone(),
                partitions: topic.partitions.iter().map(answer).collect(),
            }
        });
        Served::Answer(OffsetForLeaderEpochResponse { topics: topics.collect(), ..Default::default() })
    }

    fn throttle_time(response: &mut OffsetForLeaderEpochResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn find(
    call: &Call<'_>,
    topic: &str,
    wanted: &OffsetForLeaderPartition,
) -> Result<Option<(i32, i64)>, ErrorCode> {
    call.check_fault(topic, Some(wanted.partition))?;
    let partition = call.state.partition(topic, wanted.partition)?;
    partition.check_leader(call.broker, wanted.current_leader_epoch)?;
    Ok(partition.log.epoch_end(wanted.leader_epoch))
}

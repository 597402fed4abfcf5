//! DeleteRecords (21), versions 0–2: move the start of logs forward; -1 means up to their end.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::delete_records::{
    DeleteRecordsPartition, DeleteRecordsPartitionResult, DeleteRecordsRequest, DeleteRecordsResponse,
    DeleteRecordsTopicResult,
};

use super::{Call, Serve, Served};
use crate::fault::Target;
use crate::state::ClusterState;

impl Serve for DeleteRecordsRequest {
    fn targets(&self, _version: i16, _state: &ClusterState) -> Vec<Target> {
        let of = |topic: &str, index| Target { topic: topic.to_owned(), partition: Some(index) };
        let topics = self.topics.iter();
        topics.flat_map(|t| t.partitions.iter().map(|p| of(&t.name, p.partition_index))).collect()
    }

    fn serve(&self, call: &mut Call<'_>) -> Served<DeleteRecordsResponse> {
        let mut response = DeleteRecordsResponse::default();
        for topic in &self.topics {
            let mut answers = Vec::with_capacity(topic.partitions.len());
            for wanted in &topic.partitions {
                let outcome = delete(call, &topic.name, wanted);
                answers.push(DeleteRecordsPartitionResult {
                    partition_index: wanted.partition_index,
                    low_watermark: outcome.unwrap_or(-1),
                    error_code: outcome.err().unwrap_or(ErrorCode::None).code(),
                });
            }
            response.topics.push(DeleteRecordsTopicResult { name: topic.name.clone(), partitions: answers });
        }
        Served::Answer(response)
    }

    fn throttle_time(response: &mut DeleteRecordsResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn delete(call: &mut Call<'_>, topic: &str, wanted: &DeleteRecordsPartition) -> Result<i64, ErrorCode> {
    call.check_fault(topic, Some(wanted.partition_index))?;
    if call.state.topic(topic).is_some_and(|topic| !topic.config.may_delete()) {
        return Err(ErrorCode::PolicyViolation);
    }
    let partition = call.state.partition_mut(topic, wanted.partition_index)?;
    partition.check_leader(call.broker, -1)?;
    let start = partition.log.delete_before(wanted.offset)?;
    call.changed = true;
    call.check_late_fault(topic, Some(wanted.partition_index))?;
    Ok(start)
}

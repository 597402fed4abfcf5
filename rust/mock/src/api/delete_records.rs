//! DeleteRecords (21), versions 0–2: advance the log start offset; -1 advances it to the high watermark.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::delete_records::{
    DeleteRecordsPartition, DeleteRecordsPartitionResult, DeleteRecordsRequest, DeleteRecordsResponse,
    DeleteRecordsTopicResult,
};

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::fault::FaultTarget;
use crate::state::ClusterState;

impl RequestHandler for DeleteRecordsRequest {
    fn targets(&self, _version: i16, _state: &ClusterState) -> Vec<FaultTarget> {
        let of = |topic: &str, index| FaultTarget { topic: topic.to_owned(), partition: Some(index) };
        let topics = self.topics.iter();
        topics.flat_map(|t| t.partitions.iter().map(|p| of(&t.name, p.partition_index))).collect()
    }

    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<DeleteRecordsResponse> {
        let mut response = DeleteRecordsResponse::default();
        for topic in &self.topics {
            let mut partitions = Vec::with_capacity(topic.partitions.len());
            for requested in &topic.partitions {
                let outcome = delete(context, &topic.name, requested);
                partitions.push(DeleteRecordsPartitionResult {
                    partition_index: requested.partition_index,
                    low_watermark: outcome.unwrap_or(-1),
                    error_code: outcome.err().unwrap_or(ErrorCode::None).code(),
                });
            }
            response.topics.push(DeleteRecordsTopicResult { name: topic.name.clone(), partitions });
        }
        HandlerResult::Response(response)
    }

    fn throttle_time(response: &mut DeleteRecordsResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn delete(
    context: &mut RequestContext<'_>,
    topic: &str,
    requested: &DeleteRecordsPartition,
) -> Result<i64, ErrorCode> {
    context.check_fault(topic, Some(requested.partition_index))?;
    let state = &*context.state;
    let settings = state.topic(topic).map(|topic| state.topic_settings(&topic.config, context.broker));
    if settings.is_some_and(|settings| !settings.may_delete) {
        return Err(ErrorCode::PolicyViolation);
    }
    let partition = context.state.partition_mut(topic, requested.partition_index)?;
    partition.check_leader(context.broker, -1)?;
    let start = partition.log.delete_before(requested.offset)?;
    context.changed = true;
    context.check_fault_after_handling(topic, Some(requested.partition_index))?;
    Ok(start)
}

//! AlterPartitionReassignments (45), versions 0–1: reassigns partitions to other replicas, or cancels reassignments
//! (KIP-455). Version 1 can forbid a change of the replication factor (KIP-860).

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::alter_partition_reassignments::{
    AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse, ReassignablePartition,
    ReassignablePartitionResponse, ReassignableTopicResponse,
};

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::fault::FaultTarget;
use crate::state::{ApiError, ClusterState};

/// The first version with `allow_replication_factor_change`.
const WITH_FACTOR: i16 = 1;

impl RequestHandler for AlterPartitionReassignmentsRequest {
    fn targets(&self, _version: i16, _state: &ClusterState) -> Vec<FaultTarget> {
        let partitions = |topic: &str, indexes: Vec<i32>| {
            let topic = topic.to_owned();
            indexes.into_iter().map(move |index| FaultTarget { topic: topic.clone(), partition: Some(index) })
        };
        let topics = self.topics.iter();
        topics
            .flat_map(|t| partitions(&t.name, t.partitions.iter().map(|p| p.partition_index).collect()))
            .collect()
    }

    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<AlterPartitionReassignmentsResponse> {
        let mut response = AlterPartitionReassignmentsResponse {
            allow_replication_factor_change: self.allow_replication_factor_change,
            ..AlterPartitionReassignmentsResponse::default()
        };
        if let Err(code) = context.check_request_fault().and_then(|()| context.check_controller()) {
            response.error_code = code.code();
            response.error_message = Some(code.meaning().to_owned());
            return HandlerResult::Response(response);
        }
        let may_change_factor = context.version < WITH_FACTOR || self.allow_replication_factor_change;
        for topic in &self.topics {
            let results = topic.partitions.iter().map(|partition| {
                let error = reassign(context, &topic.name, partition, may_change_factor).err();
                ReassignablePartitionResponse {
                    partition_index: partition.partition_index,
                    error_code: error.as_ref().map_or(0, |error| error.code.code()),
                    error_message: error.map(|error| error.message).filter(|message| !message.is_empty()),
                }
            });
            let partitions = results.collect();
            response.responses.push(ReassignableTopicResponse { name: topic.name.clone(), partitions });
        }
        HandlerResult::Response(response)
    }

    fn throttle_time(response: &mut AlterPartitionReassignmentsResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn reassign(
    context: &mut RequestContext<'_>,
    topic: &str,
    partition: &ReassignablePartition,
    may_change_factor: bool,
) -> Result<(), ApiError> {
    let index = partition.partition_index;
    let plain = |code: ErrorCode| ApiError::new(code, code.meaning());
    context.check_fault(topic, Some(index)).map_err(plain)?;
    context.state.reassign((topic, index), partition.replicas.as_deref(), may_change_factor)?;
    context.changed = true;
    context.check_fault_after_handling(topic, Some(index)).map_err(plain)
}

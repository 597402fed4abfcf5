//! CreatePartitions (37), versions 0–3: add partitions to topics.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::create_partitions::{
    CreatePartitionsRequest, CreatePartitionsResponse, CreatePartitionsTopic, CreatePartitionsTopicResult,
};

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::fault::FaultTarget;
use crate::state::{ApiError, ClusterState};

impl RequestHandler for CreatePartitionsRequest {
    fn targets(&self, _version: i16, _state: &ClusterState) -> Vec<FaultTarget> {
        self.topics.iter().map(|topic| FaultTarget { topic: topic.name.clone(), partition: None }).collect()
    }

    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<CreatePartitionsResponse> {
        let mut response = CreatePartitionsResponse::default();
        for topic in &self.topics {
            let error = grow(context, topic, self.validate_only).err();
            response.results.push(CreatePartitionsTopicResult {
                name: topic.name.clone(),
                error_code: error.as_ref().map_or(0, |error| error.code.code()),
                error_message: error.map(|error| error.message),
            });
        }
        HandlerResult::Response(response)
    }

    fn throttle_time(response: &mut CreatePartitionsResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn grow(
    context: &mut RequestContext<'_>,
    topic: &CreatePartitionsTopic,
    validate_only: bool,
) -> Result<(), ApiError> {
    let plain = |code: ErrorCode| ApiError::new(code, code.meaning());
    context.check_fault(&topic.name, None).map_err(plain)?;
    context.check_controller().map_err(plain)?;
    let assignments =
        topic.assignments.as_ref().map(|all| all.iter().map(|a| a.broker_ids.clone()).collect());
    context.state.create_partitions(&topic.name, topic.count, assignments, validate_only)?;
    context.changed |= !validate_only;
    context.check_fault_after_handling(&topic.name, None).map_err(plain)
}

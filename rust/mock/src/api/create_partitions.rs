//! CreatePartitions (37), versions 0–3: give topics more partitions.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::create_partitions::{
    CreatePartitionsRequest, CreatePartitionsResponse, CreatePartitionsTopic, CreatePartitionsTopicResult,
};

use super::{Call, Serve, Served};
use crate::fault::Target;
use crate::state::{ClusterState, Refusal};

impl Serve for CreatePartitionsRequest {
    fn targets(&self, _version: i16, _state: &ClusterState) -> Vec<Target> {
        self.topics.iter().map(|topic| Target { topic: topic.name.clone(), partition: None }).collect()
    }

    fn serve(&self, call: &mut Call<'_>) -> Served<CreatePartitionsResponse> {
        let mut response = CreatePartitionsResponse::default();
        for topic in &self.topics {
            let refusal = grow(call, topic, self.validate_only).err();
            response.results.push(CreatePartitionsTopicResult {
                name: topic.name.clone(),
                error_code: refusal.as_ref().map_or(0, |refusal| refusal.code.code()),
                error_message: refusal.map(|refusal| refusal.message),
            });
        }
        Served::Answer(response)
    }

    fn throttle_time(response: &mut CreatePartitionsResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn grow(call: &mut Call<'_>, topic: &CreatePartitionsTopic, validate_only: bool) -> Result<(), Refusal> {
    let plain = |code: ErrorCode| Refusal::new(code, code.meaning());
    call.check_fault(&topic.name, None).map_err(plain)?;
    call.check_controller().map_err(plain)?;
    let assignments =
        topic.assignments.as_ref().map(|all| all.iter().map(|a| a.broker_ids.clone()).collect());
    call.state.grow_topic(&topic.name, topic.count, assignments, validate_only)?;
    call.changed |= !validate_only;
    call.check_late_fault(&topic.name, None).map_err(plain)
}

//! OffsetDelete (47), version 0: delete offsets of topics that the group does not subscribe to.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::offset_delete::{
    OffsetDeleteRequest, OffsetDeleteResponse, OffsetDeleteResponsePartition, OffsetDeleteResponseTopic,
};

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::fault::FaultTarget;
use crate::state::ClusterState;

impl RequestHandler for OffsetDeleteRequest {
    fn targets(&self, _version: i16, _state: &ClusterState) -> Vec<FaultTarget> {
        let of = |topic: &str, index| FaultTarget { topic: topic.to_owned(), partition: Some(index) };
        let topics = self.topics.iter();
        topics.flat_map(|t| t.partitions.iter().map(|p| of(&t.name, p.partition_index))).collect()
    }

    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<OffsetDeleteResponse> {
        let mut response = OffsetDeleteResponse::default();
        if let Err(code) = check(&self.group_id, context) {
            response.error_code = code.code();
            return HandlerResult::Response(response);
        }
        for topic in &self.topics {
            let partitions = topic.partitions.iter().map(|partition| {
                let index = partition.partition_index;
                let code =
                    delete(&self.group_id, &topic.name, index, context).err().unwrap_or(ErrorCode::None);
                OffsetDeleteResponsePartition { partition_index: index, error_code: code.code() }
            });
            response.topics.push(OffsetDeleteResponseTopic {
                partitions: partitions.collect(),
                name: topic.name.clone(),
            });
        }
        HandlerResult::Response(response)
    }

    fn throttle_time(response: &mut OffsetDeleteResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn check(group: &str, context: &mut RequestContext<'_>) -> Result<(), ErrorCode> {
    context.check_request_fault()?;
    context.enter_group(group)?;
    context.state.groups.get(group).ok_or(ErrorCode::GroupIdNotFound)?.check_delete_offsets()
}

fn delete(
    group: &str,
    topic: &str,
    partition: i32,
    context: &mut RequestContext<'_>,
) -> Result<(), ErrorCode> {
    context.check_fault(topic, Some(partition))?;
    context.state.partition(topic, partition)?;
    let group = context.state.groups.get_mut(group).ok_or(ErrorCode::GroupIdNotFound)?;
    if group.subscribes_to(topic) {
        return Err(ErrorCode::GroupSubscribedToTopic);
    }
    group.offsets.delete(topic, partition);
    context.check_fault_after_handling(topic, Some(partition))
}

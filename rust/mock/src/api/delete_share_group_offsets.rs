//! DeleteShareGroupOffsets (92), version 0: deletes the start offsets of topics of a share group without members
//! (KIP-932).

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::delete_share_group_offsets::{
    DeleteShareGroupOffsetsRequest, DeleteShareGroupOffsetsResponse, DeleteShareGroupOffsetsResponseTopic,
};
use ottla_protocol::wire::Uuid;

use super::share_acknowledgements::{ShareError, plain};
use super::{HandlerResult, RequestContext, RequestHandler};
use crate::fault::FaultTarget;
use crate::state::ClusterState;

impl RequestHandler for DeleteShareGroupOffsetsRequest {
    fn targets(&self, _version: i16, _state: &ClusterState) -> Vec<FaultTarget> {
        let topics = self.topics.iter();
        topics.map(|topic| FaultTarget { topic: topic.topic_name.clone(), partition: None }).collect()
    }

    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<DeleteShareGroupOffsetsResponse> {
        let mut response = DeleteShareGroupOffsetsResponse::default();
        if let Err((code, why)) = check(context, &self.group_id) {
            response.error_code = code.code();
            response.error_message = Some(why);
            return HandlerResult::Response(response);
        }
        for topic in &self.topics {
            let outcome = delete(context, &self.group_id, &topic.topic_name);
            let (code, why) = outcome.err().unzip();
            response.responses.push(DeleteShareGroupOffsetsResponseTopic {
                topic_name: topic.topic_name.clone(),
                topic_id: context.state.topic(&topic.topic_name).map_or(Uuid::ZERO, |topic| topic.id),
                error_code: code.unwrap_or(ErrorCode::None).code(),
                error_message: why,
            });
        }
        HandlerResult::Response(response)
    }

    fn throttle_time(response: &mut DeleteShareGroupOffsetsResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn check(context: &mut RequestContext<'_>, id: &str) -> Result<(), ShareError> {
    context.check_request_fault().map_err(plain)?;
    context.check_share_groups().map_err(plain)?;
    context.enter_group(id).map_err(plain)?;
    let not_found = |why: &str| (ErrorCode::GroupIdNotFound, format!("Group {id} {why}"));
    let group = context.state.groups.get(id).ok_or_else(|| not_found("not found."))?;
    let group = group.share().ok_or_else(|| not_found("is not a share group."))?;
    if group.members().is_empty() { Ok(()) } else { Err(plain(ErrorCode::NonEmptyGroup)) }
}

fn delete(context: &mut RequestContext<'_>, group: &str, name: &str) -> Result<(), ShareError> {
    context.check_fault(name, None).map_err(plain)?;
    let unknown = |why: &str| (ErrorCode::UnknownTopicOrPartition, why.to_owned());
    let topic = context.state.topic(name).map(|topic| topic.id);
    let topic = topic.ok_or_else(|| plain(ErrorCode::UnknownTopicOrPartition))?;
    if !context.state.share_partitions.delete_group_topic(group, topic) {
        return Err(unknown("There is no offset information to delete."));
    }
    context.changed = true;
    context.check_fault_after_handling(name, None).map_err(plain)
}

//! DeleteTopics (20), versions 1–6: delete topics by name, from version 6 also by id.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::delete_topics::{
    DeletableTopicResult, DeleteTopicState, DeleteTopicsRequest, DeleteTopicsResponse,
};
use ottla_protocol::wire::Uuid;

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::fault::FaultTarget;
use crate::state::ClusterState;

impl RequestHandler for DeleteTopicsRequest {
    fn targets(&self, version: i16, state: &ClusterState) -> Vec<FaultTarget> {
        let named = requested_topics(self, version);
        let names = named
            .iter()
            .filter_map(|t| t.name.clone().or_else(|| state.topic_name("", t.topic_id, true).ok()));
        names.map(|topic| FaultTarget { topic, partition: None }).collect()
    }

    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<DeleteTopicsResponse> {
        let mut response = DeleteTopicsResponse::default();
        for topic in requested_topics(self, context.version) {
            let outcome = delete(context, &topic);
            let code = outcome.as_ref().map_or_else(|code| *code, |_| ErrorCode::None);
            let (name, id) = outcome.unwrap_or((topic.name.unwrap_or_default(), topic.topic_id));
            response.responses.push(DeletableTopicResult {
                // Null: the request named an unknown id only. Older versions have no null.
                name: (!name.is_empty() || context.version < DeleteTopicsRequest::FIRST_BY_ID)
                    .then_some(name),
                topic_id: id,
                error_code: code.code(),
                error_message: (code != ErrorCode::None).then(|| code.meaning().to_owned()),
            });
        }
        HandlerResult::Response(response)
    }

    fn throttle_time(response: &mut DeleteTopicsResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn requested_topics(request: &DeleteTopicsRequest, version: i16) -> Vec<DeleteTopicState> {
    if version >= DeleteTopicsRequest::FIRST_BY_ID {
        return request.topics.clone();
    }
    let named = |name: &String| DeleteTopicState { name: Some(name.clone()), topic_id: Uuid::ZERO };
    request.topic_names.iter().map(named).collect()
}

fn delete(context: &mut RequestContext<'_>, topic: &DeleteTopicState) -> Result<(String, Uuid), ErrorCode> {
    if topic.name.is_some() && !topic.topic_id.is_zero() {
        return Err(ErrorCode::InvalidRequest);
    }
    let name = topic.name.clone().unwrap_or_default();
    let name = context.state.topic_name(&name, topic.topic_id, topic.name.is_none())?;
    context.check_fault(&name, None)?;
    context.check_controller()?;
    let id = context.state.delete_topic(&name)?;
    context.changed = true;
    context.check_fault_after_handling(&name, None)?;
    Ok((name, id))
}

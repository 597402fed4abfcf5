//! DeleteTopics (20), versions 1–6: delete topics by name, from 6 on also by id.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::delete_topics::{
    DeletableTopicResult, DeleteTopicState, DeleteTopicsRequest, DeleteTopicsResponse,
};
use ottla_protocol::wire::Uuid;

use super::{Call, Serve, Served};
use crate::fault::Target;
use crate::state::ClusterState;

const BY_STATE: i16 = 6;

impl Serve for DeleteTopicsRequest {
    fn targets(&self, version: i16, state: &ClusterState) -> Vec<Target> {
        let named = wanted(self, version);
        let names = named
            .iter()
            .filter_map(|t| t.name.clone().or_else(|| state.topic_name("", t.topic_id, true).ok()));
        names.map(|topic| Target { topic, partition: None }).collect()
    }

    fn serve(&self, call: &mut Call<'_>) -> Served<DeleteTopicsResponse> {
        let mut response = DeleteTopicsResponse::default();
        for topic in wanted(self, call.version) {
            let outcome = delete(call, &topic);
            let code = outcome.as_ref().map_or_else(|code| *code, |_| ErrorCode::None);
            let (name, id) = outcome.unwrap_or((topic.name.unwrap_or_default(), topic.topic_id));
            response.responses.push(DeletableTopicResult {
                // Null says that only an unknown id was given; older versions have no null.
                name: (!name.is_empty() || call.version < BY_STATE).then_some(name),
                topic_id: id,
                error_code: code.code(),
                error_message: (code != ErrorCode::None).then(|| code.meaning().to_owned()),
            });
        }
        Served::Answer(response)
    }

    fn throttle_time(response: &mut DeleteTopicsResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn wanted(request: &DeleteTopicsRequest, version: i16) -> Vec<DeleteTopicState> {
    if version >= BY_STATE {
        return request.topics.clone();
    }
    let named = |name: &String| DeleteTopicState { name: Some(name.clone()), topic_id: Uuid::ZERO };
    request.topic_names.iter().map(named).collect()
}

fn delete(call: &mut Call<'_>, topic: &DeleteTopicState) -> Result<(String, Uuid), ErrorCode> {
    if topic.name.is_some() && !topic.topic_id.is_zero() {
        return Err(ErrorCode::InvalidRequest);
    }
    let name = topic.name.clone().unwrap_or_default();
    let name = call.state.topic_name(&name, topic.topic_id, topic.name.is_none())?;
    call.check_fault(&name, None)?;
    call.check_controller()?;
    let id = call.state.delete_topic(&name)?;
    call.changed = true;
    call.check_late_fault(&name, None)?;
    Ok((name, id))
}

//! CreateTopics (19), versions 2–7: create topics, by counts or by replica assignment.
//!
//! The response has counts and configuration from version 5, and the topic id from version 7.

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::create_topics::{
    CreatableTopic, CreatableTopicConfigs, CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse,
};
use ottla_protocol::wire::Uuid;

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::fault::FaultTarget;
use crate::state::{ApiError, ClusterState, ConfigEntry, NewTopic, TopicConfig};

impl RequestHandler for CreateTopicsRequest {
    fn targets(&self, _version: i16, _state: &ClusterState) -> Vec<FaultTarget> {
        self.topics.iter().map(|topic| FaultTarget { topic: topic.name.clone(), partition: None }).collect()
    }

    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<CreateTopicsResponse> {
        let mut response = CreateTopicsResponse::default();
        let mut named: BTreeMap<&str, usize> = BTreeMap::new();
        self.topics.iter().for_each(|topic| *named.entry(&topic.name).or_default() += 1);
        for (name, times) in &named {
            let Some(topic) = self.topics.iter().find(|topic| topic.name == *name) else { continue };
            let outcome = if *times > 1 {
                Err(ApiError::new(ErrorCode::InvalidRequest, "Duplicate topic name."))
            } else {
                create(context, topic, self.validate_only)
            };
            response.topics.push(outcome.unwrap_or_else(|error| CreatableTopicResult {
                name: topic.name.clone(),
                error_code: error.code.code(),
                error_message: Some(error.message),
                configs: Some(Vec::new()),
                ..CreatableTopicResult::default()
            }));
        }
        HandlerResult::Response(response)
    }

    fn throttle_time(response: &mut CreateTopicsResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn create(
    context: &mut RequestContext<'_>,
    topic: &CreatableTopic,
    validate_only: bool,
) -> Result<CreatableTopicResult, ApiError> {
    let plain = |code: ErrorCode| ApiError::new(code, code.meaning());
    context.check_fault(&topic.name, None).map_err(plain)?;
    context.check_controller().map_err(plain)?;
    let config = TopicConfig::new(topic.configs.iter().map(|c| (c.name.as_str(), c.value.as_deref())))?;
    let new = NewTopic {
        name: &topic.name,
        partitions: topic.num_partitions,
        replication: topic.replication_factor,
        assignments: assignments(topic)?,
        config: config.clone(),
    };
    let plan = context.state.plan_topic(&new)?;
    let mut id = Uuid::ZERO;
    if !validate_only {
        id = context.state.create_topic(new)?.id;
        context.changed = true;
        context.check_fault_after_handling(&topic.name, None).map_err(plain)?;
    }
    let configs = context.state.describe_topic_config(&config, context.broker);
    let replication = plan.first().map_or(0, Vec::len);
    Ok(CreatableTopicResult {
        name: topic.name.clone(),
        topic_id: id,
        num_partitions: i32::try_from(plan.len()).unwrap_or(i32::MAX),
        replication_factor: i16::try_from(replication).unwrap_or(i16::MAX),
        configs: Some(configs.into_iter().map(shown).collect()),
        ..CreatableTopicResult::default()
    })
}

fn assignments(topic: &CreatableTopic) -> Result<Option<Vec<Vec<i32>>>, ApiError> {
    if topic.assignments.is_empty() {
        return Ok(None);
    }
    if topic.num_partitions != -1 || topic.replication_factor != -1 {
        let text = "Counts and a replica assignment cannot both be given.";
        return Err(ApiError::new(ErrorCode::InvalidRequest, text));
    }
    let by_index: BTreeMap<i32, _> =
        topic.assignments.iter().map(|a| (a.partition_index, a.broker_ids.clone())).collect();
    if by_index.len() != topic.assignments.len() || by_index.keys().zip(0..).any(|(index, at)| *index != at) {
        let text = "The assigned partitions must be numbered 0, 1, 2, … without gaps.";
        return Err(ApiError::new(ErrorCode::InvalidReplicaAssignment, text));
    }
    Ok(Some(by_index.into_values().collect()))
}

fn shown(entry: ConfigEntry) -> CreatableTopicConfigs {
    CreatableTopicConfigs {
        name: entry.name,
        value: entry.value,
        read_only: entry.is_read_only,
        config_source: entry.source as i8,
        is_sensitive: entry.is_sensitive,
    }
}

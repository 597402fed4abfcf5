//! DescribeConfigs (32), versions 1–4: the configuration of topics, and `broker.id` of this broker.
//! A broker rejects requests that describe another broker.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::describe_configs::{
    DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResourceResult, DescribeConfigsResponse,
    DescribeConfigsResult,
};

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::fault::FaultTarget;
use crate::state::{ClusterState, TopicConfig, known_configs};

const TOPIC: i8 = 2;
const BROKER: i8 = 4;
const DYNAMIC_TOPIC: i8 = 1;
const STATIC_BROKER: i8 = 4;
const DEFAULT: i8 = 5;
const BROKER_ID: &str = "broker.id";

impl RequestHandler for DescribeConfigsRequest {
    fn targets(&self, _version: i16, _state: &ClusterState) -> Vec<FaultTarget> {
        let topics = self.resources.iter().filter(|resource| resource.resource_type == TOPIC);
        topics.map(|r| FaultTarget { topic: r.resource_name.clone(), partition: None }).collect()
    }

    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<DescribeConfigsResponse> {
        let results = self.resources.iter().map(|resource| {
            let outcome = describe(context, resource);
            let code = outcome.as_ref().map_or_else(|code| *code, |_| ErrorCode::None);
            DescribeConfigsResult {
                error_code: code.code(),
                error_message: (code != ErrorCode::None).then(|| code.meaning().to_owned()),
                resource_type: resource.resource_type,
                resource_name: resource.resource_name.clone(),
                configs: outcome.unwrap_or_default(),
            }
        });
        HandlerResult::Response(DescribeConfigsResponse {
            results: results.collect(),
            ..DescribeConfigsResponse::default()
        })
    }

    fn throttle_time(response: &mut DescribeConfigsResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn describe(
    context: &RequestContext<'_>,
    resource: &DescribeConfigsResource,
) -> Result<Vec<DescribeConfigsResourceResult>, ErrorCode> {
    context.check_fault(&resource.resource_name, None)?;
    match resource.resource_type {
        TOPIC => {
            let topic =
                context.state.topic(&resource.resource_name).ok_or(ErrorCode::UnknownTopicOrPartition)?;
            let requested = |key: &str| {
                resource.configuration_keys.as_ref().is_none_or(|keys| keys.iter().any(|k| k == key))
            };
            let rows = known_configs().iter().filter(|(key, _)| requested(key));
            Ok(rows.map(|(key, default)| shown(&topic.config, key, default)).collect())
        }
        BROKER => describe_broker(context.broker, resource),
        _ => Err(ErrorCode::InvalidRequest),
    }
}

fn describe_broker(
    broker: i32,
    resource: &DescribeConfigsResource,
) -> Result<Vec<DescribeConfigsResourceResult>, ErrorCode> {
    match resource.resource_name.parse::<i32>() {
        Ok(id) if id == broker => {
            let keys = resource.configuration_keys.as_ref();
            let id = DescribeConfigsResourceResult {
                name: BROKER_ID.to_owned(),
                value: Some(broker.to_string()),
                read_only: true,
                config_source: STATIC_BROKER,
                ..DescribeConfigsResourceResult::default()
            };
            let includes_id = keys.is_none_or(|keys| keys.iter().any(|key| key == BROKER_ID));
            Ok(if includes_id { vec![id] } else { Vec::new() })
        }
        // An empty name asks for the cluster-wide default.
        Err(_) if resource.resource_name.is_empty() => Ok(Vec::new()),
        _ => Err(ErrorCode::InvalidRequest),
    }
}

fn shown(config: &TopicConfig, key: &str, default: &str) -> DescribeConfigsResourceResult {
    DescribeConfigsResourceResult {
        name: key.to_owned(),
        value: Some(config.get(key).unwrap_or(default).to_owned()),
        config_source: if config.get(key).is_some() { DYNAMIC_TOPIC } else { DEFAULT },
        ..DescribeConfigsResourceResult::default()
    }
}

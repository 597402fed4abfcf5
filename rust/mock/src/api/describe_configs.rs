//! DescribeConfigs (32), versions 1–4: the configuration of topics, brokers, groups, client metrics subscriptions, and
//! log levels. A broker describes only itself.
//!
//! Synonyms from version 1, types from version 3. Documentation is null: the mock has none. As in Kafka, a resource
//! of an unknown type rejects the whole request.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::describe_configs::{
    DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResourceResult, DescribeConfigsResponse,
    DescribeConfigsResult, DescribeConfigsSynonym,
};

use super::config_resources::{self, BROKER, CLIENT_METRICS, GROUP, LOGGERS, TOPIC};
use super::{HandlerResult, RequestContext, RequestHandler};
use crate::fault::FaultTarget;
use crate::state::{ApiError, ClusterState, ConfigEntry, ConfigResource, Synonym, validate_topic_name};

impl RequestHandler for DescribeConfigsRequest {
    fn targets(&self, _version: i16, _state: &ClusterState) -> Vec<FaultTarget> {
        let resources = self.resources.iter();
        resources.filter_map(|r| config_resources::topic_of(r.resource_type, &r.resource_name)).collect()
    }

    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<DescribeConfigsResponse> {
        let known = [TOPIC, BROKER, LOGGERS, CLIENT_METRICS, GROUP];
        let all_known = self.resources.iter().all(|resource| known.contains(&resource.resource_type));
        let results = self.resources.iter().map(|resource| {
            let outcome = if all_known {
                describe(context, resource)
            } else {
                Err(ApiError::new(ErrorCode::InvalidRequest, super::MALFORMED))
            };
            let (error_code, message, entries) = match outcome {
                Ok(entries) => (0, String::new(), entries),
                Err(error) => (error.code.code(), error.message, Vec::new()),
            };
            DescribeConfigsResult {
                error_code,
                error_message: Some(message),
                resource_type: resource.resource_type,
                resource_name: resource.resource_name.clone(),
                configs: entries.into_iter().map(|entry| shown(entry, self.include_synonyms)).collect(),
            }
        });
        HandlerResult::Response(DescribeConfigsResponse { results: results.collect(), ..Default::default() })
    }

    fn throttle_time(response: &mut DescribeConfigsResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn describe(
    context: &RequestContext<'_>,
    requested: &DescribeConfigsResource,
) -> Result<Vec<ConfigEntry>, ApiError> {
    // Kafka gives these codes no message.
    let plain = |code: ErrorCode| ApiError::new(code, "");
    context.check_fault(&requested.resource_name, None).map_err(plain)?;
    let (state, broker) = (&*context.state, context.broker);
    let name = &requested.resource_name;
    let mut entries = match config_resources::described(requested.resource_type, name, broker)? {
        ConfigResource::Topic(name) => {
            validate_topic_name(name)?;
            let topic = state.topic(name).ok_or_else(|| plain(ErrorCode::UnknownTopicOrPartition))?;
            state.describe_topic_config(&topic.config, broker)
        }
        ConfigResource::Broker(id) => state.describe_broker_config(id),
        ConfigResource::AllBrokers => state.describe_all_brokers_config(),
        ConfigResource::Loggers(id) => state.describe_loggers(id),
        ConfigResource::ClientMetrics(name) => state.describe_client_metrics(name),
        ConfigResource::Group(name) => state.describe_group_config(name, broker),
    };
    // An empty list asks for all keys, too.
    if let Some(keys) = requested.configuration_keys.as_ref().filter(|keys| !keys.is_empty()) {
        entries.retain(|entry| keys.contains(&entry.name));
    }
    Ok(entries)
}

fn shown(entry: ConfigEntry, include_synonyms: bool) -> DescribeConfigsResourceResult {
    let synonyms = if include_synonyms { entry.synonyms } else { Vec::new() };
    let synonym =
        |Synonym { name, value, source }| DescribeConfigsSynonym { name, value, source: source as i8 };
    DescribeConfigsResourceResult {
        name: entry.name,
        value: entry.value,
        read_only: entry.is_read_only,
        config_source: entry.source as i8,
        is_sensitive: entry.is_sensitive,
        synonyms: synonyms.into_iter().map(synonym).collect(),
        config_type: entry.kind.map_or(0, |kind| kind as i8),
        documentation: None,
    }
}

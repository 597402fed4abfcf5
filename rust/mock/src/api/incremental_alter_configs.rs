//! IncrementalAlterConfigs (44), versions 0–1: alters single keys of topics, brokers, groups and client metrics
//! subscriptions, and log levels (KIP-339). A resource is altered as a whole or not at all.
//!
//! A broker alters only itself and the defaults of all brokers.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::incremental_alter_configs::{
    AlterConfigsResource, AlterConfigsResourceResponse, IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
};

use super::config_resources::{self, Altered};
use super::{HandlerResult, RequestContext, RequestHandler};
use crate::fault::FaultTarget;
use crate::state::{Alteration, Alterations, ApiError, ClusterState, ConfigResource, Operation};

impl RequestHandler for IncrementalAlterConfigsRequest {
    fn targets(&self, _version: i16, _state: &ClusterState) -> Vec<FaultTarget> {
        let resources = self.resources.iter();
        resources.filter_map(|r| config_resources::topic_of(r.resource_type, &r.resource_name)).collect()
    }

    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<IncrementalAlterConfigsResponse> {
        let responses = self.resources.iter().map(|resource| {
            let error = alter(self, context, resource).err();
            AlterConfigsResourceResponse {
                error_code: error.as_ref().map_or(0, |error| error.code.code()),
                error_message: error.map(|error| error.message).filter(|message| !message.is_empty()),
                resource_type: resource.resource_type,
                resource_name: resource.resource_name.clone(),
            }
        });
        let responses = responses.collect();
        HandlerResult::Response(IncrementalAlterConfigsResponse { responses, ..Default::default() })
    }

    fn throttle_time(response: &mut IncrementalAlterConfigsResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn alter(
    request: &IncrementalAlterConfigsRequest,
    context: &mut RequestContext<'_>,
    resource: &AlterConfigsResource,
) -> Result<(), ApiError> {
    let AlterConfigsResource { resource_type, resource_name, configs } = resource;
    let same = |other: &&AlterConfigsResource| {
        other.resource_type == *resource_type && other.resource_name == *resource_name
    };
    let deletes = |code: i8| Operation::from_code(code) == Some(Operation::Delete);
    let nulls = configs.iter().filter(|config| config.value.is_none() && !deletes(config.config_operation));
    let altered = Altered {
        kind: *resource_type,
        name: resource_name,
        times: request.resources.iter().filter(same).count(),
        keys: configs.iter().map(|config| config.name.as_str()).collect(),
        nulls: nulls.map(|config| config.name.as_str()).collect(),
        alters_loggers: true,
        validate_only: request.validate_only,
    };
    altered.alter(context, |target| {
        let alterations = configs.iter().map(|config| {
            let code = config.config_operation;
            let operation = Operation::from_code(code).ok_or_else(|| unknown_operation(target, code))?;
            let value = config.value.as_deref().unwrap_or_default();
            Ok(Alteration { key: &config.name, operation, value })
        });
        Ok(Alterations::Incremental(alterations.collect::<Result<_, _>>()?))
    })
}

/// Only brokers check the operation; the controller fails.
fn unknown_operation(resource: ConfigResource<'_>, code: i8) -> ApiError {
    match resource {
        ConfigResource::Broker(_) | ConfigResource::AllBrokers => {
            invalid(format!("Unknown operations type {code}"))
        }
        ConfigResource::Loggers(_) => {
            invalid(format!("Unknown operation type {code} is not allowed for the BROKER_LOGGER resource"))
        }
        _ => ApiError::new(ErrorCode::UnknownServerError, ""),
    }
}

fn invalid(message: impl Into<String>) -> ApiError {
    ApiError::new(ErrorCode::InvalidRequest, message)
}

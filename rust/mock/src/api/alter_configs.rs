//! AlterConfigs (33), versions 0–2: replaces the configuration of topics, brokers, groups and client metrics
//! subscriptions: keys that are not named return to their defaults. Deprecated by KIP-339.
//!
//! A broker alters only itself and the defaults of all brokers; log levels cannot be altered.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::alter_configs::{
    AlterConfigsRequest, AlterConfigsResource, AlterConfigsResourceResponse, AlterConfigsResponse,
};

use super::config_resources::{self, LOGGERS};
use super::{HandlerResult, RequestContext, RequestHandler};
use crate::fault::FaultTarget;
use crate::state::{Alterations, ApiError, ClusterState};

impl RequestHandler for AlterConfigsRequest {
    fn targets(&self, _version: i16, _state: &ClusterState) -> Vec<FaultTarget> {
        let resources = self.resources.iter();
        resources.filter_map(|r| config_resources::topic_of(r.resource_type, &r.resource_name)).collect()
    }

    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<AlterConfigsResponse> {
        let responses = self.resources.iter().map(|resource| {
            let error = alter(self, context, resource).err();
            AlterConfigsResourceResponse {
                error_code: error.as_ref().map_or(0, |error| error.code.code()),
                error_message: error.map(|error| error.message),
                resource_type: resource.resource_type,
                resource_name: resource.resource_name.clone(),
            }
        });
        let responses = responses.collect();
        HandlerResult::Response(AlterConfigsResponse { responses, ..Default::default() })
    }

    fn throttle_time(response: &mut AlterConfigsResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn alter(
    request: &AlterConfigsRequest,
    context: &mut RequestContext<'_>,
    resource: &AlterConfigsResource,
) -> Result<(), ApiError> {
    let AlterConfigsResource { resource_type, resource_name, configs } = resource;
    let plain = |code: ErrorCode| ApiError::new(code, code.meaning());
    context.check_fault(resource_name, None).map_err(plain)?;
    let same = |other: &&AlterConfigsResource| {
        other.resource_type == *resource_type && other.resource_name == *resource_name
    };
    let nulls = configs.iter().filter(|config| config.value.is_none());
    let nulls: Vec<&str> = nulls.map(|config| config.name.as_str()).collect();
    let times = request.resources.iter().filter(same).count();
    config_resources::check_keys(times, configs.iter().map(|config| config.name.as_str()), &nulls)?;
    if *resource_type == LOGGERS {
        return Err(config_resources::unknown_type(LOGGERS));
    }
    let target = config_resources::altered(*resource_type, resource_name, context.broker)?;
    let pairs = configs.iter().map(|c| (c.name.clone(), c.value.clone().unwrap_or_default()));
    let alterations = Alterations::Replacement(pairs.collect());
    context.state.alter_configs(target, &alterations, request.validate_only)?;
    context.changed |= !request.validate_only;
    context.check_fault_after_handling(resource_name, None).map_err(plain)
}

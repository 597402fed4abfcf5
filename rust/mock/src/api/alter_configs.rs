//! AlterConfigs (33), versions 0–2: replaces the configuration of topics, brokers, groups and client metrics
//! subscriptions: keys that are not named return to their defaults. Deprecated by KIP-339.
//!
//! A broker alters only itself and the defaults of all brokers; log levels cannot be altered.

use ottla_protocol::messages::alter_configs::{
    AlterConfigsRequest, AlterConfigsResource, AlterConfigsResourceResponse, AlterConfigsResponse,
};

use super::config_resources::{self, Altered};
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
    let same = |other: &&AlterConfigsResource| {
        other.resource_type == *resource_type && other.resource_name == *resource_name
    };
    let altered = Altered {
        kind: *resource_type,
        name: resource_name,
        times: request.resources.iter().filter(same).count(),
        keys: configs.iter().map(|config| config.name.as_str()).collect(),
        nulls: configs.iter().filter(|c| c.value.is_none()).map(|c| c.name.as_str()).collect(),
        alters_loggers: false,
        validate_only: request.validate_only,
    };
    altered.alter(context, |_| {
        let pairs = configs.iter().map(|c| (c.name.clone(), c.value.clone().unwrap_or_default()));
        Ok(Alterations::Replacement(pairs.collect()))
    })
}

//! ListConfigResources (74), versions 0–1: the resources that have a configuration. Version 0 lists client metrics
//! subscriptions only; version 1 the requested types, or all (KIP-1142).

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::list_config_resources::{
    ConfigResource, ListConfigResourcesRequest, ListConfigResourcesResponse,
};

use super::config_resources::{BROKER, CLIENT_METRICS, GROUP, LOGGERS, TOPIC};
use super::{HandlerResult, RequestContext, RequestHandler};
use crate::state::ClusterState;

const TYPES: [i8; 5] = [CLIENT_METRICS, GROUP, LOGGERS, BROKER, TOPIC];
/// The first version with types.
const TYPED: i16 = 1;

impl RequestHandler for ListConfigResourcesRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<ListConfigResourcesResponse> {
        let mut response = ListConfigResourcesResponse::default();
        let wanted: Vec<i8> = match context.version {
            ..TYPED => vec![CLIENT_METRICS],
            _ if self.resource_types.is_empty() => TYPES.to_vec(),
            _ => TYPES.into_iter().filter(|kind| self.resource_types.contains(kind)).collect(),
        };
        let known = self.resource_types.iter().all(|kind| TYPES.contains(kind));
        let known = if known { Ok(()) } else { Err(ErrorCode::UnsupportedVersion) };
        match context.check_any_fault().and(known) {
            Err(code) => response.error_code = code.code(),
            Ok(()) => {
                let all = wanted.iter().flat_map(|kind| {
                    let names = names(context.state, *kind);
                    names
                        .into_iter()
                        .map(|resource_name| ConfigResource { resource_name, resource_type: *kind })
                });
                response.config_resources = all.collect();
            }
        }
        HandlerResult::Response(response)
    }

    fn throttle_time(response: &mut ListConfigResourcesResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn names(state: &ClusterState, kind: i8) -> Vec<String> {
    match kind {
        TOPIC => state.topics().map(|(name, _)| name.to_owned()).collect(),
        BROKER | LOGGERS => state.alive().map(|node| node.id.to_string()).collect(),
        CLIENT_METRICS => state.client_metrics().map(str::to_owned).collect(),
        GROUP => state.configured_groups().map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

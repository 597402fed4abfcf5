//! ApiVersions (18), versions 0–5: the API versions that this broker supports.
//!
//! A request in an unsupported version gets a version-0 response with UNSUPPORTED_VERSION and the
//! range of ApiVersions alone (KIP-511); see [`unsupported`]. From version 5, a client that names
//! another cluster or broker gets REBOOTSTRAP_REQUIRED (KIP-1242).

use ottla_protocol::messages::api_versions::{
    ApiVersion, ApiVersionsRequest, ApiVersionsResponse, FinalizedFeatureKey, SupportedFeatureKey,
};
use ottla_protocol::{ApiKey, ErrorCode};

use super::{HandlerResult, RequestContext, RequestHandler, SUPPORTED_APIS, supported_versions};
use crate::config::MockConfig;

/// The first version whose supported features may start at level 0.
const WITH_LEVEL_0: i16 = 4;

impl RequestHandler for ApiVersionsRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<ApiVersionsResponse> {
        let mut response = ApiVersionsResponse::default();
        if let Err(code) = context.check_any_fault().and_then(|()| check(self, context)) {
            response.error_code = code.code();
            return HandlerResult::Response(response);
        }
        let config = &context.state.config;
        response.api_keys = SUPPORTED_APIS.iter().filter_map(|api| advertised(config, *api)).collect();
        let features = &context.state.features;
        response.finalized_features_epoch = features.epoch;
        // Older clients cannot read a lowest level of 0 (KAFKA-17492).
        let readable = |min: i16| min > 0 || context.version >= WITH_LEVEL_0;
        let supported = features.supported().iter().filter(|(_, min, _)| readable(*min));
        response.supported_features = supported
            .map(|(name, min_version, max_version)| SupportedFeatureKey {
                name: (*name).to_owned(),
                min_version: *min_version,
                max_version: *max_version,
            })
            .collect();
        let finalized = features.finalized().map(|(name, level)| FinalizedFeatureKey {
            name: name.to_owned(),
            max_version_level: level,
            min_version_level: level,
        });
        response.finalized_features = finalized.collect();
        HandlerResult::Response(response)
    }

    fn throttle_time(response: &mut ApiVersionsResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn check(request: &ApiVersionsRequest, context: &RequestContext<'_>) -> Result<(), ErrorCode> {
    let legal = |text: &str| {
        let end = |c: char| c.is_ascii_alphanumeric();
        text.starts_with(end) && text.ends_with(end) && text.chars().all(|c| end(c) || c == '.' || c == '-')
    };
    if context.version >= 3
        && !(legal(&request.client_software_name) && legal(&request.client_software_version))
    {
        return Err(ErrorCode::InvalidRequest);
    }
    let other_cluster = request.cluster_id.as_ref().is_some_and(|id| *id != context.state.cluster_id);
    let other_node = request.node_id >= 0 && request.node_id != context.broker;
    if other_cluster || other_node { Err(ErrorCode::RebootstrapRequired) } else { Ok(()) }
}

fn advertised(config: &MockConfig, api: ApiKey) -> Option<ApiVersion> {
    let (min, max) = supported_versions(config, api)?;
    // Kafka 4 advertises Produce from version 0, though it rejects versions below 3: otherwise librdkafka
    // does not compress.
    let min = if api == ApiKey::Produce { 0 } else { min };
    Some(ApiVersion { api_key: api as i16, min_version: min, max_version: max })
}

/// The version-0 response to a request in an unsupported version.
pub(crate) fn unsupported(config: &MockConfig) -> ApiVersionsResponse {
    ApiVersionsResponse {
        error_code: ErrorCode::UnsupportedVersion.code(),
        api_keys: advertised(config, ApiKey::ApiVersions).into_iter().collect(),
        ..ApiVersionsResponse::default()
    }
}

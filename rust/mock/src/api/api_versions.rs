//! ApiVersions (18), versions 0–5: what this broker speaks.
//!
//! A version that the broker does not know is answered in version 0, with UNSUPPORTED_VERSION and
//! the range of ApiVersions alone (KIP-511); see [`unsupported`]. From version 5 on a client that
//! expects another cluster or broker is told to bootstrap again (KIP-1242).

use ottla_protocol::messages::api_versions::{
    ApiVersion, ApiVersionsRequest, ApiVersionsResponse, FinalizedFeatureKey, SupportedFeatureKey,
};
use ottla_protocol::{ApiKey, ErrorCode};

use super::{Call, SERVED, Serve, Served, served_versions};
use crate::config::MockConfig;

/// `metadata.version` of Kafka 4.x clusters, as an example of a finalized feature.
const METADATA_VERSION: i16 = 27;

impl Serve for ApiVersionsRequest {
    fn serve(&self, call: &mut Call<'_>) -> Served<ApiVersionsResponse> {
        let mut response = ApiVersionsResponse::default();
        if let Err(code) = call.whole_fault().and_then(|()| self.check(call)) {
            response.error_code = code.code();
            return Served::Answer(response);
        }
        let config = &call.state.config;
        response.api_keys = SERVED.iter().filter_map(|api| announced(config, *api)).collect();
        response.finalized_features_epoch = 1;
        response.supported_features.push(SupportedFeatureKey {
            name: "metadata.version".to_owned(),
            min_version: 7,
            max_version: METADATA_VERSION,
        });
        response.finalized_features.push(FinalizedFeatureKey {
            name: "metadata.version".to_owned(),
            max_version_level: METADATA_VERSION,
            min_version_level: METADATA_VERSION,
        });
        Served::Answer(response)
    }

    fn throttle_time(response: &mut ApiVersionsResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

trait Check {
    fn check(&self, call: &Call<'_>) -> Result<(), ErrorCode>;
}

impl Check for ApiVersionsRequest {
    fn check(&self, call: &Call<'_>) -> Result<(), ErrorCode> {
        let legal = |text: &str| {
            let end = |c: char| c.is_ascii_alphanumeric();
            text.starts_with(end)
                && text.ends_with(end)
                && text.chars().all(|c| end(c) || c == '.' || c == '-')
        };
        if call.version >= 3 && !(legal(&self.client_software_name) && legal(&self.client_software_version)) {
            return Err(ErrorCode::InvalidRequest);
        }
        let other_cluster = self.cluster_id.as_ref().is_some_and(|id| *id != call.state.cluster_id);
        let other_node = self.node_id >= 0 && self.node_id != call.broker;
        if other_cluster || other_node { Err(ErrorCode::RebootstrapRequired) } else { Ok(()) }
    }
}

fn announced(config: &MockConfig, api: ApiKey) -> Option<ApiVersion> {
    let (min, max) = served_versions(config, api)?;
    // Kafka 4 announces Produce from 0 on although it refuses what is below 3: librdkafka would not
    // compress otherwise.
    let min = if api == ApiKey::Produce { 0 } else { min };
    Some(ApiVersion { api_key: api as i16, min_version: min, max_version: max })
}

/// The answer, in version 0, to a version that the broker does not know.
pub(crate) fn unsupported(config: &MockConfig) -> ApiVersionsResponse {
    ApiVersionsResponse {
        error_code: ErrorCode::UnsupportedVersion.code(),
        api_keys: announced(config, ApiKey::ApiVersions).into_iter().collect(),
        ..ApiVersionsResponse::default()
    }
}

//! ApiVersions (API key 18): the API versions that a broker supports, and its features.
//!
//! The response header is always version 0, so that a client can read the response even if the broker
//! does not know the request's version.
//!
//! A gateway of ottla adds a tagged field of its own, which other clients skip (KIP-482).

message! {
    ApiVersionsRequest: versions 0-5, flexible 3+;

    struct ApiVersionsRequest {
        client_software_name: String [3+ ignorable],
        client_software_version: String [3+ ignorable],
        cluster_id: Option<String> [5+ ignorable] nullable [5+],
        node_id: i32 [5+ ignorable] = -1,
    }
}

message! {
    ApiVersionsResponse: versions 0-5, flexible 3+;

    struct ApiVersionsResponse {
        error_code: i16 [0+],
        api_keys: Vec<ApiVersion> [0+],
        throttle_time_ms: i32 [1+ ignorable],
        supported_features: Vec<SupportedFeatureKey> [3+ ignorable] tag 0,
        finalized_features_epoch: i64 [3+ ignorable] tag 1 = -1,
        finalized_features: Vec<FinalizedFeatureKey> [3+ ignorable] tag 2,
        zk_migration_ready: bool [3+ ignorable] tag 3,
        ottla_gateway: String [3+ ignorable] tag 10000,
    }

    struct ApiVersion {
        api_key: i16 [0+],
        min_version: i16 [0+],
        max_version: i16 [0+],
    }

    struct SupportedFeatureKey {
        name: String [3+],
        min_version: i16 [3+],
        max_version: i16 [3+],
    }

    struct FinalizedFeatureKey {
        name: String [3+],
        max_version_level: i16 [3+],
        min_version_level: i16 [3+],
    }
}

//! UpdateFeatures (API key 57): change the cluster's finalized features.

message! {
    UpdateFeaturesRequest: versions 0-2, flexible 0+;

    struct UpdateFeaturesRequest {
        timeout_ms: i32 [0+] = 60000,
        feature_updates: Vec<FeatureUpdateKey> [0+],
        validate_only: bool [1+],
    }

    struct FeatureUpdateKey {
        feature: String [0+],
        max_version_level: i16 [0+],
        allow_downgrade: bool [0],
        upgrade_type: i8 [1+] = 1,
    }
}

message! {
    UpdateFeaturesResponse: versions 0-2, flexible 0+;

    struct UpdateFeaturesResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] nullable [0+],
        results: Vec<UpdatableFeatureResult> [0-1 ignorable],
    }

    struct UpdatableFeatureResult {
        feature: String [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] nullable [0+],
    }
}

//! IncrementalAlterConfigs (API key 44): change individual configuration entries.

message! {
    IncrementalAlterConfigsRequest: versions 0-1, flexible 1+;

    struct IncrementalAlterConfigsRequest {
        resources: Vec<AlterConfigsResource> [0+],
        validate_only: bool [0+],
    }

    struct AlterConfigsResource {
        resource_type: i8 [0+],
        resource_name: String [0+],
        configs: Vec<AlterableConfig> [0+],
    }

    struct AlterableConfig {
        name: String [0+],
        config_operation: i8 [0+],
        value: Option<String> [0+] nullable [0+],
    }
}

message! {
    IncrementalAlterConfigsResponse: versions 0-1, flexible 1+;

    struct IncrementalAlterConfigsResponse {
        throttle_time_ms: i32 [0+],
        responses: Vec<AlterConfigsResourceResponse> [0+],
    }

    struct AlterConfigsResourceResponse {
        error_code: i16 [0+],
        error_message: Option<String> [0+] nullable [0+],
        resource_type: i8 [0+],
        resource_name: String [0+],
    }
}

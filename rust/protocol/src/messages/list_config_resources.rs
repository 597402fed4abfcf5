//! ListConfigResources (API key 74): the resources that have a configuration.

message! {
    ListConfigResourcesRequest: versions 0-1, flexible 0+;

    struct ListConfigResourcesRequest {
        resource_types: Vec<i8> [1+],
    }
}

message! {
    ListConfigResourcesResponse: versions 0-1, flexible 0+;

    struct ListConfigResourcesResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        config_resources: Vec<ConfigResource> [0+],
    }

    struct ConfigResource {
        resource_name: String [0+],
        resource_type: i8 [1+ ignorable] = 16,
    }
}

//! DescribeConfigs (API key 32): the configuration of topics, brokers, groups and loggers.

message! {
    DescribeConfigsRequest: versions 1-4, flexible 4+;

    struct DescribeConfigsRequest {
        resources: Vec<DescribeConfigsResource> [0+],
        include_synonyms: bool [1+],
        include_documentation: bool [3+],
    }

    struct DescribeConfigsResource {
        resource_type: i8 [0+],
        resource_name: String [0+],
        configuration_keys: Option<Vec<String>> [0+] nullable [0+],
    }
}

message! {
    DescribeConfigsResponse: versions 1-4, flexible 4+;

    struct DescribeConfigsResponse {
        throttle_time_ms: i32 [0+],
        results: Vec<DescribeConfigsResult> [0+],
    }

    struct DescribeConfigsResult {
        error_code: i16 [0+],
        error_message: Option<String> [0+] nullable [0+],
        resource_type: i8 [0+],
        resource_name: String [0+],
        configs: Vec<DescribeConfigsResourceResult> [0+],
    }

    struct DescribeConfigsResourceResult {
        name: String [0+],
        value: Option<String> [0+] nullable [0+],
        read_only: bool [0+],
        config_source: i8 [1+ ignorable] = -1,
        is_sensitive: bool [0+],
        synonyms: Vec<DescribeConfigsSynonym> [1+ ignorable],
        config_type: i8 [3+ ignorable],
        documentation: Option<String> [3+ ignorable] nullable [0+],
    }

    struct DescribeConfigsSynonym {
        name: String [1+],
        value: Option<String> [1+] nullable [0+],
        source: i8 [1+],
    }
}

//! DeleteAcls (API key 31): delete ACLs.

message! {
    DeleteAclsRequest: versions 1-3, flexible 2+;

    struct DeleteAclsRequest {
        filters: Vec<DeleteAclsFilter> [0+],
    }

    struct DeleteAclsFilter {
        resource_type_filter: i8 [0+],
        resource_name_filter: Option<String> [0+] nullable [0+],
        pattern_type_filter: i8 [1+] = 3,
        principal_filter: Option<String> [0+] nullable [0+],
        host_filter: Option<String> [0+] nullable [0+],
        operation: i8 [0+],
        permission_type: i8 [0+],
    }
}

message! {
    DeleteAclsResponse: versions 1-3, flexible 2+;

    struct DeleteAclsResponse {
        throttle_time_ms: i32 [0+],
        filter_results: Vec<DeleteAclsFilterResult> [0+],
    }

    struct DeleteAclsFilterResult {
        error_code: i16 [0+],
        error_message: Option<String> [0+] nullable [0+],
        matching_acls: Vec<DeleteAclsMatchingAcl> [0+],
    }

    struct DeleteAclsMatchingAcl {
        error_code: i16 [0+],
        error_message: Option<String> [0+] nullable [0+],
        resource_type: i8 [0+],
        resource_name: String [0+],
        pattern_type: i8 [1+] = 3,
        principal: String [0+],
        host: String [0+],
        operation: i8 [0+],
        permission_type: i8 [0+],
    }
}

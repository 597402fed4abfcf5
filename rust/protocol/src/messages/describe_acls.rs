//! DescribeAcls (API key 29): list ACLs.

message! {
    DescribeAclsRequest: versions 1-3, flexible 2+;

    struct DescribeAclsRequest {
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
    DescribeAclsResponse: versions 1-3, flexible 2+;

    struct DescribeAclsResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] nullable [0+],
        resources: Vec<DescribeAclsResource> [0+],
    }

    struct DescribeAclsResource {
        resource_type: i8 [0+],
        resource_name: String [0+],
        pattern_type: i8 [1+] = 3,
        acls: Vec<AclDescription> [0+],
    }

    struct AclDescription {
        principal: String [0+],
        host: String [0+],
        operation: i8 [0+],
        permission_type: i8 [0+],
    }
}

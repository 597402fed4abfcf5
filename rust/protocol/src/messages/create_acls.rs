//! CreateAcls (API key 30): create ACLs.

message! {
    CreateAclsRequest: versions 1-3, flexible 2+;

    struct CreateAclsRequest {
        creations: Vec<AclCreation> [0+],
    }

    struct AclCreation {
        resource_type: i8 [0+],
        resource_name: String [0+],
        resource_pattern_type: i8 [1+] = 3,
        principal: String [0+],
        host: String [0+],
        operation: i8 [0+],
        permission_type: i8 [0+],
    }
}

message! {
    CreateAclsResponse: versions 1-3, flexible 2+;

    struct CreateAclsResponse {
        throttle_time_ms: i32 [0+],
        results: Vec<AclCreationResult> [0+],
    }

    struct AclCreationResult {
        error_code: i16 [0+],
        error_message: Option<String> [0+] nullable [0+],
    }
}

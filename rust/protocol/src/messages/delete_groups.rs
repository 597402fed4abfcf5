//! DeleteGroups (API key 42): delete groups.

message! {
    DeleteGroupsRequest: versions 0-3, flexible 2+;

    struct DeleteGroupsRequest {
        groups_names: Vec<String> [0+],
    }
}

message! {
    DeleteGroupsResponse: versions 0-3, flexible 2+;

    struct DeleteGroupsResponse {
        throttle_time_ms: i32 [0+],
        results: Vec<DeletableGroupResult> [0+],
    }

    struct DeletableGroupResult {
        group_id: String [0+],
        error_code: i16 [0+],
        error_message: Option<String> [3+ ignorable] nullable [3+],
    }
}

//! ListGroups (API key 16): the groups that a broker coordinates.

message! {
    ListGroupsRequest: versions 0-5, flexible 3+;

    struct ListGroupsRequest {
        states_filter: Vec<String> [4+],
        types_filter: Vec<String> [5+],
    }
}

message! {
    ListGroupsResponse: versions 0-5, flexible 3+;

    struct ListGroupsResponse {
        throttle_time_ms: i32 [1+ ignorable],
        error_code: i16 [0+],
        groups: Vec<ListedGroup> [0+],
    }

    struct ListedGroup {
        group_id: String [0+],
        protocol_type: String [0+],
        group_state: String [4+ ignorable],
        group_type: String [5+ ignorable],
    }
}

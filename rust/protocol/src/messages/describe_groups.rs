//! DescribeGroups (API key 15): the state and members of classic groups.

use bytes::Bytes;

message! {
    DescribeGroupsRequest: versions 0-6, flexible 5+;

    struct DescribeGroupsRequest {
        groups: Vec<String> [0+],
        include_authorized_operations: bool [3+],
    }
}

message! {
    DescribeGroupsResponse: versions 0-6, flexible 5+;

    struct DescribeGroupsResponse {
        throttle_time_ms: i32 [1+ ignorable],
        groups: Vec<DescribedGroup> [0+],
    }

    struct DescribedGroup {
        error_code: i16 [0+],
        error_message: Option<String> [6+] nullable [6+],
        group_id: String [0+],
        group_state: String [0+],
        protocol_type: String [0+],
        protocol_data: String [0+],
        members: Vec<DescribedGroupMember> [0+],
        authorized_operations: i32 [3+] = -2147483648,
    }

    struct DescribedGroupMember {
        member_id: String [0+],
        group_instance_id: Option<String> [4+ ignorable] nullable [4+],
        client_id: String [0+],
        client_host: String [0+],
        member_metadata: Bytes [0+],
        member_assignment: Bytes [0+],
    }
}

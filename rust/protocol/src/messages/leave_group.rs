//! LeaveGroup (API key 13): leave a classic group.

message! {
    LeaveGroupRequest: versions 0-5, flexible 4+;

    struct LeaveGroupRequest {
        group_id: String [0+],
        member_id: String [0-2],
        members: Vec<MemberIdentity> [3+],
    }

    struct MemberIdentity {
        member_id: String [3+],
        group_instance_id: Option<String> [3+] nullable [3+],
        reason: Option<String> [5+ ignorable] nullable [5+],
    }
}

message! {
    LeaveGroupResponse: versions 0-5, flexible 4+;

    struct LeaveGroupResponse {
        throttle_time_ms: i32 [1+ ignorable],
        error_code: i16 [0+],
        members: Vec<MemberResponse> [3+],
    }

    struct MemberResponse {
        member_id: String [3+],
        group_instance_id: Option<String> [3+] nullable [3+],
        error_code: i16 [3+],
    }
}

//! SyncGroup (API key 14): get a member's assignment; the group's leader sends the assignments of all
//! members.

use bytes::Bytes;

message! {
    SyncGroupRequest: versions 0-5, flexible 4+;

    struct SyncGroupRequest {
        group_id: String [0+],
        generation_id: i32 [0+],
        member_id: String [0+],
        group_instance_id: Option<String> [3+] nullable [3+],
        protocol_type: Option<String> [5+ ignorable] nullable [5+],
        protocol_name: Option<String> [5+ ignorable] nullable [5+],
        assignments: Vec<SyncGroupRequestAssignment> [0+],
    }

    struct SyncGroupRequestAssignment {
        member_id: String [0+],
        assignment: Bytes [0+],
    }
}

message! {
    SyncGroupResponse: versions 0-5, flexible 4+;

    struct SyncGroupResponse {
        throttle_time_ms: i32 [1+ ignorable],
        error_code: i16 [0+],
        protocol_type: Option<String> [5+ ignorable] nullable [5+],
        protocol_name: Option<String> [5+ ignorable] nullable [5+],
        assignment: Bytes [0+],
    }
}

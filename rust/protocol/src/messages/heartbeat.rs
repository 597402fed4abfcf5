//! Heartbeat (API key 12): keep a member of a classic group alive.

message! {
    HeartbeatRequest: versions 0-4, flexible 4+;

    struct HeartbeatRequest {
        group_id: String [0+],
        generation_id: i32 [0+],
        member_id: String [0+],
        group_instance_id: Option<String> [3+] nullable [3+],
    }
}

message! {
    HeartbeatResponse: versions 0-4, flexible 4+;

    struct HeartbeatResponse {
        throttle_time_ms: i32 [1+ ignorable],
        error_code: i16 [0+],
    }
}

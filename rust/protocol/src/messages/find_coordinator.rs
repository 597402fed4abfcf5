//! FindCoordinator (API key 10): find the coordinator of a group, a transactional id or a share group.

message! {
    FindCoordinatorRequest: versions 0-6, flexible 3+;

    struct FindCoordinatorRequest {
        key: String [0-3],
        key_type: i8 [1+],
        coordinator_keys: Vec<String> [4+],
    }
}

message! {
    FindCoordinatorResponse: versions 0-6, flexible 3+;

    struct FindCoordinatorResponse {
        throttle_time_ms: i32 [1+ ignorable],
        error_code: i16 [0-3],
        error_message: Option<String> [1-3 ignorable] nullable [1-3],
        node_id: i32 [0-3],
        host: String [0-3],
        port: i32 [0-3],
        coordinators: Vec<Coordinator> [4+],
    }

    struct Coordinator {
        key: String [4+],
        node_id: i32 [4+],
        host: String [4+],
        port: i32 [4+],
        error_code: i16 [4+],
        error_message: Option<String> [4+ ignorable] nullable [4+],
    }
}

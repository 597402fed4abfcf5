//! UnregisterController (API key 94): remove a controller from the cluster.

message! {
    UnregisterControllerRequest: versions 0-0, flexible 0+;

    struct UnregisterControllerRequest {
        controller_id: i32 [0+],
    }
}

message! {
    UnregisterControllerResponse: versions 0-0, flexible 0+;

    struct UnregisterControllerResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] nullable [0+],
    }
}

//! UnregisterBroker (API key 64): remove a broker from the cluster.

message! {
    UnregisterBrokerRequest: versions 0-0, flexible 0+;

    struct UnregisterBrokerRequest {
        broker_id: i32 [0+],
    }
}

message! {
    UnregisterBrokerResponse: versions 0-0, flexible 0+;

    struct UnregisterBrokerResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] nullable [0+],
    }
}

//! PushTelemetry (API key 72): send client metrics to the broker (KIP-714).

use bytes::Bytes;

use crate::wire::Uuid;

message! {
    PushTelemetryRequest: versions 0-0, flexible 0+;

    struct PushTelemetryRequest {
        client_instance_id: Uuid [0+],
        subscription_id: i32 [0+],
        terminating: bool [0+],
        compression_type: i8 [0+],
        metrics: Bytes [0+],
    }
}

message! {
    PushTelemetryResponse: versions 0-0, flexible 0+;

    struct PushTelemetryResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
    }
}

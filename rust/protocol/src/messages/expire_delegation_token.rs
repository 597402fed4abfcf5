//! ExpireDelegationToken (API key 40): expire a delegation token.

use crate::wire::SecretBytes;

message! {
    ExpireDelegationTokenRequest: versions 1-2, flexible 2+;

    struct ExpireDelegationTokenRequest {
        hmac: SecretBytes [0+],
        expiry_time_period_ms: i64 [0+],
    }
}

message! {
    ExpireDelegationTokenResponse: versions 1-2, flexible 2+;

    struct ExpireDelegationTokenResponse {
        error_code: i16 [0+],
        expiry_timestamp_ms: i64 [0+],
        throttle_time_ms: i32 [0+],
    }
}

//! RenewDelegationToken (API key 39): renew a delegation token.

use crate::wire::SecretBytes;

message! {
    RenewDelegationTokenRequest: versions 1-2, flexible 2+;

    struct RenewDelegationTokenRequest {
        hmac: SecretBytes [0+],
        renew_period_ms: i64 [0+],
    }
}

message! {
    RenewDelegationTokenResponse: versions 1-2, flexible 2+;

    struct RenewDelegationTokenResponse {
        error_code: i16 [0+],
        expiry_timestamp_ms: i64 [0+],
        throttle_time_ms: i32 [0+],
    }
}

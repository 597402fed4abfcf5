//! SaslAuthenticate (API key 36): one step of a SASL exchange; returns the session's lifetime (KIP-368).

use crate::wire::SecretBytes;

message! {
    SaslAuthenticateRequest: versions 0-2, flexible 2+;

    struct SaslAuthenticateRequest {
        auth_bytes: SecretBytes [0+],
    }
}

message! {
    SaslAuthenticateResponse: versions 0-2, flexible 2+;

    struct SaslAuthenticateResponse {
        error_code: i16 [0+],
        error_message: Option<String> [0+] nullable [0+],
        auth_bytes: SecretBytes [0+],
        session_lifetime_ms: i64 [1+ ignorable],
    }
}

//! SaslHandshake (API key 17): select a SASL mechanism.

message! {
    SaslHandshakeRequest: versions 0-1;

    struct SaslHandshakeRequest {
        mechanism: String [0+],
    }
}

message! {
    SaslHandshakeResponse: versions 0-1;

    struct SaslHandshakeResponse {
        error_code: i16 [0+],
        mechanisms: Vec<String> [0+],
    }
}

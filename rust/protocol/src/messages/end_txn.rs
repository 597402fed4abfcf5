//! EndTxn (API key 26): commit or abort a transaction. Version 5 requires transaction.version 2
//! (KIP-890).

impl EndTxnRequest {
    /// The first version of protocol 2 (KIP-890).
    pub const FIRST_OF_PROTOCOL_2: i16 = 5;
}

message! {
    EndTxnRequest: versions 0-5, flexible 3+;

    struct EndTxnRequest {
        transactional_id: String [0+],
        producer_id: i64 [0+],
        producer_epoch: i16 [0+],
        committed: bool [0+],
    }
}

message! {
    EndTxnResponse: versions 0-5, flexible 3+;

    struct EndTxnResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        producer_id: i64 [5+ ignorable] = -1,
        producer_epoch: i16 [5+ ignorable] = -1,
    }
}

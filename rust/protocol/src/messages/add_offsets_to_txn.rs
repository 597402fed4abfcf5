//! AddOffsetsToTxn (API key 25): add a group's offsets to a transaction.

message! {
    AddOffsetsToTxnRequest: versions 0-4, flexible 3+;

    struct AddOffsetsToTxnRequest {
        transactional_id: String [0+],
        producer_id: i64 [0+],
        producer_epoch: i16 [0+],
        group_id: String [0+],
    }
}

message! {
    AddOffsetsToTxnResponse: versions 0-4, flexible 3+;

    struct AddOffsetsToTxnResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
    }
}

//! ListTransactions (API key 66): the transactions that a broker coordinates.

message! {
    ListTransactionsRequest: versions 0-2, flexible 0+;

    struct ListTransactionsRequest {
        state_filters: Vec<String> [0+],
        producer_id_filters: Vec<i64> [0+],
        duration_filter: i64 [1+] = -1,
        transactional_id_pattern: Option<String> [2+] nullable [2+],
    }
}

message! {
    ListTransactionsResponse: versions 0-2, flexible 0+;

    struct ListTransactionsResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        unknown_state_filters: Vec<String> [0+],
        transaction_states: Vec<TransactionState> [0+],
    }

    struct TransactionState {
        transactional_id: String [0+],
        producer_id: i64 [0+],
        transaction_state: String [0+],
    }
}

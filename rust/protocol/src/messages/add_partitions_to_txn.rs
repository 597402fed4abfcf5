//! AddPartitionsToTxn (API key 24): add partitions to a transaction. Versions 4 and later are used
//! only between brokers.

message! {
    AddPartitionsToTxnRequest: versions 0-5, flexible 3+;

    struct AddPartitionsToTxnRequest {
        transactions: Vec<AddPartitionsToTxnTransaction> [4+],
        v3_and_below_transactional_id: String [0-3],
        v3_and_below_producer_id: i64 [0-3],
        v3_and_below_producer_epoch: i16 [0-3],
        v3_and_below_topics: Vec<AddPartitionsToTxnTopic> [0-3],
    }

    struct AddPartitionsToTxnTransaction {
        transactional_id: String [4+],
        producer_id: i64 [4+],
        producer_epoch: i16 [4+],
        verify_only: bool [4+],
        topics: Vec<AddPartitionsToTxnTopic> [4+],
    }

    struct AddPartitionsToTxnTopic {
        name: String [0+],
        partitions: Vec<i32> [0+],
    }
}

message! {
    AddPartitionsToTxnResponse: versions 0-5, flexible 3+;

    struct AddPartitionsToTxnResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [4+ ignorable],
        results_by_transaction: Vec<AddPartitionsToTxnResult> [4+],
        results_by_topic_v3_and_below: Vec<AddPartitionsToTxnTopicResult> [0-3],
    }

    struct AddPartitionsToTxnResult {
        transactional_id: String [4+],
        topic_results: Vec<AddPartitionsToTxnTopicResult> [4+],
    }

    struct AddPartitionsToTxnTopicResult {
        name: String [0+],
        results_by_partition: Vec<AddPartitionsToTxnPartitionResult> [0+],
    }

    struct AddPartitionsToTxnPartitionResult {
        partition_index: i32 [0+],
        partition_error_code: i16 [0+],
    }
}

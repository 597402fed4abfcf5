//! DescribeProducers (API key 61): the active producers of partitions.

message! {
    DescribeProducersRequest: versions 0-0, flexible 0+;

    struct DescribeProducersRequest {
        topics: Vec<TopicRequest> [0+],
    }

    struct TopicRequest {
        name: String [0+],
        partition_indexes: Vec<i32> [0+],
    }
}

message! {
    DescribeProducersResponse: versions 0-0, flexible 0+;

    struct DescribeProducersResponse {
        throttle_time_ms: i32 [0+],
        topics: Vec<TopicResponse> [0+],
    }

    struct TopicResponse {
        name: String [0+],
        partitions: Vec<PartitionResponse> [0+],
    }

    struct PartitionResponse {
        partition_index: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] nullable [0+],
        active_producers: Vec<ProducerState> [0+],
    }

    struct ProducerState {
        producer_id: i64 [0+],
        producer_epoch: i32 [0+],
        last_sequence: i32 [0+] = -1,
        last_timestamp: i64 [0+] = -1,
        coordinator_epoch: i32 [0+],
        current_txn_start_offset: i64 [0+] = -1,
    }
}

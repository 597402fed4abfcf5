//! Produce (API key 0): append record batches to partitions, on their leader.

use crate::wire::{Records, Uuid};

impl ProduceRequest {
    /// The first version that names topics by id.
    pub const FIRST_BY_ID: i16 = 13;

    /// The first version of protocol 2 of transactions (KIP-890).
    pub const FIRST_OF_PROTOCOL_2: i16 = 12;
}

message! {
    ProduceRequest: versions 3-13, flexible 9+;

    struct ProduceRequest {
        transactional_id: Option<String> [3+] nullable [3+],
        acks: i16 [0+],
        timeout_ms: i32 [0+],
        topic_data: Vec<TopicProduceData> [0+],
    }

    struct TopicProduceData {
        name: String [0-12 ignorable],
        topic_id: Uuid [13+ ignorable],
        partition_data: Vec<PartitionProduceData> [0+],
    }

    struct PartitionProduceData {
        index: i32 [0+],
        records: Option<Records> [0+] nullable [0+],
    }
}

message! {
    ProduceResponse: versions 3-13, flexible 9+;

    struct ProduceResponse {
        responses: Vec<TopicProduceResponse> [0+],
        throttle_time_ms: i32 [1+ ignorable],
        node_endpoints: Vec<NodeEndpoint> [10+] tag 0,
    }

    struct TopicProduceResponse {
        name: String [0-12 ignorable],
        topic_id: Uuid [13+ ignorable],
        partition_responses: Vec<PartitionProduceResponse> [0+],
    }

    struct PartitionProduceResponse {
        index: i32 [0+],
        error_code: i16 [0+],
        base_offset: i64 [0+],
        log_append_time_ms: i64 [2+ ignorable] = -1,
        log_start_offset: i64 [5+ ignorable] = -1,
        record_errors: Vec<BatchIndexAndErrorMessage> [8+ ignorable],
        error_message: Option<String> [8+ ignorable] nullable [8+],
        current_leader: LeaderIdAndEpoch [10+] tag 0,
    }

    struct BatchIndexAndErrorMessage {
        batch_index: i32 [8+],
        batch_index_error_message: Option<String> [8+] nullable [8+],
    }

    struct LeaderIdAndEpoch {
        leader_id: i32 [10+] = -1,
        leader_epoch: i32 [10+] = -1,
    }

    struct NodeEndpoint {
        node_id: i32 [10+],
        host: String [10+],
        port: i32 [10+],
        rack: Option<String> [10+] nullable [10+],
    }
}

//! ShareFetch (API key 78): fetch records for a share group and acknowledge earlier ones.

use crate::wire::{Records, Uuid};

message! {
    ShareFetchRequest: versions 1-2, flexible 0+;

    struct ShareFetchRequest {
        group_id: Option<String> [0+] nullable [0+],
        member_id: Option<String> [0+] nullable [0+],
        share_session_epoch: i32 [0+],
        max_wait_ms: i32 [0+],
        min_bytes: i32 [0+],
        max_bytes: i32 [0+] = 2147483647,
        max_records: i32 [1+],
        batch_size: i32 [1+],
        share_acquire_mode: i8 [2+ ignorable],
        is_renew_ack: bool [2+],
        topics: Vec<FetchTopic> [0+],
        forgotten_topics_data: Vec<ForgottenTopic> [0+],
    }

    struct FetchTopic {
        topic_id: Uuid [0+],
        partitions: Vec<FetchPartition> [0+],
    }

    struct FetchPartition {
        partition_index: i32 [0+],
        partition_max_bytes: i32 [0],
        acknowledgement_batches: Vec<AcknowledgementBatch> [0+],
    }

    struct AcknowledgementBatch {
        first_offset: i64 [0+],
        last_offset: i64 [0+],
        acknowledge_types: Vec<i8> [0+],
    }

    struct ForgottenTopic {
        topic_id: Uuid [0+],
        partitions: Vec<i32> [0+],
    }
}

message! {
    ShareFetchResponse: versions 1-2, flexible 0+;

    struct ShareFetchResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] nullable [0+],
        acquisition_lock_timeout_ms: i32 [1+],
        responses: Vec<ShareFetchableTopicResponse> [0+],
        node_endpoints: Vec<NodeEndpoint> [0+],
    }

    struct ShareFetchableTopicResponse {
        topic_id: Uuid [0+],
        partitions: Vec<PartitionData> [0+],
    }

    struct PartitionData {
        partition_index: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] nullable [0+],
        acknowledge_error_code: i16 [0+],
        acknowledge_error_message: Option<String> [0+] nullable [0+],
        current_leader: LeaderIdAndEpoch [0+],
        records: Option<Records> [0+] nullable [0],
        acquired_records: Vec<AcquiredRecords> [0+],
    }

    struct LeaderIdAndEpoch {
        leader_id: i32 [0+],
        leader_epoch: i32 [0+],
    }

    struct AcquiredRecords {
        first_offset: i64 [0+],
        last_offset: i64 [0+],
        delivery_count: i16 [0+],
    }

    struct NodeEndpoint {
        node_id: i32 [0+],
        host: String [0+],
        port: i32 [0+],
        rack: Option<String> [0+] nullable [0+],
    }
}

//! AlterShareGroupOffsets (API key 91): change the start offsets of share groups.

use crate::wire::Uuid;

message! {
    AlterShareGroupOffsetsRequest: versions 0-0, flexible 0+;

    struct AlterShareGroupOffsetsRequest {
        group_id: String [0+],
        topics: Vec<AlterShareGroupOffsetsRequestTopic> [0+],
    }

    struct AlterShareGroupOffsetsRequestTopic {
        topic_name: String [0+],
        partitions: Vec<AlterShareGroupOffsetsRequestPartition> [0+],
    }

    struct AlterShareGroupOffsetsRequestPartition {
        partition_index: i32 [0+],
        start_offset: i64 [0+],
    }
}

message! {
    AlterShareGroupOffsetsResponse: versions 0-0, flexible 0+;

    struct AlterShareGroupOffsetsResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] nullable [0+],
        responses: Vec<AlterShareGroupOffsetsResponseTopic> [0+],
    }

    struct AlterShareGroupOffsetsResponseTopic {
        topic_name: String [0+],
        topic_id: Uuid [0+],
        partitions: Vec<AlterShareGroupOffsetsResponsePartition> [0+],
    }

    struct AlterShareGroupOffsetsResponsePartition {
        partition_index: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] nullable [0+],
    }
}

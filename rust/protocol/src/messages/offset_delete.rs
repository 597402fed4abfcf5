//! OffsetDelete (API key 47): delete a group's committed offsets of single partitions.

message! {
    OffsetDeleteRequest: versions 0-0;

    struct OffsetDeleteRequest {
        group_id: String [0+],
        topics: Vec<OffsetDeleteRequestTopic> [0+],
    }

    struct OffsetDeleteRequestTopic {
        name: String [0+],
        partitions: Vec<OffsetDeleteRequestPartition> [0+],
    }

    struct OffsetDeleteRequestPartition {
        partition_index: i32 [0+],
    }
}

message! {
    OffsetDeleteResponse: versions 0-0;

    struct OffsetDeleteResponse {
        error_code: i16 [0+],
        throttle_time_ms: i32 [0+ ignorable],
        topics: Vec<OffsetDeleteResponseTopic> [0+],
    }

    struct OffsetDeleteResponseTopic {
        name: String [0+],
        partitions: Vec<OffsetDeleteResponsePartition> [0+],
    }

    struct OffsetDeleteResponsePartition {
        partition_index: i32 [0+],
        error_code: i16 [0+],
    }
}

//! ListOffsets (API key 2): the offset of a partition's start, end, or first record at or after a
//! timestamp.

message! {
    ListOffsetsRequest: versions 1-11, flexible 6+;

    struct ListOffsetsRequest {
        replica_id: i32 [0+],
        isolation_level: i8 [2+],
        topics: Vec<ListOffsetsTopic> [0+],
        timeout_ms: i32 [10+ ignorable],
    }

    struct ListOffsetsTopic {
        name: String [0+],
        partitions: Vec<ListOffsetsPartition> [0+],
    }

    struct ListOffsetsPartition {
        partition_index: i32 [0+],
        current_leader_epoch: i32 [4+ ignorable] = -1,
        timestamp: i64 [0+],
    }
}

message! {
    ListOffsetsResponse: versions 1-11, flexible 6+;

    struct ListOffsetsResponse {
        throttle_time_ms: i32 [2+ ignorable],
        topics: Vec<ListOffsetsTopicResponse> [0+],
    }

    struct ListOffsetsTopicResponse {
        name: String [0+],
        partitions: Vec<ListOffsetsPartitionResponse> [0+],
    }

    struct ListOffsetsPartitionResponse {
        partition_index: i32 [0+],
        error_code: i16 [0+],
        timestamp: i64 [1+] = -1,
        offset: i64 [1+] = -1,
        leader_epoch: i32 [4+] = -1,
    }
}

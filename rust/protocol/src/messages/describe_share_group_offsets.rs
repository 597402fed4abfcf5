//! DescribeShareGroupOffsets (API key 90): the start offsets of share groups.

use crate::wire::Uuid;

message! {
    DescribeShareGroupOffsetsRequest: versions 0-1, flexible 0+;

    struct DescribeShareGroupOffsetsRequest {
        groups: Vec<DescribeShareGroupOffsetsRequestGroup> [0+],
    }

    struct DescribeShareGroupOffsetsRequestGroup {
        group_id: String [0+],
        topics: Option<Vec<DescribeShareGroupOffsetsRequestTopic>> [0+] nullable [0+],
    }

    struct DescribeShareGroupOffsetsRequestTopic {
        topic_name: String [0+],
        partitions: Vec<i32> [0+],
    }
}

message! {
    DescribeShareGroupOffsetsResponse: versions 0-1, flexible 0+;

    struct DescribeShareGroupOffsetsResponse {
        throttle_time_ms: i32 [0+],
        groups: Vec<DescribeShareGroupOffsetsResponseGroup> [0+],
    }

    struct DescribeShareGroupOffsetsResponseGroup {
        group_id: String [0+],
        topics: Vec<DescribeShareGroupOffsetsResponseTopic> [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] nullable [0+],
    }

    struct DescribeShareGroupOffsetsResponseTopic {
        topic_name: String [0+],
        topic_id: Uuid [0+],
        partitions: Vec<DescribeShareGroupOffsetsResponsePartition> [0+],
    }

    struct DescribeShareGroupOffsetsResponsePartition {
        partition_index: i32 [0+],
        start_offset: i64 [0+],
        leader_epoch: i32 [0+],
        lag: i64 [1+ ignorable] = -1,
        error_code: i16 [0+],
        error_message: Option<String> [0+] nullable [0+],
    }
}

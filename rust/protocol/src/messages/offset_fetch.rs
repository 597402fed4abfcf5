//! OffsetFetch (API key 9): read a group's committed offsets.

use crate::wire::Uuid;

impl OffsetFetchRequest {
    /// The first version that names topics by id.
    pub const FIRST_BY_ID: i16 = 10;
}

message! {
    OffsetFetchRequest: versions 1-10, flexible 6+;

    struct OffsetFetchRequest {
        group_id: String [0-7],
        topics: Option<Vec<OffsetFetchRequestTopic>> [0-7] nullable [2-7],
        groups: Vec<OffsetFetchRequestGroup> [8+],
        require_stable: bool [7+],
    }

    struct OffsetFetchRequestTopic {
        name: String [0-7],
        partition_indexes: Vec<i32> [0-7],
    }

    struct OffsetFetchRequestGroup {
        group_id: String [8+],
        member_id: Option<String> [9+ ignorable] nullable [9+],
        member_epoch: i32 [9+ ignorable] = -1,
        topics: Option<Vec<OffsetFetchRequestTopics>> [8+] nullable [8+],
    }

    struct OffsetFetchRequestTopics {
        name: String [8-9 ignorable],
        topic_id: Uuid [10+ ignorable],
        partition_indexes: Vec<i32> [8+],
    }
}

message! {
    OffsetFetchResponse: versions 1-10, flexible 6+;

    struct OffsetFetchResponse {
        throttle_time_ms: i32 [3+ ignorable],
        topics: Vec<OffsetFetchResponseTopic> [0-7],
        error_code: i16 [2-7 ignorable],
        groups: Vec<OffsetFetchResponseGroup> [8+],
    }

    struct OffsetFetchResponseTopic {
        name: String [0-7],
        partitions: Vec<OffsetFetchResponsePartition> [0-7],
    }

    struct OffsetFetchResponsePartition {
        partition_index: i32 [0-7],
        committed_offset: i64 [0-7],
        committed_leader_epoch: i32 [5-7 ignorable] = -1,
        metadata: Option<String> [0-7] nullable [0-7],
        error_code: i16 [0-7],
    }

    struct OffsetFetchResponseGroup {
        group_id: String [8+],
        topics: Vec<OffsetFetchResponseTopics> [8+],
        error_code: i16 [8+],
    }

    struct OffsetFetchResponseTopics {
        name: String [8-9 ignorable],
        topic_id: Uuid [10+ ignorable],
        partitions: Vec<OffsetFetchResponsePartitions> [8+],
    }

    struct OffsetFetchResponsePartitions {
        partition_index: i32 [8+],
        committed_offset: i64 [8+],
        committed_leader_epoch: i32 [8+ ignorable] = -1,
        metadata: Option<String> [8+] nullable [8+],
        error_code: i16 [8+],
    }
}

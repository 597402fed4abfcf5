//! OffsetCommit (API key 8): commit a group's offsets.

use crate::wire::Uuid;

impl OffsetCommitRequest {
    /// The first version that names topics by id.
    pub const FIRST_BY_ID: i16 = 10;
}

message! {
    OffsetCommitRequest: versions 2-10, flexible 8+;

    struct OffsetCommitRequest {
        group_id: String [0+],
        generation_id_or_member_epoch: i32 [1+ ignorable] = -1,
        member_id: String [1+ ignorable],
        group_instance_id: Option<String> [7+] nullable [7+],
        retention_time_ms: i64 [2-4 ignorable] = -1,
        topics: Vec<OffsetCommitRequestTopic> [0+],
    }

    struct OffsetCommitRequestTopic {
        name: String [0-9 ignorable],
        topic_id: Uuid [10+ ignorable],
        partitions: Vec<OffsetCommitRequestPartition> [0+],
    }

    struct OffsetCommitRequestPartition {
        partition_index: i32 [0+],
        committed_offset: i64 [0+],
        committed_leader_epoch: i32 [6+ ignorable] = -1,
        committed_metadata: Option<String> [0+] nullable [0+],
    }
}

message! {
    OffsetCommitResponse: versions 2-10, flexible 8+;

    struct OffsetCommitResponse {
        throttle_time_ms: i32 [3+ ignorable],
        topics: Vec<OffsetCommitResponseTopic> [0+],
    }

    struct OffsetCommitResponseTopic {
        name: String [0-9 ignorable],
        topic_id: Uuid [10+ ignorable],
        partitions: Vec<OffsetCommitResponsePartition> [0+],
    }

    struct OffsetCommitResponsePartition {
        partition_index: i32 [0+],
        error_code: i16 [0+],
    }
}

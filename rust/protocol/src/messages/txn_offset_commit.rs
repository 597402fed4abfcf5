//! TxnOffsetCommit (API key 28): commit a group's offsets within a transaction. Version 5 requires
//! transaction.version 2.

use crate::wire::Uuid;

impl TxnOffsetCommitRequest {
    /// The first version that names topics by id.
    pub const FIRST_BY_ID: i16 = 6;

    /// The first version of protocol 2 (KIP-890).
    pub const FIRST_OF_PROTOCOL_2: i16 = 5;
}

message! {
    TxnOffsetCommitRequest: versions 0-6, flexible 3+;

    struct TxnOffsetCommitRequest {
        transactional_id: String [0+],
        group_id: String [0+],
        producer_id: i64 [0+],
        producer_epoch: i16 [0+],
        generation_id_or_member_epoch: i32 [3+] = -1,
        member_id: String [3+],
        group_instance_id: Option<String> [3+] nullable [3+],
        topics: Vec<TxnOffsetCommitRequestTopic> [0+],
    }

    struct TxnOffsetCommitRequestTopic {
        name: String [0-5 ignorable],
        topic_id: Uuid [6+ ignorable],
        partitions: Vec<TxnOffsetCommitRequestPartition> [0+],
    }

    struct TxnOffsetCommitRequestPartition {
        partition_index: i32 [0+],
        committed_offset: i64 [0+],
        committed_leader_epoch: i32 [2+ ignorable] = -1,
        committed_metadata: Option<String> [0+] nullable [0+],
    }
}

message! {
    TxnOffsetCommitResponse: versions 0-6, flexible 3+;

    struct TxnOffsetCommitResponse {
        throttle_time_ms: i32 [0+],
        topics: Vec<TxnOffsetCommitResponseTopic> [0+],
    }

    struct TxnOffsetCommitResponseTopic {
        name: String [0-5 ignorable],
        topic_id: Uuid [6+ ignorable],
        partitions: Vec<TxnOffsetCommitResponsePartition> [0+],
    }

    struct TxnOffsetCommitResponsePartition {
        partition_index: i32 [0+],
        error_code: i16 [0+],
    }
}

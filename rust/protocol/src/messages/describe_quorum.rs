//! DescribeQuorum (API key 55): the state of the KRaft quorum.

use crate::wire::Uuid;

message! {
    DescribeQuorumRequest: versions 0-2, flexible 0+;

    struct DescribeQuorumRequest {
        topics: Vec<TopicData> [0+],
    }

    struct TopicData {
        topic_name: String [0+],
        partitions: Vec<PartitionData> [0+],
    }

    struct PartitionData {
        partition_index: i32 [0+],
    }
}

message! {
    DescribeQuorumResponse: versions 0-2, flexible 0+;

    struct DescribeQuorumResponse {
        error_code: i16 [0+],
        error_message: Option<String> [2+ ignorable] nullable [2+],
        topics: Vec<DescribeQuorumTopicData> [0+],
        nodes: Vec<Node> [2+],
    }

    struct DescribeQuorumTopicData {
        topic_name: String [0+],
        partitions: Vec<DescribeQuorumPartitionData> [0+],
    }

    struct DescribeQuorumPartitionData {
        partition_index: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [2+ ignorable] nullable [2+],
        leader_id: i32 [0+],
        leader_epoch: i32 [0+],
        high_watermark: i64 [0+],
        current_voters: Vec<ReplicaState> [0+],
        observers: Vec<ReplicaState> [0+],
    }

    struct Node {
        node_id: i32 [2+],
        listeners: Vec<Listener> [2+],
    }

    struct Listener {
        name: String [2+],
        host: String [2+],
        port: u16 [2+],
    }

    struct ReplicaState {
        replica_id: i32 [0+],
        replica_directory_id: Uuid [2+],
        log_end_offset: i64 [0+],
        last_fetch_timestamp: i64 [1+ ignorable] = -1,
        last_caught_up_timestamp: i64 [1+ ignorable] = -1,
    }
}

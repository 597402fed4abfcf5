//! DescribeTopicPartitions (API key 75): the partitions of topics, page by page (KIP-966).

use crate::wire::Uuid;

message! {
    DescribeTopicPartitionsRequest: versions 0-0, flexible 0+;

    struct DescribeTopicPartitionsRequest {
        topics: Vec<TopicRequest> [0+],
        response_partition_limit: i32 [0+] = 2000,
        cursor: Option<Cursor> [0+] nullable [0+],
    }

    struct TopicRequest {
        name: String [0+],
    }

    struct Cursor {
        topic_name: String [0+],
        partition_index: i32 [0+],
    }
}

message! {
    DescribeTopicPartitionsResponse: versions 0-0, flexible 0+;

    struct DescribeTopicPartitionsResponse {
        throttle_time_ms: i32 [0+ ignorable],
        topics: Vec<DescribeTopicPartitionsResponseTopic> [0+],
        next_cursor: Option<DescribeTopicPartitionsCursor> [0+] nullable [0+],
    }

    struct DescribeTopicPartitionsResponseTopic {
        error_code: i16 [0+],
        name: Option<String> [0+] nullable [0+],
        topic_id: Uuid [0+ ignorable],
        is_internal: bool [0+ ignorable],
        partitions: Vec<DescribeTopicPartitionsResponsePartition> [0+],
        topic_authorized_operations: i32 [0+] = -2147483648,
    }

    struct DescribeTopicPartitionsResponsePartition {
        error_code: i16 [0+],
        partition_index: i32 [0+],
        leader_id: i32 [0+],
        leader_epoch: i32 [0+ ignorable] = -1,
        replica_nodes: Vec<i32> [0+],
        isr_nodes: Vec<i32> [0+],
        eligible_leader_replicas: Option<Vec<i32>> [0+] nullable [0+],
        last_known_elr: Option<Vec<i32>> [0+] nullable [0+],
        offline_replicas: Vec<i32> [0+ ignorable],
    }

    struct DescribeTopicPartitionsCursor {
        topic_name: String [0+],
        partition_index: i32 [0+],
    }
}

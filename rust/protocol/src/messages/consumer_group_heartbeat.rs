//! ConsumerGroupHeartbeat (API key 68): the heartbeat of a KIP-848 group member, with its
//! subscription and owned partitions.

use crate::wire::Uuid;

message! {
    ConsumerGroupHeartbeatRequest: versions 0-1, flexible 0+;

    struct ConsumerGroupHeartbeatRequest {
        group_id: String [0+],
        member_id: String [0+],
        member_epoch: i32 [0+],
        instance_id: Option<String> [0+] nullable [0+],
        rack_id: Option<String> [0+] nullable [0+],
        rebalance_timeout_ms: i32 [0+] = -1,
        subscribed_topic_names: Option<Vec<String>> [0+] nullable [0+],
        subscribed_topic_regex: Option<String> [1+] nullable [1+],
        server_assignor: Option<String> [0+] nullable [0+],
        topic_partitions: Option<Vec<TopicPartitions>> [0+] nullable [0+],
    }

    struct TopicPartitions {
        topic_id: Uuid [0+],
        partitions: Vec<i32> [0+],
    }
}

message! {
    ConsumerGroupHeartbeatResponse: versions 0-1, flexible 0+;

    struct ConsumerGroupHeartbeatResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] nullable [0+],
        member_id: Option<String> [0+] nullable [0+],
        member_epoch: i32 [0+],
        heartbeat_interval_ms: i32 [0+],
        assignment: Option<Assignment> [0+] nullable [0+],
    }

    struct Assignment {
        topic_partitions: Vec<ConsumerGroupHeartbeatTopicPartitions> [0+],
    }

    struct ConsumerGroupHeartbeatTopicPartitions {
        topic_id: Uuid [0+],
        partitions: Vec<i32> [0+],
    }
}

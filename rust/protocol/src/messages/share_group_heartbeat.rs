//! ShareGroupHeartbeat (API key 76): the heartbeat of a share group member (KIP-932).

use crate::wire::Uuid;

message! {
    ShareGroupHeartbeatRequest: versions 1-1, flexible 0+;

    struct ShareGroupHeartbeatRequest {
        group_id: String [0+],
        member_id: String [0+],
        member_epoch: i32 [0+],
        rack_id: Option<String> [0+] nullable [0+],
        subscribed_topic_names: Option<Vec<String>> [0+] nullable [0+],
    }
}

message! {
    ShareGroupHeartbeatResponse: versions 1-1, flexible 0+;

    struct ShareGroupHeartbeatResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] nullable [0+],
        member_id: Option<String> [0+] nullable [0+],
        member_epoch: i32 [0+],
        heartbeat_interval_ms: i32 [0+],
        assignment: Option<Assignment> [0+] nullable [0+],
    }

    struct Assignment {
        topic_partitions: Vec<TopicPartitions> [0+],
    }

    struct TopicPartitions {
        topic_id: Uuid [0+],
        partitions: Vec<i32> [0+],
    }
}

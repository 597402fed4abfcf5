//! ShareGroupDescribe (API key 77): the state and members of share groups.

use crate::wire::Uuid;

message! {
    ShareGroupDescribeRequest: versions 1-1, flexible 0+;

    struct ShareGroupDescribeRequest {
        group_ids: Vec<String> [0+],
        include_authorized_operations: bool [0+],
    }
}

message! {
    ShareGroupDescribeResponse: versions 1-1, flexible 0+;

    struct ShareGroupDescribeResponse {
        throttle_time_ms: i32 [0+],
        groups: Vec<DescribedGroup> [0+],
    }

    struct DescribedGroup {
        error_code: i16 [0+],
        error_message: Option<String> [0+] nullable [0+],
        group_id: String [0+],
        group_state: String [0+],
        group_epoch: i32 [0+],
        assignment_epoch: i32 [0+],
        assignor_name: String [0+],
        members: Vec<Member> [0+],
        authorized_operations: i32 [0+] = -2147483648,
    }

    struct Member {
        member_id: String [0+],
        rack_id: Option<String> [0+] nullable [0+],
        member_epoch: i32 [0+],
        client_id: String [0+],
        client_host: String [0+],
        subscribed_topic_names: Vec<String> [0+],
        assignment: Assignment [0+],
    }

    struct TopicPartitions {
        topic_id: Uuid [0+],
        topic_name: String [0+],
        partitions: Vec<i32> [0+],
    }

    struct Assignment {
        topic_partitions: Vec<TopicPartitions> [0+],
    }
}

//! ConsumerGroupDescribe (API key 69): the state and members of KIP-848 groups.

use crate::wire::Uuid;

message! {
    ConsumerGroupDescribeRequest: versions 0-1, flexible 0+;

    struct ConsumerGroupDescribeRequest {
        group_ids: Vec<String> [0+],
        include_authorized_operations: bool [0+],
    }
}

message! {
    ConsumerGroupDescribeResponse: versions 0-1, flexible 0+;

    struct ConsumerGroupDescribeResponse {
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
        instance_id: Option<String> [0+] nullable [0+],
        rack_id: Option<String> [0+] nullable [0+],
        member_epoch: i32 [0+],
        client_id: String [0+],
        client_host: String [0+],
        subscribed_topic_names: Vec<String> [0+],
        subscribed_topic_regex: Option<String> [0+] nullable [0+],
        assignment: Assignment [0+],
        target_assignment: Assignment [0+],
        member_type: i8 [1+ ignorable] = -1,
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

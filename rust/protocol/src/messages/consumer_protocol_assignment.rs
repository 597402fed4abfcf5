//! ConsumerProtocolAssignment: the partitions that the leader of a classic group assigns to a member.

use bytes::Bytes;

message! {
    ConsumerProtocolAssignment: versions 0-3;

    struct ConsumerProtocolAssignment {
        assigned_partitions: Vec<TopicPartition> [0+],
        user_data: Option<Bytes> [0+] nullable [0+],
    }

    struct TopicPartition {
        topic: String [0+],
        partitions: Vec<i32> [0+],
    }
}

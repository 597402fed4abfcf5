//! ConsumerProtocolSubscription: the metadata that a member of a classic group sends to the leader:
//! topics and owned partitions.

use bytes::Bytes;

message! {
    ConsumerProtocolSubscription: versions 0-3;

    struct ConsumerProtocolSubscription {
        topics: Vec<String> [0+],
        user_data: Option<Bytes> [0+] nullable [0+],
        owned_partitions: Vec<TopicPartition> [1+ ignorable],
        generation_id: i32 [2+ ignorable] = -1,
        rack_id: Option<String> [3+ ignorable] nullable [3+],
    }

    struct TopicPartition {
        topic: String [1+],
        partitions: Vec<i32> [1+],
    }
}

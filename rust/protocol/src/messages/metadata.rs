//! Metadata (API key 3): the brokers of the cluster, and the leaders and replicas of topics. A
//! client's first request after ApiVersions.

use crate::wire::Uuid;

message! {
    MetadataRequest: versions 0-13, flexible 9+;

    struct MetadataRequest {
        topics: Option<Vec<MetadataRequestTopic>> [0+] nullable [1+],
        allow_auto_topic_creation: bool [4+] = true,
        include_cluster_authorized_operations: bool [8-10],
        include_topic_authorized_operations: bool [8+],
    }

    struct MetadataRequestTopic {
        topic_id: Uuid [10+ ignorable],
        name: Option<String> [0+] nullable [10+],
    }
}

message! {
    MetadataResponse: versions 0-13, flexible 9+;

    struct MetadataResponse {
        throttle_time_ms: i32 [3+ ignorable],
        brokers: Vec<MetadataResponseBroker> [0+],
        cluster_id: Option<String> [2+ ignorable] nullable [2+],
        controller_id: i32 [1+ ignorable] = -1,
        topics: Vec<MetadataResponseTopic> [0+],
        cluster_authorized_operations: i32 [8-10] = -2147483648,
        error_code: i16 [13+ ignorable],
    }

    struct MetadataResponseBroker {
        node_id: i32 [0+],
        host: String [0+],
        port: i32 [0+],
        rack: Option<String> [1+ ignorable] nullable [1+],
    }

    struct MetadataResponseTopic {
        error_code: i16 [0+],
        name: Option<String> [0+] nullable [12+],
        topic_id: Uuid [10+ ignorable],
        is_internal: bool [1+ ignorable],
        partitions: Vec<MetadataResponsePartition> [0+],
        topic_authorized_operations: i32 [8+] = -2147483648,
    }

    struct MetadataResponsePartition {
        error_code: i16 [0+],
        partition_index: i32 [0+],
        leader_id: i32 [0+],
        leader_epoch: i32 [7+ ignorable] = -1,
        replica_nodes: Vec<i32> [0+],
        isr_nodes: Vec<i32> [0+],
        offline_replicas: Vec<i32> [5+ ignorable],
    }
}

//! CreateTopics (API key 19): create topics.

use crate::wire::Uuid;

message! {
    CreateTopicsRequest: versions 2-7, flexible 5+;

    struct CreateTopicsRequest {
        topics: Vec<CreatableTopic> [0+],
        timeout_ms: i32 [0+] = 60000,
        validate_only: bool [1+],
    }

    struct CreatableTopic {
        name: String [0+],
        num_partitions: i32 [0+],
        replication_factor: i16 [0+],
        assignments: Vec<CreatableReplicaAssignment> [0+],
        configs: Vec<CreatableTopicConfig> [0+],
    }

    struct CreatableReplicaAssignment {
        partition_index: i32 [0+],
        broker_ids: Vec<i32> [0+],
    }

    struct CreatableTopicConfig {
        name: String [0+],
        value: Option<String> [0+] nullable [0+],
    }
}

message! {
    CreateTopicsResponse: versions 2-7, flexible 5+;

    struct CreateTopicsResponse {
        throttle_time_ms: i32 [2+ ignorable],
        topics: Vec<CreatableTopicResult> [0+],
    }

    struct CreatableTopicResult {
        name: String [0+],
        topic_id: Uuid [7+ ignorable],
        error_code: i16 [0+],
        error_message: Option<String> [1+ ignorable] nullable [0+],
        topic_config_error_code: i16 [5+ ignorable] tag 0,
        num_partitions: i32 [5+ ignorable] = -1,
        replication_factor: i16 [5+ ignorable] = -1,
        configs: Option<Vec<CreatableTopicConfigs>> [5+ ignorable] nullable [5+],
    }

    struct CreatableTopicConfigs {
        name: String [5+],
        value: Option<String> [5+] nullable [5+],
        read_only: bool [5+],
        config_source: i8 [5+ ignorable] = -1,
        is_sensitive: bool [5+],
    }
}

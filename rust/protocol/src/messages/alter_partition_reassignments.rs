//! AlterPartitionReassignments (API key 45): start or cancel moving replicas between brokers.

message! {
    AlterPartitionReassignmentsRequest: versions 0-1, flexible 0+;

    struct AlterPartitionReassignmentsRequest {
        timeout_ms: i32 [0+] = 60000,
        allow_replication_factor_change: bool [1+] = true,
        topics: Vec<ReassignableTopic> [0+],
    }

    struct ReassignableTopic {
        name: String [0+],
        partitions: Vec<ReassignablePartition> [0+],
    }

    struct ReassignablePartition {
        partition_index: i32 [0+],
        replicas: Option<Vec<i32>> [0+] nullable [0+],
    }
}

message! {
    AlterPartitionReassignmentsResponse: versions 0-1, flexible 0+;

    struct AlterPartitionReassignmentsResponse {
        throttle_time_ms: i32 [0+],
        allow_replication_factor_change: bool [1+ ignorable] = true,
        error_code: i16 [0+],
        error_message: Option<String> [0+] nullable [0+],
        responses: Vec<ReassignableTopicResponse> [0+],
    }

    struct ReassignableTopicResponse {
        name: String [0+],
        partitions: Vec<ReassignablePartitionResponse> [0+],
    }

    struct ReassignablePartitionResponse {
        partition_index: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] nullable [0+],
    }
}

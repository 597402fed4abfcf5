//! ElectLeaders (API key 43): elect preferred (or any) leaders for partitions.

message! {
    ElectLeadersRequest: versions 0-2, flexible 2+;

    struct ElectLeadersRequest {
        election_type: i8 [1+],
        topic_partitions: Option<Vec<TopicPartitions>> [0+] nullable [0+],
        timeout_ms: i32 [0+] = 60000,
    }

    struct TopicPartitions {
        topic: String [0+],
        partitions: Vec<i32> [0+],
    }
}

message! {
    ElectLeadersResponse: versions 0-2, flexible 2+;

    struct ElectLeadersResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [1+],
        replica_election_results: Vec<ReplicaElectionResult> [0+],
    }

    struct ReplicaElectionResult {
        topic: String [0+],
        partition_result: Vec<PartitionResult> [0+],
    }

    struct PartitionResult {
        partition_id: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] nullable [0+],
    }
}

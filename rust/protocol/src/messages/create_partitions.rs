//! CreatePartitions (API key 37): add partitions to topics.

message! {
    CreatePartitionsRequest: versions 0-3, flexible 2+;

    struct CreatePartitionsRequest {
        topics: Vec<CreatePartitionsTopic> [0+],
        timeout_ms: i32 [0+],
        validate_only: bool [0+],
    }

    struct CreatePartitionsTopic {
        name: String [0+],
        count: i32 [0+],
        assignments: Option<Vec<CreatePartitionsAssignment>> [0+] nullable [0+],
    }

    struct CreatePartitionsAssignment {
        broker_ids: Vec<i32> [0+],
    }
}

message! {
    CreatePartitionsResponse: versions 0-3, flexible 2+;

    struct CreatePartitionsResponse {
        throttle_time_ms: i32 [0+],
        results: Vec<CreatePartitionsTopicResult> [0+],
    }

    struct CreatePartitionsTopicResult {
        name: String [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] nullable [0+],
    }
}

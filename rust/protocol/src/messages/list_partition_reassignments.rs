//! ListPartitionReassignments (API key 46): list ongoing partition reassignments.

message! {
    ListPartitionReassignmentsRequest: versions 0-0, flexible 0+;

    struct ListPartitionReassignmentsRequest {
        timeout_ms: i32 [0+] = 60000,
        topics: Option<Vec<ListPartitionReassignmentsTopics>> [0+] nullable [0+],
    }

    struct ListPartitionReassignmentsTopics {
        name: String [0+],
        partition_indexes: Vec<i32> [0+],
    }
}

message! {
    ListPartitionReassignmentsResponse: versions 0-0, flexible 0+;

    struct ListPartitionReassignmentsResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] nullable [0+],
        topics: Vec<OngoingTopicReassignment> [0+],
    }

    struct OngoingTopicReassignment {
        name: String [0+],
        partitions: Vec<OngoingPartitionReassignment> [0+],
    }

    struct OngoingPartitionReassignment {
        partition_index: i32 [0+],
        replicas: Vec<i32> [0+],
        adding_replicas: Vec<i32> [0+],
        removing_replicas: Vec<i32> [0+],
    }
}

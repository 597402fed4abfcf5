//! DeleteShareGroupState (API key 86): between brokers: delete the state of share partitions.

use crate::wire::Uuid;

message! {
    DeleteShareGroupStateRequest: versions 0-0, flexible 0+;

    struct DeleteShareGroupStateRequest {
        group_id: String [0+],
        topics: Vec<DeleteStateData> [0+],
    }

    struct DeleteStateData {
        topic_id: Uuid [0+],
        partitions: Vec<PartitionData> [0+],
    }

    struct PartitionData {
        partition: i32 [0+],
    }
}

message! {
    DeleteShareGroupStateResponse: versions 0-0, flexible 0+;

    struct DeleteShareGroupStateResponse {
        results: Vec<DeleteStateResult> [0+],
    }

    struct DeleteStateResult {
        topic_id: Uuid [0+],
        partitions: Vec<PartitionResult> [0+],
    }

    struct PartitionResult {
        partition: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] nullable [0+],
    }
}

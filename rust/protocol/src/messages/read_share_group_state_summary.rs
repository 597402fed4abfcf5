//! ReadShareGroupStateSummary (API key 87): between brokers: read a summary of the state of share
//! partitions.

use crate::wire::Uuid;

message! {
    ReadShareGroupStateSummaryRequest: versions 0-1, flexible 0+;

    struct ReadShareGroupStateSummaryRequest {
        group_id: String [0+],
        topics: Vec<ReadStateSummaryData> [0+],
    }

    struct ReadStateSummaryData {
        topic_id: Uuid [0+],
        partitions: Vec<PartitionData> [0+],
    }

    struct PartitionData {
        partition: i32 [0+],
        leader_epoch: i32 [0+],
    }
}

message! {
    ReadShareGroupStateSummaryResponse: versions 0-1, flexible 0+;

    struct ReadShareGroupStateSummaryResponse {
        results: Vec<ReadStateSummaryResult> [0+],
    }

    struct ReadStateSummaryResult {
        topic_id: Uuid [0+],
        partitions: Vec<PartitionResult> [0+],
    }

    struct PartitionResult {
        partition: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] nullable [0+],
        state_epoch: i32 [0+],
        leader_epoch: i32 [0+],
        start_offset: i64 [0+],
        delivery_complete_count: i32 [1+ ignorable] = -1,
    }
}

//! WriteShareGroupState (API key 85): between brokers: write the state of share partitions.

use crate::wire::Uuid;

message! {
    WriteShareGroupStateRequest: versions 0-1, flexible 0+;

    struct WriteShareGroupStateRequest {
        group_id: String [0+],
        topics: Vec<WriteStateData> [0+],
    }

    struct WriteStateData {
        topic_id: Uuid [0+],
        partitions: Vec<PartitionData> [0+],
    }

    struct PartitionData {
        partition: i32 [0+],
        state_epoch: i32 [0+],
        leader_epoch: i32 [0+],
        start_offset: i64 [0+],
        delivery_complete_count: i32 [1+ ignorable] = -1,
        state_batches: Vec<StateBatch> [0+],
    }

    struct StateBatch {
        first_offset: i64 [0+],
        last_offset: i64 [0+],
        delivery_state: i8 [0+],
        delivery_count: i16 [0+],
    }
}

message! {
    WriteShareGroupStateResponse: versions 0-1, flexible 0+;

    struct WriteShareGroupStateResponse {
        results: Vec<WriteStateResult> [0+],
    }

    struct WriteStateResult {
        topic_id: Uuid [0+],
        partitions: Vec<PartitionResult> [0+],
    }

    struct PartitionResult {
        partition: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] nullable [0+],
    }
}

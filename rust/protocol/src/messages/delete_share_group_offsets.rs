//! DeleteShareGroupOffsets (API key 92): delete the start offsets of share groups.

use crate::wire::Uuid;

message! {
    DeleteShareGroupOffsetsRequest: versions 0-0, flexible 0+;

    struct DeleteShareGroupOffsetsRequest {
        group_id: String [0+],
        topics: Vec<DeleteShareGroupOffsetsRequestTopic> [0+],
    }

    struct DeleteShareGroupOffsetsRequestTopic {
        topic_name: String [0+],
    }
}

message! {
    DeleteShareGroupOffsetsResponse: versions 0-0, flexible 0+;

    struct DeleteShareGroupOffsetsResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] nullable [0+],
        responses: Vec<DeleteShareGroupOffsetsResponseTopic> [0+],
    }

    struct DeleteShareGroupOffsetsResponseTopic {
        topic_name: String [0+],
        topic_id: Uuid [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] nullable [0+],
    }
}

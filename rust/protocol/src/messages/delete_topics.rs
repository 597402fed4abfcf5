//! DeleteTopics (API key 20): delete topics by name or id.

use crate::wire::Uuid;

impl DeleteTopicsRequest {
    /// The first version with a list of topics by name or by id (`topics`).
    pub const FIRST_BY_ID: i16 = 6;
}

message! {
    DeleteTopicsRequest: versions 1-6, flexible 4+;

    struct DeleteTopicsRequest {
        topics: Vec<DeleteTopicState> [6+],
        topic_names: Vec<String> [0-5 ignorable],
        timeout_ms: i32 [0+],
    }

    struct DeleteTopicState {
        name: Option<String> [6+] nullable [6+],
        topic_id: Uuid [6+],
    }
}

message! {
    DeleteTopicsResponse: versions 1-6, flexible 4+;

    struct DeleteTopicsResponse {
        throttle_time_ms: i32 [1+ ignorable],
        responses: Vec<DeletableTopicResult> [0+],
    }

    struct DeletableTopicResult {
        name: Option<String> [0+] nullable [6+],
        topic_id: Uuid [6+ ignorable],
        error_code: i16 [0+],
        error_message: Option<String> [5+ ignorable] nullable [5+],
    }
}

//! RemoveRaftVoter (API key 81): remove a voter from the KRaft quorum.

use crate::wire::Uuid;

message! {
    RemoveRaftVoterRequest: versions 0-0, flexible 0+;

    struct RemoveRaftVoterRequest {
        cluster_id: Option<String> [0+] nullable [0+],
        voter_id: i32 [0+],
        voter_directory_id: Uuid [0+],
    }
}

message! {
    RemoveRaftVoterResponse: versions 0-0, flexible 0+;

    struct RemoveRaftVoterResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+ ignorable] nullable [0+],
    }
}

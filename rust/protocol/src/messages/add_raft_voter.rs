//! AddRaftVoter (API key 80): add a voter to the KRaft quorum.

use crate::wire::Uuid;

message! {
    AddRaftVoterRequest: versions 0-1, flexible 0+;

    struct AddRaftVoterRequest {
        cluster_id: Option<String> [0+] nullable [0+],
        timeout_ms: i32 [0+],
        voter_id: i32 [0+],
        voter_directory_id: Uuid [0+],
        listeners: Vec<Listener> [0+],
        ack_when_committed: bool [1+] = true,
    }

    struct Listener {
        name: String [0+],
        host: String [0+],
        port: u16 [0+],
    }
}

message! {
    AddRaftVoterResponse: versions 0-1, flexible 0+;

    struct AddRaftVoterResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+ ignorable] nullable [0+],
    }
}

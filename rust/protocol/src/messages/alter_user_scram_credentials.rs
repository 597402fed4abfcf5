//! AlterUserScramCredentials (API key 51): set or delete SCRAM credentials.

use bytes::Bytes;

use crate::wire::SecretBytes;

message! {
    AlterUserScramCredentialsRequest: versions 0-0, flexible 0+;

    struct AlterUserScramCredentialsRequest {
        deletions: Vec<ScramCredentialDeletion> [0+],
        upsertions: Vec<ScramCredentialUpsertion> [0+],
    }

    struct ScramCredentialDeletion {
        name: String [0+],
        mechanism: i8 [0+],
    }

    struct ScramCredentialUpsertion {
        name: String [0+],
        mechanism: i8 [0+],
        iterations: i32 [0+],
        salt: Bytes [0+],
        salted_password: SecretBytes [0+],
    }
}

message! {
    AlterUserScramCredentialsResponse: versions 0-0, flexible 0+;

    struct AlterUserScramCredentialsResponse {
        throttle_time_ms: i32 [0+],
        results: Vec<AlterUserScramCredentialsResult> [0+],
    }

    struct AlterUserScramCredentialsResult {
        user: String [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] nullable [0+],
    }
}

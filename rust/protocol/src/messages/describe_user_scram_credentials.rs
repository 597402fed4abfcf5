//! DescribeUserScramCredentials (API key 50): list the users' SCRAM credentials, without the secrets.

message! {
    DescribeUserScramCredentialsRequest: versions 0-0, flexible 0+;

    struct DescribeUserScramCredentialsRequest {
        users: Option<Vec<UserName>> [0+] nullable [0+],
    }

    struct UserName {
        name: String [0+],
    }
}

message! {
    DescribeUserScramCredentialsResponse: versions 0-0, flexible 0+;

    struct DescribeUserScramCredentialsResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] nullable [0+],
        results: Vec<DescribeUserScramCredentialsResult> [0+],
    }

    struct DescribeUserScramCredentialsResult {
        user: String [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] nullable [0+],
        credential_infos: Vec<CredentialInfo> [0+],
    }

    struct CredentialInfo {
        mechanism: i8 [0+],
        iterations: i32 [0+],
    }
}

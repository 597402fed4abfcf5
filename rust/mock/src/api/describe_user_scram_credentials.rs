//! DescribeUserScramCredentials (50), version 0: the mechanisms and iterations of users' SCRAM credentials (KIP-554).
//! Null and an empty list ask for all users.

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::describe_user_scram_credentials::{
    CredentialInfo, DescribeUserScramCredentialsRequest, DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
};

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::state::ApiError;

impl RequestHandler for DescribeUserScramCredentialsRequest {
    fn handle(
        &self,
        context: &mut RequestContext<'_>,
    ) -> HandlerResult<DescribeUserScramCredentialsResponse> {
        let mut response = DescribeUserScramCredentialsResponse {
            error_message: Some(String::new()),
            ..DescribeUserScramCredentialsResponse::default()
        };
        if let Err(code) = context.check_any_fault() {
            response.error_code = code.code();
            response.error_message = Some(code.meaning().to_owned());
            return HandlerResult::Response(response);
        }
        let mut times: BTreeMap<&str, usize> = BTreeMap::new();
        let users = self.users.iter().flatten();
        users.for_each(|user| *times.entry(user.name.as_str()).or_default() += 1);
        if times.is_empty() {
            times.extend(context.state.users.names().map(|user| (user, 1)));
        }
        response.results = times.into_iter().map(|(user, times)| describe(context, user, times)).collect();
        HandlerResult::Response(response)
    }

    fn throttle_time(response: &mut DescribeUserScramCredentialsResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn describe(context: &RequestContext<'_>, user: &str, times: usize) -> DescribeUserScramCredentialsResult {
    let described = if times == 1 {
        context.state.users.describe(user)
    } else {
        let text =
            format!("Cannot describe SCRAM credentials for the same user twice in a single request: {user}");
        Err(ApiError::new(ErrorCode::DuplicateResource, text))
    };
    let user = user.to_owned();
    match described {
        Ok(credentials) => {
            let infos = credentials.into_iter().map(|(mechanism, iterations)| CredentialInfo {
                mechanism: mechanism as i8,
                iterations: i32::try_from(iterations.get()).unwrap_or(i32::MAX),
            });
            DescribeUserScramCredentialsResult {
                user,
                error_message: Some(String::new()),
                credential_infos: infos.collect(),
                ..DescribeUserScramCredentialsResult::default()
            }
        }
        Err(error) => DescribeUserScramCredentialsResult {
            user,
            error_code: error.code.code(),
            error_message: Some(error.message),
            credential_infos: Vec::new(),
        },
    }
}

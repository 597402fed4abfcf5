//! AlterUserScramCredentials (51), version 0: deletes and stores SCRAM credentials, one of each user (KIP-554). They
//! are valid for logins at once.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::alter_user_scram_credentials::{
    AlterUserScramCredentialsRequest, AlterUserScramCredentialsResponse, AlterUserScramCredentialsResult,
};

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::state::{ApiError, Upsertion};

impl RequestHandler for AlterUserScramCredentialsRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<AlterUserScramCredentialsResponse> {
        let deletions: Vec<(&str, i8)> =
            self.deletions.iter().map(|d| (d.name.as_str(), d.mechanism)).collect();
        let upsertions: Vec<Upsertion<'_>> = self
            .upsertions
            .iter()
            .map(|upsertion| Upsertion {
                user: &upsertion.name,
                mechanism: upsertion.mechanism,
                iterations: upsertion.iterations,
                salt: &upsertion.salt,
                salted_password: &upsertion.salted_password.0,
            })
            .collect();
        let users = || deletions.iter().map(|(user, _)| *user).chain(upsertions.iter().map(|u| u.user));
        let failed =
            |code: ErrorCode| users().map(|user| (user, Err(ApiError::new(code, code.meaning())))).collect();
        let mut results = match context.check_any_fault().and_then(|()| context.check_controller()) {
            Ok(()) => context.state.users.alter(&deletions, &upsertions),
            Err(code) => failed(code),
        };
        if let Err(code) = context.check_any_fault_after_handling() {
            results = failed(code);
        }
        let results = results.into_iter().map(|(user, outcome)| {
            let error = outcome.err();
            AlterUserScramCredentialsResult {
                user: user.to_owned(),
                error_code: error.as_ref().map_or(0, |error| error.code.code()),
                error_message: error.map(|error| error.message).filter(|message| !message.is_empty()),
            }
        });
        HandlerResult::Response(AlterUserScramCredentialsResponse {
            results: results.collect(),
            ..Default::default()
        })
    }

    fn throttle_time(response: &mut AlterUserScramCredentialsResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

//! RenewDelegationToken (39), versions 1–2: extends the life of a token, for its owner and renewers.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::renew_delegation_token::{
    RenewDelegationTokenRequest, RenewDelegationTokenResponse,
};

use super::{HandlerResult, RequestContext, RequestHandler, token_expiry};

impl RequestHandler for RenewDelegationTokenRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<RenewDelegationTokenResponse> {
        let (error_code, expiry_timestamp_ms) = token_expiry(renew(self, context));
        HandlerResult::Response(RenewDelegationTokenResponse {
            error_code,
            expiry_timestamp_ms,
            ..RenewDelegationTokenResponse::default()
        })
    }

    fn throttle_time(response: &mut RenewDelegationTokenResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn renew(request: &RenewDelegationTokenRequest, context: &mut RequestContext<'_>) -> Result<i64, ErrorCode> {
    context.check_any_fault()?;
    let user = context.token_user()?;
    let (hmac, now) = (&request.hmac.0, context.now);
    let expires = context.state.tokens.renew(hmac, &user, request.renew_period_ms, now)?;
    context.check_any_fault_after_handling()?;
    Ok(expires)
}

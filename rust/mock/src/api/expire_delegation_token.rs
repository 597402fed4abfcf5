//! ExpireDelegationToken (40), versions 1–2: lets a token expire after a period, or deletes it for a negative one; for
//! its owner and renewers.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::expire_delegation_token::{
    ExpireDelegationTokenRequest, ExpireDelegationTokenResponse,
};

use super::{HandlerResult, RequestContext, RequestHandler, token_expiry};

impl RequestHandler for ExpireDelegationTokenRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<ExpireDelegationTokenResponse> {
        let (error_code, expiry_timestamp_ms) = token_expiry(expire(self, context));
        HandlerResult::Response(ExpireDelegationTokenResponse {
            error_code,
            expiry_timestamp_ms,
            ..ExpireDelegationTokenResponse::default()
        })
    }

    fn throttle_time(response: &mut ExpireDelegationTokenResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn expire(
    request: &ExpireDelegationTokenRequest,
    context: &mut RequestContext<'_>,
) -> Result<i64, ErrorCode> {
    context.check_any_fault()?;
    let user = context.token_user()?;
    let (hmac, now) = (&request.hmac.0, context.now);
    let expires = context.state.tokens.expire(hmac, &user, request.expiry_time_period_ms, now)?;
    context.check_any_fault_after_handling()?;
    Ok(expires)
}

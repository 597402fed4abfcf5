//! SaslAuthenticate (36), versions 0–2: one message of a SASL exchange. The last response has the session
//! lifetime (KIP-368).

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::sasl_authenticate::{SaslAuthenticateRequest, SaslAuthenticateResponse};
use ottla_protocol::wire::SecretBytes;

use super::{HandlerResult, RequestContext, RequestHandler};

impl RequestHandler for SaslAuthenticateRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<SaslAuthenticateResponse> {
        let mut response = SaslAuthenticateResponse::default();
        let step = match context.check_any_fault() {
            Ok(()) => context.session.authenticate(context.state, &self.auth_bytes.0),
            Err(code) => {
                response.error_code = code.code();
                return HandlerResult::Response(response);
            }
        };
        match step {
            Ok(accepted) => {
                response.auth_bytes = SecretBytes(accepted.auth_bytes);
                response.session_lifetime_ms =
                    i64::try_from(accepted.lifetime.as_millis()).unwrap_or(i64::MAX);
            }
            Err(message) => {
                response.error_code = ErrorCode::SaslAuthenticationFailed.code();
                response.error_message = Some(message);
            }
        }
        HandlerResult::Response(response)
    }
}

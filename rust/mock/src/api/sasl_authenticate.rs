//! SaslAuthenticate (36), versions 0–2: one message of the exchange. The last answer tells how long
//! the session lives (KIP-368).

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::sasl_authenticate::{SaslAuthenticateRequest, SaslAuthenticateResponse};
use ottla_protocol::wire::SecretBytes;

use super::{Call, Serve, Served};

impl Serve for SaslAuthenticateRequest {
    fn serve(&self, call: &mut Call<'_>) -> Served<SaslAuthenticateResponse> {
        let mut response = SaslAuthenticateResponse::default();
        let step = match call.whole_fault() {
            Ok(()) => call.session.step(call.state, &self.auth_bytes.0),
            Err(code) => {
                response.error_code = code.code();
                return Served::Answer(response);
            }
        };
        match step {
            Ok(accepted) => {
                response.auth_bytes = SecretBytes(accepted.answer);
                response.session_lifetime_ms =
                    i64::try_from(accepted.lifetime.as_millis()).unwrap_or(i64::MAX);
            }
            Err(words) => {
                response.error_code = ErrorCode::SaslAuthenticationFailed.code();
                response.error_message = Some(words);
            }
        }
        Served::Answer(response)
    }
}

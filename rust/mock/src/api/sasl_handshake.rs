//! SaslHandshake (17), versions 0–1: selects the SASL mechanism. After version 0, the messages of the exchange follow
//! without headers.

use ottla_protocol::messages::sasl_handshake::{SaslHandshakeRequest, SaslHandshakeResponse};

use super::{HandlerResult, RequestContext, RequestHandler};

impl RequestHandler for SaslHandshakeRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<SaslHandshakeResponse> {
        let sasl = context.state.config.sasl.as_ref();
        let version = context.version;
        let chosen = context
            .check_any_fault()
            .and_then(|()| context.session.handshake(sasl, &self.mechanism, version));
        let offered = sasl.map(|sasl| sasl.mechanisms.as_slice()).unwrap_or_default();
        HandlerResult::Response(SaslHandshakeResponse {
            error_code: chosen.err().map_or(0, |code| code.code()),
            mechanisms: offered.iter().map(|mechanism| mechanism.name().to_owned()).collect(),
        })
    }
}

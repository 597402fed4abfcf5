//! SaslHandshake (17), versions 0–1: the mechanism that is to come.

use ottla_protocol::messages::sasl_handshake::{SaslHandshakeRequest, SaslHandshakeResponse};

use super::{Call, Serve, Served};

impl Serve for SaslHandshakeRequest {
    fn serve(&self, call: &mut Call<'_>) -> Served<SaslHandshakeResponse> {
        let sasl = call.state.config.sasl.as_ref();
        let chosen = call.whole_fault().and_then(|()| call.session.choose(sasl, &self.mechanism));
        let offered = sasl.map(|sasl| sasl.mechanisms.as_slice()).unwrap_or_default();
        Served::Answer(SaslHandshakeResponse {
            error_code: chosen.err().map_or(0, |code| code.code()),
            mechanisms: offered.iter().map(|mechanism| mechanism.name().to_owned()).collect(),
        })
    }
}

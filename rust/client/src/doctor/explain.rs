//! Why a phase failed, where its own error does not tell: found out by asking once more, in another
//! way. Every wait ends with the phase's time.

use std::net::SocketAddr;
use std::sync::Arc;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::sasl_handshake::SaslHandshakeRequest;
use tokio::time::{Instant, timeout_at};

use super::Probe;
use super::check::{Check, Reason};
use super::facts::Step;
use crate::connection::setup::ConnectionSetup;
use crate::connection::{Endpoint, establish};
use crate::doctor::protocol_probe::second_look;
use crate::doctor::recording_network::Seen;
use crate::environment::Environment;
use crate::printable::printable;

/// No listener offers more mechanisms than this.
const MECHANISMS: usize = 32;

/// Says what a port speaks that does not answer as it was expected to.
pub(super) async fn explain(probe: &Probe, address: SocketAddr, seen: &Seen, mut looked: Step) -> Step {
    let Some(failure) = &mut looked.failure else { return looked };
    let tls = looked.check == Check::Tls;
    let found = match seen.speaks() {
        // TLS that fails is TLS all the same.
        Some(Reason::SpeaksTls) if tls => None,
        Some(reason) => Some(reason),
        None if tls && speaks_plaintext(probe, address).await => Some(Reason::SpeaksPlaintext),
        None if matches!(failure.reason, Reason::TimedOut | Reason::Closed) => {
            let speaks = second_look(probe, address).await;
            speaks.filter(|reason| !tls || *reason != Reason::SpeaksTls)
        }
        None => None,
    };
    if let Some(reason) = found {
        failure.reason = reason;
        failure.message = match reason {
            Reason::SpeaksTls => "this port speaks TLS, and plaintext was configured",
            Reason::SpeaksPlaintext => "this port speaks plaintext, and TLS was configured",
            Reason::SpeaksHttp => "this is not Kafka: it answered HTTP",
            Reason::SpeaksSsh => "this is not Kafka: it answered SSH",
            _ => "this is not Kafka",
        }
        .to_owned();
    }
    looked
}

/// Says so where SASL failed for want of a token or a ticket: it was not the broker at `host` that refused.
pub(super) async fn without_token(
    probe: &Probe,
    host: &str,
    environment: &Environment,
    mut looked: Step,
) -> Step {
    if let (Some(failure), Some(sasl)) = (&mut looked.failure, &probe.settings.security.sasl)
        && failure.code.is_none()
        && failure.reason != Reason::OutOfTime
    {
        let (started, end) = (Instant::now(), probe.phase_end());
        let reason = if sasl.mechanism() == "GSSAPI" { Reason::NoTicket } else { Reason::NoToken };
        match timeout_at(end, sasl.begin(host, environment)).await {
            Ok(Err(error)) => (failure.reason, failure.message) = (reason, error.message().to_owned()),
            // Once more not within the time that it should take.
            Err(_) if end >= started + probe.step => failure.reason = reason,
            Ok(Ok(_)) | Err(_) => {}
        }
    }
    looked
}

/// Whether Kafka answers at a port without TLS.
async fn speaks_plaintext(probe: &Probe, address: SocketAddr) -> bool {
    let mut settings = probe.settings.clone();
    settings.security = Arc::default();
    let endpoint = Endpoint { host: address.ip().to_string(), port: address.port() };
    let asked = async {
        let mut opening = ConnectionSetup::tcp(&endpoint, address, &settings, &probe.environment).await?;
        opening.api_versions().await.map(drop)
    };
    matches!(timeout_at(probe.phase_end(), asked).await, Ok(Ok(())))
}

/// The mechanisms that a listener offers; none if it has no SASL. A mechanism that does not exist
/// is asked for, and the refusal lists those that do.
pub(super) async fn offered_mechanisms(
    probe: &Probe,
    endpoint: &Endpoint,
    address: SocketAddr,
) -> Option<Vec<String>> {
    let asked = async {
        let (settings, environment) = (&probe.settings, &probe.environment);
        let mut opening = ConnectionSetup::tcp(endpoint, address, settings, environment).await.ok()?;
        opening.tls().await.ok()?;
        opening.api_versions().await.ok()?;
        let connection = establish(opening, None, environment).ok()?;
        let version = connection.version::<SaslHandshakeRequest>(i16::MAX).ok()?;
        let request = SaslHandshakeRequest { mechanism: "OTTLA-DOCTOR".to_owned() };
        let response = connection.request(&request, version).await.ok()?;
        let refused = ErrorCode::from(response.error_code) == ErrorCode::UnsupportedSaslMechanism;
        let named = response.mechanisms.iter().take(MECHANISMS).map(|name| printable(name));
        refused.then(|| named.collect())
    };
    timeout_at(probe.phase_end(), asked).await.ok()?
}

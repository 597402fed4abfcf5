//! Finds the cause of a failed step if its own error does not show it, by probing the port in another way.
//!
//! Invariant: every wait ends with the step's deadline.

use std::net::SocketAddr;
use std::sync::Arc;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::sasl_handshake::SaslHandshakeRequest;
use tokio::time::{Instant, timeout_at};

use super::check::{Check, Reason};
use super::facts::Step;
use super::{ProbeContext, dedicated_connection};
use crate::connection::setup::ConnectionSetup;
use crate::doctor::protocol_probe::probe_protocol;
use crate::doctor::recording_network::Recording;
use crate::endpoint::Endpoint;
use crate::environment::Environment;
use crate::printable::printable;

/// Mechanisms of one listener that are listed at most.
const MAX_MECHANISMS: usize = 32;

/// Replaces the failure of a step by the protocol that the port speaks instead, if that can be detected.
pub(super) async fn explain(
    probe: &ProbeContext,
    endpoint: &Endpoint,
    address: SocketAddr,
    recording: &Recording,
    mut checked: Step,
) -> Step {
    let Some(failure) = &mut checked.failure else { return checked };
    let tls = checked.check == Check::Tls;
    let detected = match recording.detected_protocol() {
        // A failed TLS handshake is still TLS.
        Some(Reason::SpeaksTls) if tls => None,
        Some(reason) => Some(reason),
        None if tls && speaks_plaintext(probe, endpoint, address).await => Some(Reason::SpeaksPlaintext),
        None if matches!(failure.reason, Reason::TimedOut | Reason::Closed) => {
            let detected = probe_protocol(probe, endpoint, address).await;
            detected.filter(|reason| !tls || *reason != Reason::SpeaksTls)
        }
        None => None,
    };
    if let Some(reason) = detected {
        failure.reason = reason;
        failure.message = match reason {
            Reason::SpeaksTls => "this port speaks TLS, but plaintext is configured",
            Reason::SpeaksPlaintext => "this port speaks plaintext, but TLS is configured",
            Reason::SpeaksHttp => "this is not Kafka: it speaks HTTP",
            Reason::SpeaksSsh => "this is not Kafka: it speaks SSH",
            _ => "this is not Kafka",
        }
        .to_owned();
    }
    checked
}

/// Recognises a SASL failure that is due to a missing token or ticket, not to the broker at `host`.
pub(super) async fn explain_missing_token(
    probe: &ProbeContext,
    host: &str,
    environment: &Environment,
    mut checked: Step,
) -> Step {
    if let (Some(failure), Some(sasl)) = (&mut checked.failure, &probe.settings.security.sasl)
        && failure.code.is_none()
        && failure.reason != Reason::OutOfTime
    {
        let (started, end) = (Instant::now(), probe.step_deadline());
        let reason = if sasl.mechanism() == "GSSAPI" { Reason::NoTicket } else { Reason::NoToken };
        match timeout_at(end, sasl.start(host, environment)).await {
            Ok(Err(error)) => (failure.reason, failure.message) = (reason, error.message().to_owned()),
            // Timed out again, with a full step's time.
            Err(_) if end >= started + probe.step_timeout => failure.reason = reason,
            Ok(Ok(_)) | Err(_) => {}
        }
    }
    checked
}

/// Whether a port speaks Kafka without TLS.
async fn speaks_plaintext(probe: &ProbeContext, endpoint: &Endpoint, address: SocketAddr) -> bool {
    let mut settings = probe.settings.clone();
    settings.security = Arc::default();
    let negotiation = async {
        let mut opening = ConnectionSetup::tcp(endpoint, address, &settings, &probe.environment).await?;
        opening.proxy().await?;
        opening.api_versions().await.map(drop)
    };
    matches!(timeout_at(probe.step_deadline(), negotiation).await, Ok(Ok(())))
}

/// The mechanisms that a listener offers; `None` if it does not use SASL. Requests a mechanism that does
/// not exist: the broker's error lists those that do.
pub(super) async fn offered_mechanisms(
    probe: &ProbeContext,
    endpoint: &Endpoint,
    address: SocketAddr,
) -> Option<Vec<String>> {
    let handshake = async {
        let connection = dedicated_connection::connect_without_sasl(probe, endpoint, address).await.ok()?;
        let version = connection.version::<SaslHandshakeRequest>(i16::MAX).ok()?;
        let request = SaslHandshakeRequest { mechanism: "OTTLA-DOCTOR".to_owned() };
        let response = connection.request(&request, version).await.ok()?;
        let unsupported = ErrorCode::from(response.error_code) == ErrorCode::UnsupportedSaslMechanism;
        let mechanisms = response.mechanisms.iter().take(MAX_MECHANISMS).map(|name| printable(name));
        unsupported.then(|| mechanisms.collect())
    };
    timeout_at(probe.step_deadline(), handshake).await.ok()?
}

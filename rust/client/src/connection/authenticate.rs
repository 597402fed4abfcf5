//! SASL authentication: negotiates the mechanism, runs the exchange and returns the session's lifetime.
//!
//! Used by a new connection (`setup.rs`) and for reauthentication (KIP-368). Invariant: a refusal is an
//! authentication error that quotes the broker's message, escaped.

use std::future::Future;

use bytes::Bytes;
use ottla_protocol::messages::sasl_authenticate::SaslAuthenticateRequest;
use ottla_protocol::messages::sasl_handshake::SaslHandshakeRequest;
use ottla_protocol::{ErrorCode, Request};
use tokio::time::Duration;

use super::ApiRange;
use crate::environment::Environment;
use crate::error::{Error, Kind, Phase, Result};
use crate::printable::printable;
use crate::security::Sasl;

/// Upper bound on an exchange's messages; no mechanism needs as many.
const MAX_STEPS: usize = 16;

/// A connection that SASL requests are sent on: one being set up, or an open one reserved for the
/// exchange.
pub trait SaslChannel {
    /// The broker's address, for error messages.
    fn address(&self) -> &str;
    /// The broker's host name, as configured or advertised.
    fn host(&self) -> &str;
    /// The APIs that the broker supports.
    fn apis(&self) -> &[ApiRange];
    /// Sends a request and waits for the response.
    fn send<R: Request + Sync>(&mut self, request: &R) -> impl Future<Output = Result<R::Response>> + Send;
}

/// The result of an authentication.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SaslInfo {
    /// The mechanism in use.
    pub mechanism: &'static str,
    /// The mechanisms that the broker offers.
    pub offered: Vec<String>,
    /// The session's lifetime; `None` if it does not expire.
    pub lifetime: Option<Duration>,
}

/// Authenticates with the configured mechanism.
///
/// # Errors
/// [`Kind::Authentication`] if the broker refuses the credentials or the mechanism; those of the channel.
pub async fn authenticate(
    broker: &mut (impl SaslChannel + Send),
    sasl: &Sasl,
    environment: &Environment,
) -> Result<SaslInfo> {
    let mechanism = sasl.mechanism();
    let (address, host) = (broker.address().to_owned(), broker.host().to_owned());
    let at = |error: Error| match error.context().phase {
        Some(_) => error,
        None => error.phase(Phase::Sasl).address(&address),
    };
    let offered = handshake(broker, mechanism).await.map_err(at)?;
    let (mut conversation, mut message) = sasl.start(&host, environment).await.map_err(at)?;
    for _ in 0..MAX_STEPS {
        let response = broker.send(&SaslAuthenticateRequest { auth_bytes: message }).await.map_err(at)?;
        if let Err(code) = ErrorCode::from(response.error_code).ok() {
            sasl.discard_credentials().await;
            return Err(at(sasl_error(code, sasl, response.error_message.as_deref())));
        }
        let challenge: Bytes = response.auth_bytes.0;
        match conversation.reply(challenge).await.map_err(at)? {
            Some(next) => message = next,
            None => {
                let lifetime = u64::try_from(response.session_lifetime_ms).ok().filter(|millis| *millis > 0);
                return Ok(SaslInfo { mechanism, offered, lifetime: lifetime.map(Duration::from_millis) });
            }
        }
    }
    Err(at(Error::new(
        Kind::Authentication,
        format!("{mechanism}: the exchange did not end within {MAX_STEPS} messages"),
    )))
}

/// Selects the mechanism with a SaslHandshake request, and returns the mechanisms that the broker
/// offers.
async fn handshake(broker: &mut impl SaslChannel, mechanism: &str) -> Result<Vec<String>> {
    let needed = [SaslHandshakeRequest::API, SaslAuthenticateRequest::API];
    let spoken = needed.iter().all(|api| broker.apis().iter().any(|range| range.api == *api));
    if !spoken {
        let message = "this broker does not support SaslAuthenticate (Kafka 1.0): set security.protocol to what the listener speaks";
        return Err(Error::new(Kind::Authentication, message));
    }
    let response = broker.send(&SaslHandshakeRequest { mechanism: mechanism.to_owned() }).await?;
    let offered: Vec<String> = response.mechanisms.iter().take(32).map(|name| printable(name)).collect();
    match ErrorCode::from(response.error_code) {
        ErrorCode::None => Ok(offered),
        code @ ErrorCode::UnsupportedSaslMechanism => {
            let message = format!(
                "the broker does not offer sasl.mechanism={mechanism}; it offers {}",
                if offered.is_empty() { "none".to_owned() } else { offered.join(", ") }
            );
            Err(Error::with_code(code, message))
        }
        code @ ErrorCode::IllegalSaslState => Err(Error::with_code(
            code,
            "this listener does not use SASL: set security.protocol=PLAINTEXT, or SSL if it speaks TLS",
        )),
        code => Err(Error::from_code(code).as_kind(Kind::Authentication)),
    }
}

fn sasl_error(code: ErrorCode, sasl: &Sasl, message: Option<&str>) -> Error {
    let mechanism = sasl.mechanism();
    let said =
        message.map(|message| format!(": the broker says \"{}\"", printable(message))).unwrap_or_default();
    match code {
        ErrorCode::SaslAuthenticationFailed => Error::with_code(
            code,
            format!("the credentials for {mechanism} were refused{said}; {}", sasl.advice()),
        ),
        code => Error::with_code(
            code,
            format!("authenticating with {mechanism} failed with {}{said}", code.name()),
        )
        .as_kind(Kind::Authentication),
    }
}

//! SASL on a connection: choose the mechanism, carry the exchange, learn how long it counts.
//!
//! The same exchange serves a connection that comes up and one that authenticates again (KIP-368).
//! Invariant: a refusal is an authentication error with the broker's own words, escaped.

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

/// More messages than any mechanism needs.
const MAX_STEPS: usize = 16;

/// Whom to ask: a connection on its way up, or one that is up and held still.
pub(super) trait Ask {
    /// Where the broker is, in words.
    fn address(&self) -> &str;
    /// The host that it is known by.
    fn host(&self) -> &str;
    /// What it speaks.
    fn apis(&self) -> &[ApiRange];
    /// Sends a request, waits for the answer.
    fn ask<R: Request + Sync>(&mut self, request: &R) -> impl Future<Output = Result<R::Response>> + Send;
}

/// What came of authenticating.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SaslInfo {
    /// The mechanism that was used.
    pub mechanism: &'static str,
    /// The mechanisms that the broker offers.
    pub offered: Vec<String>,
    /// How long the session lives; `None` if it does not end.
    pub lifetime: Option<Duration>,
}

/// Authenticates.
pub(super) async fn authenticate(
    broker: &mut (impl Ask + Send),
    sasl: &Sasl,
    environment: &Environment,
) -> Result<SaslInfo> {
    let mechanism = sasl.mechanism();
    let (place, host) = (broker.address().to_owned(), broker.host().to_owned());
    let at = |error: Error| match error.context().phase {
        Some(_) => error,
        None => error.phase(Phase::Sasl).address(&place),
    };
    let offered = choose(broker, mechanism).await.map_err(at)?;
    let (mut exchange, mut message) = sasl.start(&host, environment).await.map_err(at)?;
    for _ in 0..MAX_STEPS {
        let answer = broker.ask(&SaslAuthenticateRequest { auth_bytes: message }).await.map_err(at)?;
        if let Err(code) = ErrorCode::from(answer.error_code).ok() {
            sasl.discard_credentials().await;
            return Err(at(refusal(code, mechanism, answer.error_message.as_deref())));
        }
        let challenge: Bytes = answer.auth_bytes.0;
        match exchange.reply(challenge).await.map_err(at)? {
            Some(next) => message = next,
            None => {
                let lifetime = u64::try_from(answer.session_lifetime_ms).ok().filter(|millis| *millis > 0);
                return Ok(SaslInfo { mechanism, offered, lifetime: lifetime.map(Duration::from_millis) });
            }
        }
    }
    Err(at(Error::new(Kind::Authentication, format!("{mechanism}: the broker never comes to an end"))))
}

/// Tells the broker which mechanism is to come; the mechanisms that it offers.
async fn choose(broker: &mut impl Ask, mechanism: &str) -> Result<Vec<String>> {
    let needed = [SaslHandshakeRequest::API, SaslAuthenticateRequest::API];
    let spoken = needed.iter().all(|api| broker.apis().iter().any(|range| range.api == *api));
    if !spoken {
        let words = "this broker does not speak SASL as Kafka has it since 1.0: set security.protocol to what the listener speaks";
        return Err(Error::new(Kind::Authentication, words));
    }
    let answer = broker.ask(&SaslHandshakeRequest { mechanism: mechanism.to_owned() }).await?;
    let offered: Vec<String> = answer.mechanisms.iter().take(32).map(|name| printable(name)).collect();
    match ErrorCode::from(answer.error_code) {
        ErrorCode::None => Ok(offered),
        code @ ErrorCode::UnsupportedSaslMechanism => {
            let words = format!(
                "the broker does not offer sasl.mechanism={mechanism}; it offers {}",
                if offered.is_empty() { "none".to_owned() } else { offered.join(", ") }
            );
            Err(Error::told(code, words))
        }
        code @ ErrorCode::IllegalSaslState => Err(Error::told(
            code,
            "this listener does not use SASL: set security.protocol=PLAINTEXT, or SSL if it speaks TLS",
        )),
        code => Err(Error::from_code(code).as_kind(Kind::Authentication)),
    }
}

fn refusal(code: ErrorCode, mechanism: &str, message: Option<&str>) -> Error {
    let said = message.map(|words| format!(": the broker says \"{}\"", printable(words))).unwrap_or_default();
    match code {
        ErrorCode::SaslAuthenticationFailed => Error::told(
            code,
            format!(
                "the credentials for {mechanism} were refused{said}; check the user name and the password, or the token"
            ),
        ),
        code => {
            Error::told(code, format!("authenticating with {mechanism} failed with {}{said}", code.name()))
                .as_kind(Kind::Authentication)
        }
    }
}

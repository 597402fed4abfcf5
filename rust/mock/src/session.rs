//! A connection's SASL session, as a broker handles it.
//!
//! Invariant: only ApiVersions and SASL requests are handled before authentication, during an exchange, and
//! after the session has expired (KIP-368); any other request closes the connection.

use std::time::Duration;

use bytes::Bytes;
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::time::Instant;

use crate::config::{SaslConfig, SaslMechanism};
use crate::scram;
use crate::state::ClusterState;

/// One connection's session.
#[derive(Debug, Default)]
pub(crate) struct Session {
    state: State,
    user: Option<String>,
    expires: Option<Instant>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    New,
    HandshakeDone(SaslMechanism),
    ScramStarted(Box<scram::Server>),
    TokenRefused,
    Authenticated,
}

/// The result of one SaslAuthenticate, or an error message.
pub(crate) type SaslResult = Result<SaslStep, String>;

/// An accepted step of a SASL exchange.
#[derive(Debug, Default)]
pub(crate) struct SaslStep {
    pub(crate) auth_bytes: Bytes,
    pub(crate) lifetime: Duration,
}

impl Session {
    /// Whether a request is allowed now.
    pub(crate) fn allows(&self, sasl: Option<&SaslConfig>, api: ApiKey) -> bool {
        if sasl.is_none() {
            return true;
        }
        match (&self.state, api) {
            (State::New | State::Authenticated, ApiKey::SaslHandshake | ApiKey::ApiVersions) => true,
            (State::HandshakeDone(_) | State::ScramStarted(_) | State::TokenRefused, api) => {
                api == ApiKey::SaslAuthenticate
            }
            (State::New, _) | (_, ApiKey::SaslAuthenticate) => false,
            (State::Authenticated, _) => self.expires.is_none_or(|expires| Instant::now() < expires),
        }
    }

    /// Handles SaslHandshake.
    pub(crate) fn handshake(&mut self, sasl: Option<&SaslConfig>, mechanism: &str) -> Result<(), ErrorCode> {
        let sasl = sasl.ok_or(ErrorCode::IllegalSaslState)?;
        let chosen = sasl.mechanisms.iter().find(|offered| offered.name() == mechanism);
        self.state = State::HandshakeDone(*chosen.ok_or(ErrorCode::UnsupportedSaslMechanism)?);
        Ok(())
    }

    /// Handles SaslAuthenticate. After a failure, the connection accepts nothing more.
    pub(crate) fn authenticate(&mut self, state: &ClusterState, message: &[u8]) -> SaslResult {
        let failed = |mechanism: SaslMechanism| {
            format!(
                "Authentication failed during authentication due to invalid credentials with SASL mechanism {}",
                mechanism.name()
            )
        };
        let (user, auth_bytes) = match std::mem::take(&mut self.state) {
            State::HandshakeDone(SaslMechanism::Plain) => {
                let user = plain(state, message);
                (user.ok_or_else(|| failed(SaslMechanism::Plain))?, Bytes::new())
            }
            State::HandshakeDone(SaslMechanism::OAuthBearer) => match bearer(state, message) {
                Some(user) => (user, Bytes::new()),
                None => {
                    self.state = State::TokenRefused;
                    let auth_bytes = Bytes::from_static(INVALID_TOKEN.as_bytes());
                    return Ok(SaslStep { auth_bytes, lifetime: Duration::ZERO });
                }
            },
            State::TokenRefused => return Err(INVALID_TOKEN.to_owned()),
            State::HandshakeDone(mechanism) => {
                let password = |user: &str| state.users.get(user).cloned();
                let started = scram::Server::start(mechanism, message, password);
                let (server, first) = started.ok_or_else(|| failed(mechanism))?;
                self.state = State::ScramStarted(Box::new(server));
                return Ok(SaslStep { auth_bytes: first.into(), lifetime: Duration::ZERO });
            }
            State::ScramStarted(server) => {
                let last = server.finish(message).ok_or_else(|| failed(server.mechanism))?;
                (server.user, last.into())
            }
            State::New | State::Authenticated => return Err("Unexpected SaslAuthenticate request".to_owned()),
        };
        if self.user.as_ref().is_some_and(|before| *before != user) {
            return Err("Cannot change principals during re-authentication".to_owned());
        }
        self.user = Some(user);
        self.state = State::Authenticated;
        let lifetime = state.config.sasl.as_ref().and_then(|sasl| sasl.session_lifetime);
        self.expires = lifetime.map(|lifetime| Instant::now() + lifetime);
        Ok(SaslStep { auth_bytes, lifetime: lifetime.unwrap_or_default() })
    }
}

/// RFC 7628, section 3.2.2.
const INVALID_TOKEN: &str = r#"{"status":"invalid_token"}"#;

/// The user whose password is the token.
fn bearer(state: &ClusterState, message: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(message).ok()?.strip_prefix("n,,\u{1}auth=Bearer ")?;
    let token = text.strip_suffix("\u{1}\u{1}")?.split('\u{1}').next()?;
    state.users.iter().find(|(_, password)| *password == token).map(|(user, _)| user.clone())
}

/// The user of a PLAIN message: `[authorization id] NUL user NUL password`.
fn plain(state: &ClusterState, message: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(message).ok()?;
    let mut parts = text.split('\0');
    let (id, user, password) = (parts.next()?, parts.next()?, parts.next()?);
    let known = state.users.get(user).is_some_and(|known| known == password);
    (known && (id.is_empty() || id == user) && parts.next().is_none()).then(|| user.to_owned())
}

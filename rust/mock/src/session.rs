//! A connection's SASL session, as a broker handles it.
//!
//! Invariant: only ApiVersions and SASL requests are handled before authentication, during an exchange, and
//! after the session has expired (KIP-368); any other request closes the connection.

use std::time::Duration;

use bytes::Bytes;
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::time::Instant;

use crate::clock::now_ms;
use crate::config::{SaslConfig, SaslMechanism};
use crate::scram::{self, ClientFirst, ScramMechanism};
use crate::state::{ClusterState, Principal};

/// One connection's session.
#[derive(Debug, Default)]
pub(crate) struct Session {
    state: State,
    principal: Option<Principal>,
    /// Whether a delegation token authenticated the user.
    has_token: bool,
    /// Whether the messages of the exchange come without headers: after SaslHandshake version 0.
    is_headerless: bool,
    expires: Option<Instant>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    New,
    HandshakeDone(SaslMechanism),
    ScramStarted(Box<ScramExchange>),
    TokenRefused,
    Authenticated,
}

/// A SCRAM exchange, and the user that it authenticates.
#[derive(Debug)]
struct ScramExchange {
    server: scram::Server,
    principal: Principal,
    is_token: bool,
}

/// The result of one SaslAuthenticate, or an error message.
pub(crate) type SaslResult = Result<SaslStep, String>;

/// An accepted step of a SASL exchange.
#[derive(Debug, Default)]
pub(crate) struct SaslStep {
    pub(crate) auth_bytes: Bytes,
    pub(crate) lifetime: Duration,
}

/// The user of connections that are not authenticated.
pub(crate) const ANONYMOUS: &str = "ANONYMOUS";

impl Session {
    /// The authenticated user.
    pub(crate) fn principal(&self) -> Option<&Principal> {
        self.principal.as_ref()
    }

    /// The user that may request delegation tokens: one that no token has authenticated.
    pub(crate) fn token_user(&self) -> Option<&Principal> {
        self.principal.as_ref().filter(|_| !self.has_token)
    }

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
    pub(crate) fn handshake(
        &mut self,
        sasl: Option<&SaslConfig>,
        mechanism: &str,
        version: i16,
    ) -> Result<(), ErrorCode> {
        let sasl = sasl.ok_or(ErrorCode::IllegalSaslState)?;
        let chosen = sasl.mechanisms.iter().find(|offered| offered.name() == mechanism);
        self.state = State::HandshakeDone(*chosen.ok_or(ErrorCode::UnsupportedSaslMechanism)?);
        self.is_headerless = version == 0;
        Ok(())
    }

    /// Whether the next frame is a message of the exchange without a header.
    pub(crate) fn expects_token(&self) -> bool {
        self.is_headerless && !matches!(self.state, State::New | State::Authenticated)
    }

    /// Handles SaslAuthenticate. After a failure, the connection accepts nothing more.
    pub(crate) fn authenticate(&mut self, state: &ClusterState, message: &[u8]) -> SaslResult {
        let mut has_token = false;
        let (principal, auth_bytes) = match std::mem::take(&mut self.state) {
            State::HandshakeDone(SaslMechanism::Plain) => {
                (Principal::user(plain(state, message).ok_or_else(|| failed("PLAIN"))?), Bytes::new())
            }
            State::HandshakeDone(SaslMechanism::OAuthBearer) => match bearer(state, message) {
                Some(user) => (Principal::user(user), Bytes::new()),
                None => {
                    self.state = State::TokenRefused;
                    let auth_bytes = Bytes::from_static(INVALID_TOKEN.as_bytes());
                    return Ok(SaslStep { auth_bytes, lifetime: Duration::ZERO });
                }
            },
            State::TokenRefused => return Err(INVALID_TOKEN.to_owned()),
            State::HandshakeDone(SaslMechanism::ScramSha256) => {
                return self.start_scram(state, ScramMechanism::Sha256, message);
            }
            State::HandshakeDone(SaslMechanism::ScramSha512) => {
                return self.start_scram(state, ScramMechanism::Sha512, message);
            }
            State::ScramStarted(exchange) => {
                let last = exchange.server.finish(message);
                let last = last.ok_or_else(|| failed(exchange.server.mechanism.name()))?;
                has_token = exchange.is_token;
                (exchange.principal, last.into())
            }
            State::New | State::Authenticated => return Err("Unexpected SaslAuthenticate request".to_owned()),
        };
        if self.principal.as_ref().is_some_and(|before| *before != principal) {
            return Err("Cannot change principals during re-authentication".to_owned());
        }
        self.principal = Some(principal);
        self.has_token = has_token;
        self.state = State::Authenticated;
        let lifetime = state.config.sasl.as_ref().and_then(|sasl| sasl.session_lifetime);
        self.expires = lifetime.map(|lifetime| Instant::now() + lifetime);
        Ok(SaslStep { auth_bytes, lifetime: lifetime.unwrap_or_default() })
    }

    fn start_scram(&mut self, state: &ClusterState, mechanism: ScramMechanism, first: &[u8]) -> SaslResult {
        let start = || {
            let first = ClientFirst::parse(first)?;
            let (principal, credential) = if first.is_token {
                let (owner, credential) = state.tokens.login(&first.user, mechanism, now_ms())?;
                (owner.clone(), credential)
            } else {
                (Principal::user(&first.user), state.users.credential(&first.user, mechanism)?)
            };
            let (server, response) = scram::Server::start(mechanism, &first, credential)?;
            Some((ScramExchange { server, principal, is_token: first.is_token }, response))
        };
        let (exchange, response) = start().ok_or_else(|| failed(mechanism.name()))?;
        self.state = State::ScramStarted(Box::new(exchange));
        Ok(SaslStep { auth_bytes: response.into(), lifetime: Duration::ZERO })
    }
}

fn failed(mechanism: &str) -> String {
    format!(
        "Authentication failed during authentication due to invalid credentials with SASL mechanism {mechanism}"
    )
}

/// RFC 7628, section 3.2.2.
const INVALID_TOKEN: &str = r#"{"status":"invalid_token"}"#;

/// The user whose password is the token.
fn bearer(state: &ClusterState, message: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(message).ok()?.strip_prefix("n,,\u{1}auth=Bearer ")?;
    let token = text.strip_suffix("\u{1}\u{1}")?.split('\u{1}').next()?;
    state.users.with_token(token).map(str::to_owned)
}

/// The user of a PLAIN message: `[authorization id] NUL user NUL password`.
fn plain(state: &ClusterState, message: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(message).ok()?;
    let mut parts = text.split('\0');
    let (id, user, password) = (parts.next()?, parts.next()?, parts.next()?);
    let known = state.users.password(user) == Some(password);
    (known && (id.is_empty() || id == user) && parts.next().is_none()).then(|| user.to_owned())
}

//! Who a connection is, where the cluster wants to know: SASL as a broker speaks it.
//!
//! Invariant: nothing but ApiVersions and SASL is answered before the credentials were accepted,
//! during an exchange, or after the session's end (KIP-368); such a request ends the connection.

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
    ends: Option<Instant>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    New,
    Chosen(SaslMechanism),
    Challenged(Box<scram::Server>),
    TokenRefused,
    Authenticated,
}

/// What comes of one message of the client.
pub(crate) type Step = Result<Accepted, String>;

/// A step that the broker accepts.
#[derive(Debug, Default)]
pub(crate) struct Accepted {
    pub(crate) answer: Bytes,
    pub(crate) lifetime: Duration,
}

impl Session {
    /// Whether a request may be answered now.
    pub(crate) fn allows(&self, sasl: Option<&SaslConfig>, api: ApiKey) -> bool {
        if sasl.is_none() {
            return true;
        }
        match (&self.state, api) {
            (State::New | State::Authenticated, ApiKey::SaslHandshake | ApiKey::ApiVersions) => true,
            (State::Chosen(_) | State::Challenged(_) | State::TokenRefused, api) => {
                api == ApiKey::SaslAuthenticate
            }
            (State::New, _) | (_, ApiKey::SaslAuthenticate) => false,
            (State::Authenticated, _) => self.ends.is_none_or(|ends| Instant::now() < ends),
        }
    }

    /// SaslHandshake.
    pub(crate) fn choose(&mut self, sasl: Option<&SaslConfig>, mechanism: &str) -> Result<(), ErrorCode> {
        let sasl = sasl.ok_or(ErrorCode::IllegalSaslState)?;
        let chosen = sasl.mechanisms.iter().find(|offered| offered.name() == mechanism);
        self.state = State::Chosen(*chosen.ok_or(ErrorCode::UnsupportedSaslMechanism)?);
        Ok(())
    }

    /// SaslAuthenticate. After a refusal the connection is of no use.
    pub(crate) fn step(&mut self, state: &ClusterState, message: &[u8]) -> Step {
        let refused = |mechanism: SaslMechanism| {
            format!(
                "Authentication failed during authentication due to invalid credentials with SASL mechanism {}",
                mechanism.name()
            )
        };
        let (user, answer) = match std::mem::take(&mut self.state) {
            State::Chosen(SaslMechanism::Plain) => {
                let user = plain(state, message);
                (user.ok_or_else(|| refused(SaslMechanism::Plain))?, Bytes::new())
            }
            State::Chosen(SaslMechanism::OAuthBearer) => match bearer(state, message) {
                Some(user) => (user, Bytes::new()),
                None => {
                    self.state = State::TokenRefused;
                    let answer = Bytes::from_static(INVALID_TOKEN.as_bytes());
                    return Ok(Accepted { answer, lifetime: Duration::ZERO });
                }
            },
            State::TokenRefused => return Err(INVALID_TOKEN.to_owned()),
            State::Chosen(mechanism) => {
                let password = |user: &str| state.users.get(user).cloned();
                let started = scram::Server::start(mechanism, message, password);
                let (server, first) = started.ok_or_else(|| refused(mechanism))?;
                self.state = State::Challenged(Box::new(server));
                return Ok(Accepted { answer: first.into(), lifetime: Duration::ZERO });
            }
            State::Challenged(server) => {
                let last = server.finish(message).ok_or_else(|| refused(server.mechanism))?;
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
        self.ends = lifetime.map(|lifetime| Instant::now() + lifetime);
        Ok(Accepted { answer, lifetime: lifetime.unwrap_or_default() })
    }
}

/// RFC 7628, 3.2.2.
const INVALID_TOKEN: &str = r#"{"status":"invalid_token"}"#;

/// The user whose password the token is.
fn bearer(state: &ClusterState, message: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(message).ok()?.strip_prefix("n,,\u{1}auth=Bearer ")?;
    let token = text.strip_suffix("\u{1}\u{1}")?.split('\u{1}').next()?;
    state.users.iter().find(|(_, password)| *password == token).map(|(user, _)| user.clone())
}

/// The user whose password was given: `[authorization id] NUL user NUL password`.
fn plain(state: &ClusterState, message: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(message).ok()?;
    let mut parts = text.split('\0');
    let (id, user, password) = (parts.next()?, parts.next()?, parts.next()?);
    let known = state.users.get(user).is_some_and(|known| known == password);
    (known && (id.is_empty() || id == user) && parts.next().is_none()).then(|| user.to_owned())
}

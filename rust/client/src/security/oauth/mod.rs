//! OAUTHBEARER (RFC 7628, KIP-255): the token cache of a client and its sources.
//!
//! Tokens come from the application's `TokenProvider`, or from a token endpoint (`oidc`) by client id and secret or
//! by an `assertion`, which a `signing_key` signs. Invariants: at most one token request at a time, which all
//! waiting connections share; a token is renewed before it expires, and used until it expires if it
//! cannot be renewed; a token that a broker rejected is not used again.

mod assertion;
mod oidc;
mod signing_key;

use std::time::{Duration, SystemTime};

use tokio::sync::Mutex;
use tokio::time::Instant;

pub(super) use oidc::Oidc;

use super::NAME_A_PROVIDER;
use super::config_error;
use super::jaas::Jaas;
use crate::config::Config;
use crate::environment::{Environment, Token};
use crate::error::{Error, Kind, Result};
use crate::retry::recovery_line;
use crate::retry::warning_pace::WarningPace;
use crate::secret::Secret;

/// The longest token in bytes.
const MAX_TOKEN: usize = 64 * 1024;
/// The fraction of a token's lifetime after which it is renewed, and the random part that is added to it, which spreads
/// the load of many clients; both as in Java.
const REFRESH_AT: f64 = 0.8;
const REFRESH_JITTER: f64 = 0.05;

/// The token of one client and its source.
#[derive(Debug)]
pub(in crate::security) struct TokenCache {
    oidc: Option<Oidc>,
    extensions: Vec<(String, String)>,
    cached: Mutex<Option<CachedToken>>,
}

#[derive(Debug)]
struct CachedToken {
    token: Token,
    renew_at: SystemTime,
    failing: Option<FailedRenewals>,
}

/// Renewals that failed while the token was still good.
#[derive(Debug)]
struct FailedRenewals {
    since: Instant,
    pace: WarningPace,
}

impl FailedRenewals {
    fn new(now: Instant) -> Self {
        Self { since: now, pace: WarningPace::new(now) }
    }
}

impl TokenCache {
    pub(super) fn from_config(config: &Config, jaas: Option<&Jaas>) -> Result<Self> {
        let class = &config.sasl_login_callback_handler_class;
        if !class.is_empty() && !class.ends_with(".OAuthBearerLoginCallbackHandler") {
            return Err(config_error(format!(
                "sasl.login.callback.handler.class={class}: no class is loaded; remove the key, and {NAME_A_PROVIDER}"
            )));
        }
        if jaas.is_some_and(|jaas| jaas.with_prefix("unsecuredLogin").next().is_some()) {
            return Err(config_error(
                "sasl.jaas.config: unsecured tokens are not supported; return one from a token callback or from sasl.oauthbearer.token.provider",
            ));
        }
        let options = jaas.into_iter().flat_map(|jaas| jaas.with_prefix("extension_"));
        let extensions: Vec<_> =
            options.map(|(name, value)| (name.to_owned(), value.expose().to_owned())).collect();
        check_extensions(&extensions).map_err(|why| config_error(format!("sasl.jaas.config: {why}")))?;
        Ok(Self { oidc: Oidc::from_config(config, jaas)?, extensions, cached: Mutex::new(None) })
    }

    /// Checks that there is a source of tokens, and that it may use its files.
    pub(super) fn check(&self, environment: &Environment) -> Result<()> {
        match (&environment.token_provider, &self.oidc) {
            (Some(_), _) => Ok(()),
            (None, Some(oidc)) => oidc.prepare(environment),
            (None, None) => Err(no_source()),
        }
    }

    /// The client's first message, with a valid token.
    pub(super) async fn message(&self, environment: &Environment) -> Result<Secret> {
        let token = self.token(environment).await?;
        let mut message = format!("n,,\u{1}auth=Bearer {}\u{1}", token.value.expose());
        for (name, value) in self.extensions.iter().chain(&token.extensions) {
            message.extend([name.as_str(), "=", value, "\u{1}"]);
        }
        message.push('\u{1}');
        Ok(Secret::new(message))
    }

    async fn token(&self, environment: &Environment) -> Result<Token> {
        // Held during the request, so that other connections wait for the same token.
        let mut cached = self.cached.lock().await;
        let now = environment.now();
        if let Some(cached) = &*cached
            && now < cached.renew_at
        {
            return Ok(cached.token.clone());
        }
        let fetched = match (&environment.token_provider, &self.oidc) {
            (Some(provider), _) => provider.token().await,
            (None, Some(oidc)) => oidc.token(environment).await,
            (None, None) => Err(no_source()),
        };
        match fetched.and_then(|token| check_token(&token).map(|()| token)) {
            Ok(token) => {
                if let Some(failing) = cached.take().and_then(|cached| cached.failing) {
                    let line = recovery_line(failing.since.elapsed(), "renewing the token");
                    tracing::info!(target: "ottla.connection", "{line}");
                }
                *cached = token.expires.map(|expires| {
                    let lifetime = expires.duration_since(now).unwrap_or(Duration::ZERO);
                    CachedToken {
                        token: token.clone(),
                        renew_at: now + lifetime.mul_f64(REFRESH_AT + REFRESH_JITTER * environment.random()),
                        failing: None,
                    }
                });
                Ok(token)
            }
            Err(error) => match &mut *cached {
                Some(cached) if cached.token.expires.is_some_and(|expires| now < expires) => {
                    let now = Instant::now();
                    let failing = cached.failing.get_or_insert_with(|| FailedRenewals::new(now));
                    if failing.pace.is_next(now) {
                        tracing::warn!(target: "ottla.connection", %error, "the token cannot be renewed; the current one is used until it expires");
                    }
                    Ok(cached.token.clone())
                }
                _ => Err(error),
            },
        }
    }

    /// Discards a token that a broker rejected.
    pub(super) async fn discard(&self) {
        *self.cached.lock().await = None;
    }
}

fn no_source() -> Error {
    let message = "sasl.mechanism=OAUTHBEARER needs a token: pass a token callback (sasl_oauth_token), name one in sasl.oauthbearer.token.provider, or set sasl.oauthbearer.token.endpoint.url with a client id and secret or an assertion";
    config_error(message)
}

fn unusable(why: &str) -> Error {
    Error::new(Kind::Authentication, format!("the token cannot be used: {why}"))
}

/// Allows only the characters of RFC 6750, so that a token cannot end its message early.
fn check_token(token: &Token) -> Result<()> {
    let value = token.value.expose();
    let body = value.trim_end_matches('=');
    let legal = |b: u8| b.is_ascii_alphanumeric() || b"-._~+/".contains(&b);
    if body.is_empty() || !body.bytes().all(legal) {
        return Err(unusable("it is empty, or contains characters that bearer tokens may not have"));
    }
    if value.len() > MAX_TOKEN {
        return Err(unusable(&format!("it has {} bytes, and {MAX_TOKEN} are allowed", value.len())));
    }
    check_extensions(&token.extensions).map_err(|why| unusable(&why))
}

fn check_extensions(extensions: &[(String, String)]) -> Result<(), String> {
    for (name, value) in extensions {
        if name == "auth" || name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphabetic()) {
            return Err("the name of a SASL extension may have letters only, and may not be auth".to_owned());
        }
        if !value.chars().all(|c| matches!(c, ' '..='~' | '\t' | '\r' | '\n')) {
            return Err(format!("the SASL extension {name} contains characters that are not allowed"));
        }
    }
    Ok(())
}

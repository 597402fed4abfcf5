//! OAUTHBEARER (RFC 7628, KIP-255): tokens, where they come from, and how they are kept.
//!
//! - `oidc` asks a token endpoint with a client's id and secret (KIP-768); `http` is how.
//! - [`TokenProvider`] is an application's own way to a token.
//!
//! Invariants: one request for a token at a time, whoever waits for it; a token is asked for anew
//! before it expires, and one that cannot be renewed is used while it lasts; one that a broker
//! refused is not offered again.

mod http;
mod oidc;

use std::fmt;
use std::time::{Duration, SystemTime};

use tokio::sync::Mutex;

pub(super) use oidc::Oidc;

use super::Secret;
use super::jaas::Jaas;
use crate::config::Config;
use crate::environment::{BoxFuture, Environment};
use crate::error::{Error, Kind, Result};

/// The way to tokens that Java has login modules and callback handlers for, such as those of AWS.
pub(super) const NAME_A_PROVIDER: &str = "name a Python callable that returns a token in sasl.oauthbearer.token.provider, as package.module:function, with sasl.mechanism=OAUTHBEARER (AWS MSK IAM and others: docs/guides/security.md)";

/// The longest token; a broker's frames are not endless either.
const MAX_TOKEN: usize = 64 * 1024;
/// The part of a token's life after which another one is asked for, as in Java.
const REFRESH_AT: f64 = 0.8;

/// A token.
#[derive(Debug, Clone)]
pub struct Token {
    /// The token itself, as it goes to the broker.
    pub value: Secret,
    /// Until when it is good; `None` if that is not known, and then it is used once.
    pub expires: Option<SystemTime>,
    /// SASL extensions (KIP-342).
    pub extensions: Vec<(String, String)>,
}

/// An application's way to a token.
pub trait TokenProvider: Send + Sync + fmt::Debug {
    /// A fresh token. Called once for all connections that need one; dropped at the deadline of
    /// the connection that waits for it.
    fn token(&self) -> BoxFuture<'_, Result<Token>>;
}

/// Tokens for one client.
#[derive(Debug)]
pub(in crate::security) struct Tokens {
    oidc: Option<Oidc>,
    extensions: Vec<(String, String)>,
    kept: Mutex<Option<Kept>>,
}

#[derive(Debug)]
struct Kept {
    token: Token,
    refresh: SystemTime,
}

impl Tokens {
    pub(super) fn from_config(config: &Config, jaas: Option<&Jaas>) -> Result<Self> {
        let class = &config.sasl_login_callback_handler_class;
        if !class.is_empty() && !class.ends_with(".OAuthBearerLoginCallbackHandler") {
            return Err(Error::new(
                Kind::Config,
                format!(
                    "sasl.login.callback.handler.class={class}: no class is loaded; leave it out, and {NAME_A_PROVIDER}"
                ),
            ));
        }
        if jaas.is_some_and(|jaas| jaas.with_prefix("unsecuredLogin").next().is_some()) {
            return Err(Error::new(
                Kind::Config,
                "sasl.jaas.config: unsecured tokens are not made here; have a token callback or sasl.oauthbearer.token.provider give one",
            ));
        }
        let given = jaas.into_iter().flat_map(|jaas| jaas.with_prefix("extension_"));
        let extensions: Vec<_> =
            given.map(|(name, value)| (name.to_owned(), value.expose().to_owned())).collect();
        check_extensions(&extensions)
            .map_err(|why| Error::new(Kind::Config, format!("sasl.jaas.config: {why}")))?;
        Ok(Self { oidc: Oidc::from_config(config, jaas)?, extensions, kept: Mutex::new(None) })
    }

    /// Whether there is anywhere to get a token from.
    pub(super) fn check(&self, environment: &Environment) -> Result<()> {
        if self.oidc.is_some() || environment.token_provider.is_some() {
            return Ok(());
        }
        Err(no_source())
    }

    /// The client's first message, with a token that is good.
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
        // Held while asking: who comes meanwhile waits for the same token.
        let mut kept = self.kept.lock().await;
        let now = environment.now();
        if let Some(kept) = &*kept
            && now < kept.refresh
        {
            return Ok(kept.token.clone());
        }
        let asked = match (&environment.token_provider, &self.oidc) {
            (Some(provider), _) => provider.token().await,
            (None, Some(oidc)) => oidc.token(environment).await,
            (None, None) => Err(no_source()),
        };
        match asked.and_then(|token| check_token(&token).map(|()| token)) {
            Ok(token) => {
                *kept = token.expires.map(|expires| {
                    let life = expires.duration_since(now).unwrap_or(Duration::ZERO);
                    Kept { token: token.clone(), refresh: now + life.mul_f64(REFRESH_AT) }
                });
                Ok(token)
            }
            Err(error) => match &*kept {
                Some(kept) if kept.token.expires.is_some_and(|expires| now < expires) => {
                    tracing::warn!(target: "ottla.connection", %error, "no new token; the old one is good for a while");
                    Ok(kept.token.clone())
                }
                _ => Err(error),
            },
        }
    }

    /// Forgets a token that a broker refused.
    pub(super) async fn forget(&self) {
        *self.kept.lock().await = None;
    }
}

fn no_source() -> Error {
    let message = "sasl.mechanism=OAUTHBEARER needs a token: give a token callback, name one in sasl.oauthbearer.token.provider, or set sasl.oauthbearer.token.endpoint.url with a client's id and secret";
    Error::new(Kind::Config, message)
}

fn refused(why: &str) -> Error {
    Error::new(Kind::Authentication, format!("the token cannot be used: {why}"))
}

/// RFC 6750's characters, so that a token cannot end its message early.
fn check_token(token: &Token) -> Result<()> {
    let value = token.value.expose();
    let body = value.trim_end_matches('=');
    let legal = |b: u8| b.is_ascii_alphanumeric() || b"-._~+/".contains(&b);
    if body.is_empty() || !body.bytes().all(legal) {
        return Err(refused("it is empty, or holds characters that no bearer token has"));
    }
    if value.len() > MAX_TOKEN {
        return Err(refused(&format!("it has {} bytes", value.len())));
    }
    check_extensions(&token.extensions).map_err(|why| refused(&why))
}

fn check_extensions(extensions: &[(String, String)]) -> Result<(), String> {
    for (name, value) in extensions {
        if name == "auth" || name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphabetic()) {
            return Err("the name of a SASL extension has letters only, and is not auth".to_owned());
        }
        if !value.chars().all(|c| matches!(c, ' '..='~' | '\t' | '\r' | '\n')) {
            return Err(format!("the SASL extension {name} holds characters that it may not"));
        }
    }
    Ok(())
}

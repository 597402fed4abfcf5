//! OIDC client credentials (KIP-768): a token for a client's id and secret, from the endpoint that
//! the configuration names.
//!
//! Invariant: the secret goes to that endpoint only, by https unless plain http was asked for.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hyper::Uri;
use serde_json::Value;

use super::super::{Jaas, Tls};
use super::http::{self, Answer};
use crate::config::Config;
use crate::environment::{Environment, Token};
use crate::error::{Error, Kind, Result};
use crate::printable::printable;
use crate::secret::Secret;

/// A token without an end is used for no longer than this.
const LONGEST_LIFE: Duration = Duration::from_secs(365 * 86_400);

/// The endpoint, and who asks it.
#[derive(Debug)]
pub(in crate::security) struct Oidc {
    url: Uri,
    tls: Option<Tls>,
    authorization: Secret,
    body: String,
}

fn wrong(message: impl Into<String>) -> Error {
    Error::new(Kind::Config, message)
}

/// The configuration with the token endpoint's trust store, which Java has as options of the login module.
fn with_store_of(jaas: Option<&Jaas>, config: &Config) -> Config {
    let mut config = config.clone();
    let option = |name: &str| jaas.and_then(|jaas| jaas.option(name)).map(|value| value.expose().to_owned());
    let location = &mut config.sasl_oauthbearer_token_endpoint_ssl_truststore_location;
    let certificates = &mut config.sasl_oauthbearer_token_endpoint_ssl_truststore_certificates;
    if location.is_empty() && certificates.is_empty() {
        *location = option("ssl.truststore.location").unwrap_or_default();
        *certificates = option("ssl.truststore.certificates").unwrap_or_default();
    }
    config
}

impl Oidc {
    /// The configured endpoint, if there is one.
    pub(super) fn from_config(config: &Config, jaas: Option<&Jaas>) -> Result<Option<Self>> {
        let text = &config.sasl_oauthbearer_token_endpoint_url;
        if text.is_empty() {
            return Ok(None);
        }
        let key = "sasl.oauthbearer.token.endpoint.url";
        let url: Uri = text.parse().map_err(|_| wrong(format!("{key}: it is not a URL")))?;
        let userinfo = url.authority().is_some_and(|authority| authority.as_str().contains('@'));
        if userinfo || url.host().is_none() {
            return Err(wrong(format!("{key}: expected https://host/path, without user and password")));
        }
        let tls = match url.scheme_str() {
            Some("https") => Some(Tls::for_token_endpoint(&with_store_of(jaas, config))?),
            Some("http") if config.sasl_oauthbearer_token_endpoint_allow_http => None,
            Some("http") => {
                return Err(wrong(format!(
                    "{key}: http would show the client's secret to the network; use https, or allow it with sasl.oauthbearer.token.endpoint.allow.http=true"
                )));
            }
            _ => return Err(wrong(format!("{key}: expected https://…"))),
        };
        let option = |name: &str| jaas.and_then(|jaas| jaas.option(name)).cloned().unwrap_or_default();
        let or = |set: &str, name: &str| if set.is_empty() { option(name) } else { Secret::new(set) };
        let id = or(&config.sasl_oauthbearer_client_credentials_client_id, "clientId");
        let secret = or(config.sasl_oauthbearer_client_credentials_client_secret.expose(), "clientSecret");
        let scope = or(&config.sasl_oauthbearer_scope, "scope");
        if id.is_empty() || secret.is_empty() {
            return Err(wrong(format!(
                "{key} needs sasl.oauthbearer.client.credentials.client.id and sasl.oauthbearer.client.credentials.client.secret"
            )));
        }
        let pair = match config.sasl_oauthbearer_header_urlencode {
            true => Secret::new(format!("{}:{}", encoded(id.expose()), encoded(secret.expose()))),
            false => Secret::new(format!("{}:{}", id.expose(), secret.expose())),
        };
        let scope = match scope.is_empty() {
            true => String::new(),
            false => format!("&scope={}", encoded(scope.expose())),
        };
        Ok(Some(Self {
            url,
            tls,
            authorization: Secret::new(format!("Basic {}", STANDARD.encode(pair.expose()))),
            body: format!("grant_type=client_credentials{scope}"),
        }))
    }

    /// A new token.
    pub(super) async fn token(&self, environment: &Environment) -> Result<Token> {
        let asked =
            http::post(&self.url, self.tls.as_ref(), &self.authorization, &self.body, environment).await;
        let answer = asked.map_err(|error| error.prefixed(format_args!("no token from {}", self.url)))?;
        self.process_answer(&answer, environment.now())
    }

    fn process_answer(&self, answer: &Answer, now: SystemTime) -> Result<Token> {
        let document: Option<Value> = serde_json::from_slice(&answer.body).ok();
        let field = |name: &str| document.as_ref().and_then(|document| document.get(name));
        let text = |name: &str| field(name).and_then(Value::as_str);
        if answer.status != 200 {
            let said: Vec<String> =
                ["error", "error_description"].into_iter().filter_map(text).map(printable).collect();
            let said = if said.is_empty() { String::new() } else { format!(": \"{}\"", said.join(": ")) };
            // A server in trouble may recover; one that says no goes on saying so.
            let kind =
                if matches!(answer.status, 429 | 500..) { Kind::Connection } else { Kind::Authentication };
            return Err(Error::new(
                kind,
                format!("the token endpoint {} answered {}{said}", self.url, answer.status),
            ));
        }
        let Some(token) = text("access_token") else {
            let words = format!("the token endpoint {} gave no access_token", self.url);
            return Err(Error::new(Kind::Authentication, words));
        };
        let seconds = match field("expires_in") {
            Some(Value::String(text)) => text.parse().ok(),
            Some(number) => number.as_f64(),
            None => None,
        };
        let life = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let expires = life.map(|life| now + life.min(LONGEST_LIFE)).or_else(|| expiry(token));
        Ok(Token { value: Secret::new(token), expires, extensions: Vec::new() })
    }
}

/// What a JSON web token says about its own end.
fn expiry(token: &str) -> Option<SystemTime> {
    let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    let claims: Value = serde_json::from_slice(&claims).ok()?;
    let since = Duration::try_from_secs_f64(claims.get("exp")?.as_f64()?).ok()?;
    UNIX_EPOCH.checked_add(since)
}

/// A text as forms have it.
fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'*' => out.push(char::from(byte)),
            b' ' => out.push('+'),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

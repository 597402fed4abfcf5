//! OIDC client credentials (KIP-768): requests a token with a client id and secret from the configured
//! endpoint.
//!
//! Invariant: the secret is sent to that endpoint only, over https unless plain http is allowed explicitly.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use hyper::{Method, Uri};
use serde_json::Value;
use tokio::time::Instant;

use super::super::{Jaas, Tls, config_error};
use crate::config::Config;
use crate::environment::{Environment, Token};
use crate::error::{Error, Kind, Result};
use crate::http::{HttpClient, HttpRequest, HttpResponse, Origin, Server, encode};
use crate::printable::printable;
use crate::proxy::Proxy;
use crate::secret::Secret;

/// Upper limit of a token's lifetime.
const MAX_LIFETIME: Duration = Duration::from_secs(365 * 86_400);
/// The largest response.
const MAX_RESPONSE: usize = 128 * 1024;
/// A request ends after this time, unless the connection that needs the token times out first.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
const TOKEN_SERVER: Server =
    Server { name: "the token server", key_prefix: "sasl.oauthbearer.token.endpoint." };

/// A token endpoint, with the request to send.
#[derive(Debug)]
pub(in crate::security) struct Oidc {
    /// The path and the query of the URL.
    path: Secret,
    /// The URL as errors show it: without a query, which may be a secret.
    shown: String,
    http: HttpClient,
    authorization: Secret,
    body: Bytes,
}

/// The configuration with the token endpoint's trust store, which in Java is an option of the login module.
fn with_truststore_of(jaas: Option<&Jaas>, config: &Config) -> Config {
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
    /// Reads the configured endpoint, if any.
    pub(super) fn from_config(config: &Config, jaas: Option<&Jaas>) -> Result<Option<Self>> {
        let text = &config.sasl_oauthbearer_token_endpoint_url;
        if text.is_empty() {
            return Ok(None);
        }
        let key = "sasl.oauthbearer.token.endpoint.url";
        let url: Uri = text.parse().map_err(|_| config_error(format!("{key}: not a valid URL")))?;
        // The configuration refuses a user and a password in it.
        if url.host().is_none() {
            return Err(config_error(format!("{key}: expected https://host/path")));
        }
        let tls = match url.scheme_str() {
            Some("https") => Some(Tls::for_token_endpoint(&with_truststore_of(jaas, config))?),
            Some("http") if config.sasl_oauthbearer_token_endpoint_allow_http => None,
            Some("http") => {
                return Err(config_error(format!(
                    "{key}: http would expose the client secret to the network; use https, or allow http with sasl.oauthbearer.token.endpoint.allow.http=true"
                )));
            }
            _ => return Err(config_error(format!("{key}: expected https://…"))),
        };
        let option = |name: &str| jaas.and_then(|jaas| jaas.option(name)).cloned().unwrap_or_default();
        let or = |set: &str, name: &str| if set.is_empty() { option(name) } else { Secret::new(set) };
        let id = or(&config.sasl_oauthbearer_client_credentials_client_id, "clientId");
        let secret = or(config.sasl_oauthbearer_client_credentials_client_secret.expose(), "clientSecret");
        let scope = or(&config.sasl_oauthbearer_scope, "scope");
        if id.is_empty() || secret.is_empty() {
            return Err(config_error(format!(
                "{key} needs sasl.oauthbearer.client.credentials.client.id and sasl.oauthbearer.client.credentials.client.secret"
            )));
        }
        let pair = match config.sasl_oauthbearer_header_urlencode {
            true => Secret::new(format!("{}:{}", encode::form(id.expose()), encode::form(secret.expose()))),
            false => Secret::new(format!("{}:{}", id.expose(), secret.expose())),
        };
        let scope = match scope.is_empty() {
            true => String::new(),
            false => format!("&scope={}", encode::form(scope.expose())),
        };
        let proxy = Proxy::first([
            ("sasl.oauthbearer.token.endpoint.proxy.url", &config.sasl_oauthbearer_token_endpoint_proxy_url),
            ("proxy.url", &config.proxy_url),
        ])?;
        Ok(Some(Self {
            http: HttpClient::new(Origin::new(TOKEN_SERVER, &url, tls).with_proxy(proxy), MAX_RESPONSE),
            path: Secret::new(url.path_and_query().map_or("/", |path| path.as_str())),
            shown: text.split('?').next().unwrap_or_default().to_owned(),
            authorization: Secret::new(format!("Basic {}", STANDARD.encode(pair.expose()))),
            body: format!("grant_type=client_credentials{scope}").into(),
        }))
    }

    /// Requests a token.
    pub(super) async fn token(&self, environment: &Environment) -> Result<Token> {
        let request = HttpRequest {
            method: Method::POST,
            path: self.path.expose(),
            authorization: Some(&self.authorization),
            accept: "application/json",
            body: Some(("application/x-www-form-urlencoded", self.body.clone())),
            is_idempotent: false,
        };
        let sent = self.http.send(&request, environment, Instant::now() + REQUEST_TIMEOUT).await;
        let response =
            sent.map_err(|failure| failure.error.prefixed(format_args!("no token from {}", self.shown)))?;
        self.process_response(&response, environment.now())
    }

    fn process_response(&self, response: &HttpResponse, now: SystemTime) -> Result<Token> {
        let document: Option<Value> = serde_json::from_slice(&response.body).ok();
        let field = |name: &str| document.as_ref().and_then(|document| document.get(name));
        let text = |name: &str| field(name).and_then(Value::as_str);
        if response.status != 200 {
            let details: Vec<String> =
                ["error", "error_description"].into_iter().filter_map(text).map(printable).collect();
            let details =
                if details.is_empty() { String::new() } else { format!(": \"{}\"", details.join(": ")) };
            // A failing server may recover; a rejection is final.
            let kind =
                if matches!(response.status, 429 | 500..) { Kind::Connection } else { Kind::Authentication };
            return Err(Error::new(
                kind,
                format!("the token endpoint {} returned status {}{details}", self.shown, response.status),
            ));
        }
        let Some(token) = text("access_token") else {
            let message = format!("the token endpoint {} returned no access_token", self.shown);
            return Err(Error::new(Kind::Authentication, message));
        };
        let seconds = match field("expires_in") {
            Some(Value::String(text)) => text.parse().ok(),
            Some(number) => number.as_f64(),
            None => None,
        };
        let lifetime = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let expires = lifetime.map(|lifetime| now + lifetime.min(MAX_LIFETIME)).or_else(|| expiry(token));
        Ok(Token { value: Secret::new(token), expires, extensions: Vec::new() })
    }
}

/// The expiry in a JSON web token (`exp`).
fn expiry(token: &str) -> Option<SystemTime> {
    let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    let claims: Value = serde_json::from_slice(&claims).ok()?;
    let since_epoch = Duration::try_from_secs_f64(claims.get("exp")?.as_f64()?).ok()?;
    UNIX_EPOCH.checked_add(since_epoch)
}

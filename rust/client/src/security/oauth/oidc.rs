//! Requests tokens from the configured endpoint: with a client id and secret (KIP-768), with an assertion instead of
//! the secret (KIP-1258), or with an assertion alone (jwt-bearer, KIP-1139).
//!
//! Invariant: the secret and the assertions are sent to that endpoint only, over https unless plain http is allowed
//! explicitly.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hyper::{Method, Uri};
use serde_json::Value;
use tokio::time::Instant;

use super::super::{Jaas, NAME_A_PROVIDER, Tls, config_error};
use super::assertion::{Assertion, Assertions};
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
/// A difference between clocks that endpoints tolerate, and that a slow response may feign.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(30);
const RETRIEVER: &str = "sasl.oauthbearer.jwt.retriever.class";
/// The package of Kafka's retrievers.
const RETRIEVERS: &str = "org.apache.kafka.common.security.oauthbearer.";
/// `urn:ietf:params:oauth:…`, encoded for a form.
const CLIENT_ASSERTION: &str = "urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer";
const JWT_BEARER: &str = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer";
/// The errors of RFC 6749 that may be about the assertion.
const REFUSALS: [&str; 4] = ["invalid_grant", "invalid_client", "unauthorized_client", "invalid_request"];
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
    proof: Proof,
    /// The parameter with the scope, if there is one.
    scope: String,
}

/// How a request proves who this client is.
#[derive(Debug)]
enum Proof {
    /// The client's id and secret, in the header `Authorization`.
    ClientSecret(Secret),
    /// An assertion in place of the secret, and the client's id if it is configured.
    ClientAssertion { client_id: String, assertions: Box<Assertions> },
    /// An assertion that is exchanged for a token.
    JwtBearer(Box<Assertions>),
}

/// Refuses Kafka's reader of a token in a file, which has another name here. Its URL is one of a file.
fn refuse_file_retriever(config: &Config) -> Result<()> {
    let class = config.sasl_oauthbearer_jwt_retriever_class.as_str();
    if class.strip_prefix(RETRIEVERS).unwrap_or(class) != "FileJwtRetriever" {
        return Ok(());
    }
    let file = config.sasl_oauthbearer_token_endpoint_url.strip_prefix("file://").unwrap_or("…");
    Err(config_error(format!(
        "{RETRIEVER}={class}: remove the key and sasl.oauthbearer.token.endpoint.url, and set sasl.oauthbearer.token.provider=kubernetes?file={file} instead"
    )))
}

impl Proof {
    fn from_config(config: &Config, id: &Secret, secret: &Secret) -> Result<Self> {
        let class = config.sasl_oauthbearer_jwt_retriever_class.as_str();
        match class.strip_prefix(RETRIEVERS).unwrap_or(class) {
            "JwtBearerJwtRetriever" => {
                return Ok(Self::JwtBearer(Box::new(Assertions::from_config(config)?)));
            }
            "DefaultJwtRetriever" | "ClientCredentialsJwtRetriever" => {}
            _ => {
                return Err(config_error(format!(
                    "{RETRIEVER}={class}: no class is loaded; expected ClientCredentialsJwtRetriever or JwtBearerJwtRetriever; for others, {NAME_A_PROVIDER}"
                )));
            }
        }
        if Assertions::are_configured(config) {
            let assertions = Box::new(Assertions::from_config(config)?);
            return Ok(Self::ClientAssertion { client_id: id.expose().to_owned(), assertions });
        }
        if id.is_empty() || secret.is_empty() {
            return Err(config_error(
                "sasl.oauthbearer.token.endpoint.url needs sasl.oauthbearer.client.credentials.client.id and sasl.oauthbearer.client.credentials.client.secret, or the keys sasl.oauthbearer.assertion.…",
            ));
        }
        let pair = match config.sasl_oauthbearer_header_urlencode {
            true => Secret::new(format!("{}:{}", encode::form(id.expose()), encode::form(secret.expose()))),
            false => Secret::new(format!("{}:{}", id.expose(), secret.expose())),
        };
        Ok(Self::ClientSecret(Secret::new(format!("Basic {}", STANDARD.encode(pair.expose())))))
    }

    fn authorization(&self) -> Option<&Secret> {
        match self {
            Self::ClientSecret(authorization) => Some(authorization),
            _ => None,
        }
    }

    fn assertions(&self) -> Option<&Assertions> {
        match self {
            Self::ClientSecret(_) => None,
            Self::ClientAssertion { assertions, .. } | Self::JwtBearer(assertions) => Some(assertions),
        }
    }

    /// The form without the scope.
    fn form(&self, assertion: Option<&Assertion>) -> String {
        let assertion = assertion.map(|assertion| encode::form(assertion.text.expose())).unwrap_or_default();
        match self {
            Self::ClientSecret(_) => "grant_type=client_credentials".to_owned(),
            Self::ClientAssertion { client_id, .. } => {
                let id = match client_id.as_str() {
                    "" => String::new(),
                    id => format!("&client_id={}", encode::form(id)),
                };
                format!(
                    "client_assertion_type={CLIENT_ASSERTION}&client_assertion={assertion}&grant_type=client_credentials{id}"
                )
            }
            Self::JwtBearer(_) => format!("grant_type={JWT_BEARER}&assertion={assertion}"),
        }
    }
}

/// What to check when an endpoint has refused an assertion.
fn advice(assertion: &Assertion, error: Option<&str>, date: Option<SystemTime>, now: SystemTime) -> String {
    let mut advice = String::new();
    if let Some(expired) = assertion.expired_for {
        let seconds = expired.as_secs();
        let _ = write!(advice, "; the assertion expired {seconds} s ago by this machine's clock: renew it");
    }
    if let Some((difference, direction)) = date.and_then(|date| clock_difference(date, now)) {
        let _ = write!(
            advice,
            "; this machine's clock is {} s {direction} the endpoint's: set it, since the endpoint compares the assertion's iat, nbf and exp with its own",
            difference.as_secs()
        );
    }
    if advice.is_empty() && error.is_none_or(|error| REFUSALS.contains(&error)) {
        advice.push_str(
            ": check that the endpoint knows the public key of the private key that signed the assertion, and expects its claims",
        );
    }
    let _ = write!(advice, " (the assertion has {})", assertion.described);
    advice
}

/// How far this machine's clock is from the endpoint's, if that is more than tolerated, and in which direction.
fn clock_difference(theirs: SystemTime, ours: SystemTime) -> Option<(Duration, &'static str)> {
    let (difference, direction) = match ours.duration_since(theirs) {
        Ok(ahead) => (ahead, "ahead of"),
        Err(behind) => (behind.duration(), "behind"),
    };
    (difference >= CLOCK_TOLERANCE).then_some((difference, direction))
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
        refuse_file_retriever(config)?;
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
                    "{key}: http would expose the credentials to the network; use https, or allow http with sasl.oauthbearer.token.endpoint.allow.http=true"
                )));
            }
            _ => return Err(config_error(format!("{key}: expected https://…"))),
        };
        let option = |name: &str| jaas.and_then(|jaas| jaas.option(name)).cloned().unwrap_or_default();
        let or = |set: &str, name: &str| if set.is_empty() { option(name) } else { Secret::new(set) };
        let id = or(&config.sasl_oauthbearer_client_credentials_client_id, "clientId");
        let secret = or(config.sasl_oauthbearer_client_credentials_client_secret.expose(), "clientSecret");
        let scope = or(&config.sasl_oauthbearer_scope, "scope");
        let scope = match scope.expose().trim() {
            "" => String::new(),
            scope => format!("&scope={}", encode::form(scope)),
        };
        let proof = Proof::from_config(config, &id, &secret)?;
        let proxy = Proxy::first([
            ("sasl.oauthbearer.token.endpoint.proxy.url", &config.sasl_oauthbearer_token_endpoint_proxy_url),
            ("proxy.url", &config.proxy_url),
        ])?;
        Ok(Some(Self {
            http: HttpClient::new(Origin::new(TOKEN_SERVER, &url, tls).with_proxy(proxy), MAX_RESPONSE),
            path: Secret::new(url.path_and_query().map_or("/", |path| path.as_str())),
            shown: text.split('?').next().unwrap_or_default().to_owned(),
            proof,
            scope,
        }))
    }

    /// Reads the files that the proof needs, if the environment permits them.
    pub(super) fn prepare(&self, environment: &Environment) -> Result<()> {
        self.proof.assertions().map_or(Ok(()), |assertions| assertions.prepare(environment))
    }

    /// Requests a token.
    pub(super) async fn token(&self, environment: &Environment) -> Result<Token> {
        let assertion = match self.proof.assertions() {
            Some(assertions) => Some(assertions.next(environment).await?),
            None => None,
        };
        let body = format!("{}{}", self.proof.form(assertion.as_ref()), self.scope);
        let request = HttpRequest {
            method: Method::POST,
            path: self.path.expose(),
            authorization: self.proof.authorization(),
            accept: "application/json",
            body: Some(("application/x-www-form-urlencoded", body.into())),
            is_idempotent: false,
        };
        let sent = self.http.send(&request, environment, Instant::now() + REQUEST_TIMEOUT).await;
        let response =
            sent.map_err(|failure| failure.error.prefixed(format_args!("no token from {}", self.shown)))?;
        self.process_response(&response, environment.now(), assertion.as_ref())
    }

    fn process_response(
        &self,
        response: &HttpResponse,
        now: SystemTime,
        assertion: Option<&Assertion>,
    ) -> Result<Token> {
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
            let advice = match assertion.filter(|_| kind == Kind::Authentication) {
                Some(assertion) => advice(assertion, text("error"), response.date, now),
                None => String::new(),
            };
            let Self { shown, .. } = self;
            let message =
                format!("the token endpoint {shown} returned status {}{details}{advice}", response.status);
            return Err(Error::new(kind, message));
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

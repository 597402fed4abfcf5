//! Assertions (RFC 7521): JSON web tokens that prove to a token endpoint who this client is, signed with its private
//! key or read from a file.
//!
//! `oidc` sends them. Invariants: a file whose content, or whose key's signature, goes to the endpoint is used only if
//! the process's environment lists it, since the author of a configuration chooses the endpoint too; neither keys nor
//! assertions are in an error or a log line, but the claims that name the parties are.

use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use super::super::config_error;
use super::super::pem::{self, KeyPassword};
use super::super::reload::FileBacked;
use super::MAX_TOKEN;
use super::signing_key::{Algorithm, SigningKey};
use crate::config::Config;
use crate::environment::Environment;
use crate::error::{Error, Kind, Result};
use crate::printable::printable;
use crate::secret::Secret;

const FILE: &str = "sasl.oauthbearer.assertion.file";
const KEY_FILE: &str = "sasl.oauthbearer.assertion.private.key.file";
const KEY_PEM: &str = "sasl.oauthbearer.assertion.private.key.pem";
const PASSPHRASE: &str = "sasl.oauthbearer.assertion.private.key.passphrase";
const TEMPLATE: &str = "sasl.oauthbearer.assertion.template.file";
const ISS: &str = "sasl.oauthbearer.assertion.claim.iss";

type Claims = Map<String, Value>;

/// The source of a client's assertions.
#[derive(Debug)]
pub(super) struct Assertions {
    config: Config,
    /// Read once the environment has permitted the files.
    source: OnceLock<Source>,
}

#[derive(Debug)]
enum Source {
    File(FileBacked<Secret>),
    Signed { algorithm: Algorithm, key: FileBacked<SigningKey>, template: FileBacked<Template> },
}

/// What a template file adds.
#[derive(Debug, Default)]
struct Template {
    header: Claims,
    payload: Claims,
}

/// An assertion to send.
#[derive(Debug)]
pub(super) struct Assertion {
    pub(super) text: Secret,
    /// What it says about its parties, for errors.
    pub(super) described: String,
    /// For how long it had expired when it was made or read.
    pub(super) expired_for: Option<Duration>,
}

impl Assertions {
    /// Whether the configuration has a source of assertions, and so does not need a client secret.
    pub(super) fn are_configured(config: &Config) -> bool {
        let set = [
            &config.sasl_oauthbearer_assertion_file,
            &config.sasl_oauthbearer_assertion_private_key_file,
            config.sasl_oauthbearer_assertion_private_key_pem.expose(),
            config.sasl_oauthbearer_assertion_private_key_passphrase.expose(),
            &config.sasl_oauthbearer_assertion_claim_iss,
            &config.sasl_oauthbearer_assertion_claim_sub,
            &config.sasl_oauthbearer_assertion_claim_aud,
            &config.sasl_oauthbearer_assertion_template_file,
        ];
        set.iter().any(|value| !value.is_empty())
    }

    /// Checks the keys that belong together; reads no file.
    pub(super) fn from_config(config: &Config) -> Result<Self> {
        if config.sasl_oauthbearer_assertion_file.is_empty() {
            Algorithm::parse(&config.sasl_oauthbearer_assertion_algorithm)?;
            let file = &config.sasl_oauthbearer_assertion_private_key_file;
            match (file.is_empty(), config.sasl_oauthbearer_assertion_private_key_pem.is_empty()) {
                (true, true) => {
                    return Err(config_error(format!(
                        "an assertion needs {KEY_FILE} (or {KEY_PEM}) with the private key that signs it, or {FILE} with a signed one"
                    )));
                }
                (false, false) => {
                    return Err(config_error(format!("{KEY_FILE} and {KEY_PEM} are both set: choose one")));
                }
                _ => {}
            }
            let has_template = !config.sasl_oauthbearer_assertion_template_file.is_empty();
            if config.sasl_oauthbearer_assertion_claim_iss.is_empty() && !has_template {
                return Err(config_error(format!(
                    "an assertion needs {ISS}, which is mostly the client id, and usually …claim.sub and …claim.aud (the token endpoint's URL) too"
                )));
            }
        }
        Ok(Self { config: config.clone(), source: OnceLock::new() })
    }

    /// Reads the files, if that is permitted; the first time only.
    pub(super) fn prepare(&self, environment: &Environment) -> Result<()> {
        if self.source.get().is_none() {
            let source = self.open(environment)?;
            // Another thread may have been faster.
            let _ = self.source.set(source);
        }
        Ok(())
    }

    fn open(&self, environment: &Environment) -> Result<Source> {
        let config = &self.config;
        let file = config.sasl_oauthbearer_assertion_file.clone();
        if !file.is_empty() {
            permit(environment, FILE, &file)?;
            return Ok(Source::File(FileBacked::new(vec![file.clone()], move || read_assertion(&file))?));
        }
        let algorithm = Algorithm::parse(&config.sasl_oauthbearer_assertion_algorithm)?;
        Ok(Source::Signed {
            algorithm,
            key: self.open_key(environment, algorithm)?,
            template: self.open_template(environment)?,
        })
    }

    fn open_key(&self, environment: &Environment, algorithm: Algorithm) -> Result<FileBacked<SigningKey>> {
        let config = &self.config;
        let file = config.sasl_oauthbearer_assertion_private_key_file.clone();
        let text = config.sasl_oauthbearer_assertion_private_key_pem.clone();
        let passphrase = config.sasl_oauthbearer_assertion_private_key_passphrase.clone();
        let load = move |key: &str, text: &str| {
            let password = KeyPassword { key: PASSPHRASE, value: &passphrase };
            SigningKey::from_pem(key, text, password, algorithm)
        };
        if file.is_empty() {
            return FileBacked::new(Vec::new(), move || load(KEY_PEM, text.expose()));
        }
        permit(environment, KEY_FILE, &file)?;
        FileBacked::new(vec![file.clone()], move || load(KEY_FILE, &pem::read_file(KEY_FILE, &file)?))
    }

    fn open_template(&self, environment: &Environment) -> Result<FileBacked<Template>> {
        let file = self.config.sasl_oauthbearer_assertion_template_file.clone();
        if file.is_empty() {
            return FileBacked::new(Vec::new(), || Ok(Template::default()));
        }
        permit(environment, TEMPLATE, &file)?;
        FileBacked::new(vec![file.clone()], move || read_template(&file))
    }

    /// The assertion for the next request: a new one, or what the file contains.
    pub(super) async fn next(&self, environment: &Environment) -> Result<Assertion> {
        self.prepare(environment)?;
        let now = environment.now();
        match self.source.get() {
            Some(Source::File(file)) => {
                let text = file.current().await;
                let [header, payload] = [0, 1].map(|part| part_of(text.expose(), part).unwrap_or_default());
                Ok(Assertion::new((*text).clone(), &header, &payload, now))
            }
            Some(Source::Signed { algorithm, key, template }) => {
                let (key, template) = (key.current().await, template.current().await);
                let header = self.header(*algorithm, &template);
                let payload = self.payload(&template, environment, now);
                let text = sign(&key, &header, &payload)?;
                Ok(Assertion::new(text, &header, &payload, now))
            }
            None => Err(Error::new(Kind::Authentication, "the assertion's source is not open")),
        }
    }

    fn header(&self, algorithm: Algorithm, template: &Template) -> Claims {
        let mut header = template.header.clone();
        header.insert("alg".to_owned(), algorithm.name().into());
        header.insert("typ".to_owned(), "JWT".into());
        header
    }

    /// The claims: those of the configuration, over them the template's, over them the times, as in Java.
    fn payload(&self, template: &Template, environment: &Environment, now: SystemTime) -> Claims {
        let config = &self.config;
        let named = [
            ("iss", &config.sasl_oauthbearer_assertion_claim_iss),
            ("sub", &config.sasl_oauthbearer_assertion_claim_sub),
            ("aud", &config.sasl_oauthbearer_assertion_claim_aud),
        ];
        let named = named.into_iter().filter(|(_, value)| !value.is_empty());
        let mut payload: Claims =
            named.map(|(name, value)| (name.to_owned(), value.as_str().into())).collect();
        payload.extend(template.payload.clone());
        let seconds = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let lifetime = u64::from(config.sasl_oauthbearer_assertion_claim_exp_seconds);
        let allowance = u64::from(config.sasl_oauthbearer_assertion_claim_nbf_seconds);
        payload.insert("iat".to_owned(), seconds.into());
        payload.insert("exp".to_owned(), (seconds + lifetime).into());
        payload.insert("nbf".to_owned(), seconds.saturating_sub(allowance).into());
        if config.sasl_oauthbearer_assertion_claim_jti_include {
            payload.insert("jti".to_owned(), environment.uuid().to_string().into());
        }
        payload
    }
}

impl Assertion {
    fn new(text: Secret, header: &Claims, payload: &Claims, now: SystemTime) -> Self {
        let of = |claims: &Claims, name: &str| {
            let value = claims.get(name)?;
            Some(format!("{name} {}", printable(&value.to_string())))
        };
        let named = ["alg", "kid"].map(|name| of(header, name));
        let parties = ["iss", "sub", "aud"].map(|name| of(payload, name));
        let described: Vec<String> = named.into_iter().chain(parties).flatten().collect();
        let expiry = payload.get("exp").and_then(Value::as_u64);
        let expiry = expiry.and_then(|seconds| UNIX_EPOCH.checked_add(Duration::from_secs(seconds)));
        let expired_for = expiry.and_then(|expiry| now.duration_since(expiry).ok());
        Self { text, described: described.join(", "), expired_for }
    }
}

/// Refuses a file that the environment does not list.
fn permit(environment: &Environment, key: &str, file: &str) -> Result<()> {
    if environment.permits_assertion_file(file) {
        return Ok(());
    }
    Err(config_error(format!(
        "{key}: this process may not use {file:?} for assertions, because a configuration alone does not choose whose content or signature goes to its token endpoint: list the file in the environment variable OTTLA_ASSERTION_FILES, with commas between files"
    )))
}

/// Reads an assertion; what is not one is not sent.
fn read_assertion(file: &str) -> Result<Secret> {
    let text = pem::read_file(FILE, file)?;
    let text = text.trim();
    if text.len() > MAX_TOKEN {
        return Err(config_error(format!("{FILE}: {file:?} is larger than {MAX_TOKEN} bytes")));
    }
    let is_jwt = text.split('.').count() == 3
        && part_of(text, 0).is_some()
        && part_of(text, 1).is_some()
        && text
            .split('.')
            .nth(2)
            .is_some_and(|part| !part.is_empty() && URL_SAFE_NO_PAD.decode(part).is_ok());
    match is_jwt {
        true => Ok(Secret::new(text)),
        false => Err(config_error(format!(
            "{FILE}: {file:?} contains no signed JSON web token (three parts in base64 with dots between them)"
        ))),
    }
}

/// The header (0) or the payload (1) of a token.
fn part_of(token: &str, part: usize) -> Option<Claims> {
    let raw = URL_SAFE_NO_PAD.decode(token.split('.').nth(part)?).ok()?;
    serde_json::from_slice(&raw).ok()
}

fn read_template(file: &str) -> Result<Template> {
    // The parser's error is left out, since it may quote the file.
    let wrong = || {
        config_error(format!(
            "{TEMPLATE}: {file:?} is not a JSON object with the objects \"header\" and \"payload\", or one of them"
        ))
    };
    let mut parts: Claims = serde_json::from_str(&pem::read_file(TEMPLATE, file)?).map_err(|_| wrong())?;
    let mut part = |name: &str| match parts.remove(name) {
        None => Ok(Claims::new()),
        Some(Value::Object(claims)) => Ok(claims),
        Some(_) => Err(wrong()),
    };
    let template = Template { header: part("header")?, payload: part("payload")? };
    if parts.is_empty() { Ok(template) } else { Err(wrong()) }
}

fn sign(key: &SigningKey, header: &Claims, payload: &Claims) -> Result<Secret> {
    let encoded = |claims: &Claims| URL_SAFE_NO_PAD.encode(Value::Object(claims.clone()).to_string());
    let signed = format!("{}.{}", encoded(header), encoded(payload));
    let signature = URL_SAFE_NO_PAD.encode(key.sign(signed.as_bytes())?);
    let text = format!("{signed}.{signature}");
    if text.len() > MAX_TOKEN {
        return Err(config_error(format!(
            "{TEMPLATE}: the assertion would be larger than {MAX_TOKEN} bytes"
        )));
    }
    Ok(Secret::new(text))
}

//! SASL: which mechanism, with which credentials, and the conversation that proves them.
//!
//! A conversation does no I/O: `connection/authenticate.rs` carries its messages. Invariant: the
//! mechanism is the one that was configured; a broker that does not offer it gets no credentials.

use base64::Engine as _;
use bytes::Bytes;
use ottla_protocol::wire::SecretBytes;
use ring::rand::{SecureRandom, SystemRandom};

use super::jaas::{Jaas, LoginModule};
use super::kerberos::{self, Kerberos};
use super::oauth::{self, Tokens};
use super::scram::{self, Credentials, Hash};
use crate::config::Config;
use crate::environment::Environment;
use crate::error::{Error, Kind, Result};
use crate::secret::Secret;

/// The mechanism that was configured, and what it needs.
#[derive(Debug)]
pub struct Sasl {
    mechanism: Mechanism,
}

#[derive(Debug)]
enum Mechanism {
    Plain { username: String, password: Secret },
    Scram { hash: Hash, credentials: Credentials },
    Bearer(Box<Tokens>),
    Kerberos(Kerberos),
}

fn wrong(message: impl Into<String>) -> Error {
    Error::new(Kind::Config, message)
}

impl Sasl {
    /// What the configuration says about SASL.
    pub fn from_config(config: &Config) -> Result<Self> {
        let name = config.sasl_mechanism.as_str();
        let hash = match name {
            "PLAIN" => None,
            "SCRAM-SHA-256" => Some(Hash::Sha256),
            "SCRAM-SHA-512" => Some(Hash::Sha512),
            "OAUTHBEARER" => {
                let jaas = parse_jaas(config)?;
                check_module(name, LoginModule::OAuthBearer, jaas.as_ref())?;
                return Ok(Self {
                    mechanism: Mechanism::Bearer(Box::new(Tokens::from_config(config, jaas.as_ref())?)),
                });
            }
            "GSSAPI" => {
                let jaas = parse_jaas(config)?;
                check_module(name, LoginModule::Kerberos, jaas.as_ref())?;
                let kerberos = Kerberos::from_config(config, jaas.as_ref())?;
                return Ok(Self { mechanism: Mechanism::Kerberos(kerberos) });
            }
            "AWS_MSK_IAM" => {
                return Err(wrong(format!(
                    "sasl.mechanism={name} is of AWS's Java library; instead, {}",
                    oauth::NAME_A_PROVIDER
                )));
            }
            _ => {
                let known = "GSSAPI, PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 and OAUTHBEARER";
                return Err(wrong(format!("sasl.mechanism={name}: this version knows {known}")));
            }
        };
        let jaas = parse_jaas(config)?;
        let module = if hash.is_some() { LoginModule::Scram } else { LoginModule::Plain };
        check_module(name, module, jaas.as_ref())?;
        let (username, password) = user(config, jaas.as_ref())?;
        let mechanism = match hash {
            None if username.contains('\0') || password.expose().contains('\0') => {
                return Err(wrong(
                    "sasl.mechanism=PLAIN: neither user name nor password may hold a zero character",
                ));
            }
            None => Mechanism::Plain { username, password },
            Some(hash) => {
                let tokenauth = jaas.as_ref().and_then(|jaas| jaas.option("tokenauth"));
                let token = tokenauth.is_some_and(|token| token.expose().eq_ignore_ascii_case("true"));
                Mechanism::Scram { hash, credentials: Credentials { username, password, token } }
            }
        };
        Ok(Self { mechanism })
    }

    /// The mechanism's name.
    #[must_use]
    pub fn mechanism(&self) -> &'static str {
        match &self.mechanism {
            Mechanism::Plain { .. } => "PLAIN",
            Mechanism::Scram { hash: Hash::Sha256, .. } => "SCRAM-SHA-256",
            Mechanism::Scram { hash: Hash::Sha512, .. } => "SCRAM-SHA-512",
            Mechanism::Bearer(_) => "OAUTHBEARER",
            Mechanism::Kerberos(_) => "GSSAPI",
        }
    }

    /// Whether the environment gives what the configuration leaves to it.
    pub fn check(&self, environment: &Environment) -> Result<()> {
        match &self.mechanism {
            Mechanism::Bearer(tokens) => tokens.check(environment),
            Mechanism::Kerberos(kerberos) => kerberos.check(),
            Mechanism::Plain { .. } | Mechanism::Scram { .. } => Ok(()),
        }
    }

    /// Takes note that the broker refused: what was cached is not offered again.
    pub async fn process_refusal(&self) {
        if let Mechanism::Bearer(tokens) = &self.mechanism {
            tokens.forget().await;
        }
    }

    /// Starts a conversation with the broker at `host`; with its first message.
    pub async fn begin(&self, host: &str, environment: &Environment) -> Result<(Conversation, SecretBytes)> {
        match &self.mechanism {
            Mechanism::Plain { username, password } => {
                let message = format!("\0{username}\0{}", password.expose());
                Ok((Conversation(State::Last), SecretBytes(message.into())))
            }
            Mechanism::Scram { hash, credentials } => {
                let client = scram::Client::new(*hash, credentials.clone(), nonce()?);
                let first = client.first().into();
                Ok((Conversation(State::Scram(client)), SecretBytes(first)))
            }
            Mechanism::Bearer(tokens) => {
                let message = tokens.message(environment).await?;
                let bytes = Bytes::copy_from_slice(message.expose().as_bytes());
                Ok((Conversation(State::Bearer), SecretBytes(bytes)))
            }
            Mechanism::Kerberos(kerberos) => {
                let (client, first) = kerberos.begin(host).await?;
                Ok((Conversation(State::Kerberos(client)), SecretBytes(first.into())))
            }
        }
    }
}

fn parse_jaas(config: &Config) -> Result<Option<Jaas>> {
    if config.sasl_jaas_config.is_empty() {
        return Ok(None);
    }
    if !config.sasl_username.is_empty() || !config.sasl_password.is_empty() {
        return Err(wrong("sasl.jaas.config and sasl.username/sasl.password are both given: choose one"));
    }
    config.sasl_jaas_config.expose().parse().map(Some)
}

fn check_module(mechanism: &str, module: LoginModule, jaas: Option<&Jaas>) -> Result<()> {
    match jaas {
        Some(jaas) if jaas.module != module => {
            let given = jaas.module;
            Err(wrong(format!(
                "sasl.jaas.config is for {given}, but sasl.mechanism={mechanism} needs {module}"
            )))
        }
        _ => Ok(()),
    }
}

fn user(config: &Config, jaas: Option<&Jaas>) -> Result<(String, Secret)> {
    let (username, password) = match jaas {
        None => (config.sasl_username.clone(), config.sasl_password.clone()),
        Some(jaas) => (
            jaas.option("username").map(|name| name.expose().to_owned()).unwrap_or_default(),
            jaas.option("password").cloned().unwrap_or_default(),
        ),
    };
    if username.is_empty() || password.is_empty() {
        let missing = if username.is_empty() { "a user name" } else { "a password" };
        let message = format!(
            "sasl.mechanism={} needs {missing}: give sasl.username and sasl.password, or sasl.jaas.config",
            config.sasl_mechanism
        );
        return Err(wrong(message));
    }
    Ok((username, password))
}

/// 144 random bits, printable.
fn nonce() -> Result<String> {
    let mut bytes = [0; 18];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| Error::new(Kind::Authentication, "the system gives no random numbers"))?;
    Ok(base64::engine::general_purpose::STANDARD.encode(bytes))
}

/// One exchange with one broker.
#[derive(Debug)]
pub struct Conversation(State);

#[derive(Debug)]
enum State {
    /// Nothing more is to be said if the broker accepts what was.
    Last,
    /// The server's first message is due.
    Scram(scram::Client),
    /// The server's signature is due.
    ScramFinal(scram::Client),
    /// The broker accepts the token, or says what is wrong with it.
    Bearer,
    /// The broker's next token or offer is due.
    Kerberos(kerberos::Client),
    /// It is over.
    Over,
}

impl Conversation {
    /// What to say to the broker's message; `None` when everything is proven.
    pub async fn reply(&mut self, challenge: Bytes) -> Result<Option<SecretBytes>> {
        match std::mem::replace(&mut self.0, State::Over) {
            State::Last => Ok(None),
            State::Bearer if challenge.is_empty() => Ok(None),
            // RFC 7628, 3.2.3: the refusal itself comes as the answer to this.
            State::Bearer => Ok(Some(SecretBytes(Bytes::from_static(b"\x01")))),
            State::Scram(mut client) => {
                // Hashing so often takes milliseconds, which the reactor has not got.
                let hashed = tokio::task::spawn_blocking(move || {
                    let reply = client.process_first(&challenge);
                    (client, reply)
                });
                let (client, reply) = hashed
                    .await
                    .map_err(|_| Error::new(Kind::Authentication, "SCRAM: the client is shutting down"))?;
                self.0 = State::ScramFinal(client);
                Ok(Some(SecretBytes(reply?.into())))
            }
            State::ScramFinal(client) => client.process_final(&challenge).map(|()| None),
            State::Kerberos(client) => {
                let (client, reply) = client.reply_waiting(challenge).await?;
                self.0 = if reply.last { State::Last } else { State::Kerberos(client) };
                Ok(Some(SecretBytes(reply.message.into())))
            }
            State::Over => Err(Error::new(Kind::Authentication, "the broker went on after the end")),
        }
    }
}

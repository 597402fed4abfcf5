//! SASL: the configured mechanism, its credentials, and the exchange that proves them.
//!
//! An exchange does no I/O: `connection/authenticate.rs` carries its messages. Invariant: only the
//! configured mechanism is used; a broker that does not offer it gets no credentials.

use base64::Engine as _;
use bytes::Bytes;
use ottla_protocol::wire::SecretBytes;
use parking_lot::Mutex;
use ring::rand::{SecureRandom, SystemRandom};

use super::USE_MSK_IAM;
use super::config_error;
use super::jaas::{Jaas, LoginModule};
use super::kerberos::{self, Kerberos};
use super::oauth::TokenCache;
use super::scram::{self, Credentials, Hash};
use crate::config::Config;
use crate::environment::Environment;
use crate::error::{Error, Kind, Result};
use crate::secret::Secret;

/// The configured mechanism with its credentials.
#[derive(Debug)]
pub struct Sasl {
    mechanism: Mechanism,
}

#[derive(Debug)]
enum Mechanism {
    /// With a user name and a password, which the application may replace.
    Password {
        with: PasswordMechanism,
        credentials: Mutex<Credentials>,
    },
    Bearer(Box<TokenCache>),
    Kerberos(Kerberos),
}

#[derive(Debug, Clone, Copy)]
enum PasswordMechanism {
    Plain,
    Scram(Hash),
}

impl PasswordMechanism {
    /// Checks that the mechanism can send these credentials.
    fn check(self, username: &str, password: &Secret) -> Result<()> {
        match self {
            Self::Plain if username.contains('\0') || password.expose().contains('\0') => Err(config_error(
                "sasl.mechanism=PLAIN: user name and password must not contain a NUL character",
            )),
            _ => Ok(()),
        }
    }
}

impl Sasl {
    /// Reads the SASL configuration.
    pub fn from_config(config: &Config) -> Result<Self> {
        let name = config.sasl_mechanism.as_str();
        check_tokenauth(config)?;
        let with = match name {
            "PLAIN" => PasswordMechanism::Plain,
            "SCRAM-SHA-256" => PasswordMechanism::Scram(Hash::Sha256),
            "SCRAM-SHA-512" => PasswordMechanism::Scram(Hash::Sha512),
            "OAUTHBEARER" => {
                let jaas = parse_jaas(config)?;
                check_module(name, LoginModule::OAuthBearer, jaas.as_ref())?;
                return Ok(Self {
                    mechanism: Mechanism::Bearer(Box::new(TokenCache::from_config(config, jaas.as_ref())?)),
                });
            }
            "GSSAPI" => {
                let jaas = parse_jaas(config)?;
                check_module(name, LoginModule::Kerberos, jaas.as_ref())?;
                let kerberos = Kerberos::from_config(config, jaas.as_ref())?;
                return Ok(Self { mechanism: Mechanism::Kerberos(kerberos) });
            }
            "AWS_MSK_IAM" => {
                return Err(config_error(format!(
                    "sasl.mechanism={name} is a mechanism of AWS's Java library; instead, {}",
                    USE_MSK_IAM
                )));
            }
            _ => {
                let known = "GSSAPI, PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER";
                return Err(config_error(format!("sasl.mechanism={name}: expected one of {known}")));
            }
        };
        let jaas = parse_jaas(config)?;
        let module = match with {
            PasswordMechanism::Plain => LoginModule::Plain,
            PasswordMechanism::Scram(_) => LoginModule::Scram,
        };
        check_module(name, module, jaas.as_ref())?;
        let (username, password) = user(config, jaas.as_ref())?;
        with.check(&username, &password)?;
        let option = jaas.as_ref().and_then(|jaas| jaas.option("tokenauth"));
        let in_jaas = option.is_some_and(|value| value.expose().eq_ignore_ascii_case("true"));
        let token = in_jaas || config.sasl_scram_tokenauth;
        let credentials = Mutex::new(Credentials { username, password, token });
        Ok(Self { mechanism: Mechanism::Password { with, credentials } })
    }

    /// Replaces the user name and the password. Connections that are authenticated from now on use them.
    ///
    /// # Errors
    /// [`Kind::Config`]: the mechanism has none, or cannot send these.
    pub fn set_credentials(&self, username: String, password: Secret) -> Result<()> {
        let Mechanism::Password { with, credentials } = &self.mechanism else {
            let message = format!("sasl.mechanism={} has no user name and password to set", self.mechanism());
            return Err(config_error(message));
        };
        if username.is_empty() || password.is_empty() {
            return Err(config_error("the user name or the password is empty"));
        }
        with.check(&username, &password)?;
        let mut credentials = credentials.lock();
        (credentials.username, credentials.password) = (username, password);
        Ok(())
    }

    /// The mechanism's name.
    #[must_use]
    pub fn mechanism(&self) -> &'static str {
        match &self.mechanism {
            Mechanism::Password { with, .. } => match with {
                PasswordMechanism::Plain => "PLAIN",
                PasswordMechanism::Scram(Hash::Sha256) => "SCRAM-SHA-256",
                PasswordMechanism::Scram(Hash::Sha512) => "SCRAM-SHA-512",
            },
            Mechanism::Bearer(_) => "OAUTHBEARER",
            Mechanism::Kerberos(_) => "GSSAPI",
        }
    }

    /// What to check if a broker refuses the credentials.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match &self.mechanism {
            Mechanism::Password { with: PasswordMechanism::Scram(_), credentials }
                if credentials.lock().token =>
            {
                "check that the delegation token has not expired, and that the user name is its id and the password its HMAC in base64"
            }
            _ => "check the user name and the password, or the token",
        }
    }

    /// Checks that the environment provides what the mechanism requires.
    pub fn check(&self, environment: &Environment) -> Result<()> {
        match &self.mechanism {
            Mechanism::Bearer(tokens) => tokens.check(environment),
            Mechanism::Kerberos(kerberos) => kerberos.check(),
            Mechanism::Password { .. } => Ok(()),
        }
    }

    /// Discards cached credentials that the broker rejected.
    pub async fn discard_credentials(&self) {
        if let Mechanism::Bearer(tokens) = &self.mechanism {
            tokens.discard().await;
        }
    }

    /// Starts an exchange with the broker at `host`; returns it with its first message.
    pub async fn start(&self, host: &str, environment: &Environment) -> Result<(SaslExchange, SecretBytes)> {
        match &self.mechanism {
            Mechanism::Password { with, credentials } => {
                let credentials = credentials.lock().clone();
                match with {
                    PasswordMechanism::Plain => {
                        let Credentials { username, password, .. } = &credentials;
                        let message = format!("\0{username}\0{}", password.expose());
                        Ok((SaslExchange(State::Last), SecretBytes(message.into())))
                    }
                    PasswordMechanism::Scram(hash) => {
                        let client = scram::Client::new(*hash, credentials, nonce()?);
                        let first = client.first().into();
                        Ok((SaslExchange(State::Scram(client)), SecretBytes(first)))
                    }
                }
            }
            Mechanism::Bearer(tokens) => {
                let message = tokens.message(environment).await?;
                let bytes = Bytes::copy_from_slice(message.expose().as_bytes());
                Ok((SaslExchange(State::Bearer), SecretBytes(bytes)))
            }
            Mechanism::Kerberos(kerberos) => {
                let (client, first) = kerberos.start(host).await?;
                Ok((SaslExchange(State::Kerberos(client)), SecretBytes(first.into())))
            }
        }
    }
}

/// Checks that a delegation token is used with SCRAM, by which alone brokers accept it (KIP-48).
fn check_tokenauth(config: &Config) -> Result<()> {
    let name = config.sasl_mechanism.as_str();
    if config.sasl_scram_tokenauth && ["PLAIN", "OAUTHBEARER", "GSSAPI"].contains(&name) {
        return Err(config_error(format!(
            "sasl.scram.tokenauth=true does not work with sasl.mechanism={name}: delegation tokens need SCRAM-SHA-256 or SCRAM-SHA-512"
        )));
    }
    Ok(())
}

fn parse_jaas(config: &Config) -> Result<Option<Jaas>> {
    if config.sasl_jaas_config.is_empty() {
        return Ok(None);
    }
    if config.sasl_scram_tokenauth {
        return Err(config_error(
            "sasl.jaas.config and sasl.scram.tokenauth are both set: set tokenauth=\"true\" in sasl.jaas.config, or use sasl.username and sasl.password",
        ));
    }
    if !config.sasl_username.is_empty() || !config.sasl_password.is_empty() {
        return Err(config_error(
            "sasl.jaas.config and sasl.username/sasl.password are both set: choose one",
        ));
    }
    config.sasl_jaas_config.expose().parse().map(Some)
}

fn check_module(mechanism: &str, module: LoginModule, jaas: Option<&Jaas>) -> Result<()> {
    match jaas {
        Some(jaas) if jaas.module != module => {
            let configured = jaas.module;
            Err(config_error(format!(
                "sasl.jaas.config is for {configured}, but sasl.mechanism={mechanism} needs {module}"
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
            "sasl.mechanism={} needs {missing}: set sasl.username and sasl.password, or sasl.jaas.config",
            config.sasl_mechanism
        );
        return Err(config_error(message));
    }
    Ok((username, password))
}

/// 144 random bits as printable text.
fn nonce() -> Result<String> {
    let mut bytes = [0; 18];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled
        .map_err(|_| Error::new(Kind::Authentication, "the operating system provides no random numbers"))?;
    Ok(base64::engine::general_purpose::STANDARD.encode(bytes))
}

/// The client's side of one exchange with one broker.
#[derive(Debug)]
pub struct SaslExchange(State);

#[derive(Debug)]
enum State {
    /// The last message is sent; the broker accepts or rejects it.
    Last,
    /// Expects the server's first message.
    Scram(scram::Client),
    /// Expects the server's signature.
    ScramFinal(scram::Client),
    /// Expects that the broker accepts the token, or says what is wrong with it.
    Bearer,
    /// Expects the broker's next token or its offer.
    Kerberos(kerberos::Client),
    /// The exchange has ended.
    Ended,
}

impl SaslExchange {
    /// The reply to the broker's message; `None` once authentication is complete.
    pub async fn reply(&mut self, challenge: Bytes) -> Result<Option<SecretBytes>> {
        match std::mem::replace(&mut self.0, State::Ended) {
            State::Last => Ok(None),
            State::Bearer if challenge.is_empty() => Ok(None),
            // RFC 7628, 3.2.3: the broker's rejection is the response to this message.
            State::Bearer => Ok(Some(SecretBytes(Bytes::from_static(b"\x01")))),
            State::Scram(mut client) => {
                // Thousands of hash iterations take milliseconds and would block the runtime.
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
                let (client, reply) = client.reply_blocking(challenge).await?;
                self.0 = if reply.last { State::Last } else { State::Kerberos(client) };
                Ok(Some(SecretBytes(reply.message.into())))
            }
            State::Ended => Err(Error::new(
                Kind::Authentication,
                "the broker sent a message after the end of the exchange",
            )),
        }
    }
}

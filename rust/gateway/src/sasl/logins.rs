//! [`Logins`]: the users of a gateway and their mechanisms, and the check of a message.
//!
//! Invariant: passwords are hashed on threads that may block, few at a time, so that strangers do not slow the sessions
//! of others.

use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ottla_client::security::scram::Hash;
use ottla_client::security::{FileBacked, Security};
use ottla_client::{Config, Error, Kind};
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::sasl_authenticate::SaslAuthenticateResponse;
use ottla_protocol::messages::sasl_handshake::{SaslHandshakeRequest, SaslHandshakeResponse};
use ottla_protocol::wire::SecretBytes;
use ring::rand::{SecureRandom, SystemRandom};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::credential::Credential;
use super::state::{Credentials, Login, Step};
use super::users::Users;
use super::{Mechanism, SaslConfig};

/// The passwords that are hashed at a time.
const HASHING_MAX: usize = 2;
/// The delay of a refusal, which makes guessing slow: Kafka's default of `connection.failed.authentication.delay.ms`.
const REFUSAL_DELAY: Duration = Duration::from_millis(100);

/// The logins of a gateway.
#[derive(Debug)]
pub(crate) struct Logins {
    users: FileBacked<Users>,
    /// How the gateway itself logs in to the cluster.
    security: Arc<Security>,
    client_id: String,
    allows_plain: bool,
    lifetime: Option<Duration>,
    hashing: Arc<Semaphore>,
    /// From which the credentials of users that do not exist are derived.
    secret: [u8; 32],
}

/// The response to a message of a client.
pub(super) struct Checked {
    pub(super) response: SaslAuthenticateResponse,
    /// Whether the exchange ended with a login.
    pub(super) is_complete: bool,
    /// Whether the login was refused; the connection must be closed.
    pub(super) is_refused: bool,
}

impl Logins {
    /// Reads the file of users. `has_privacy` says that nobody can read what clients send.
    pub(crate) fn new(config: &SaslConfig, cluster: &Config, has_privacy: bool) -> Result<Self, Error> {
        let (path, base) = (config.users.clone(), cluster.clone());
        let files = vec![path.to_string_lossy().into_owned()];
        Ok(Self {
            users: FileBacked::new(files, move || Users::read(&path, &base))?,
            security: Arc::new(Security::from_config(cluster)?),
            client_id: cluster.client_id.clone(),
            allows_plain: has_privacy || config.allow_plaintext_passwords,
            lifetime: config.lifetime,
            hashing: Arc::new(Semaphore::new(HASHING_MAX)),
            secret: random()?,
        })
    }

    /// Reads the file of users again. Users that do not exist have the same salts as before.
    pub(crate) fn reloaded(
        &self,
        config: &SaslConfig,
        cluster: &Config,
        has_privacy: bool,
    ) -> Result<Self, Error> {
        let read = Self::new(config, cluster, has_privacy)?;
        Ok(Self { hashing: Arc::clone(&self.hashing), secret: self.secret, ..read })
    }

    /// The mechanisms that clients may use now.
    fn offered(&self, users: &Users) -> Vec<Mechanism> {
        let is_offered = |mechanism: &Mechanism| match mechanism {
            Mechanism::Plain => self.allows_plain,
            _ => users.has(*mechanism),
        };
        Mechanism::ALL.into_iter().filter(is_offered).collect()
    }

    /// Begins an exchange.
    pub(super) async fn handshake(
        &self,
        login: &mut Login,
        request: &SaslHandshakeRequest,
    ) -> SaslHandshakeResponse {
        let users = self.users.current().await;
        let offered = self.offered(&users);
        let chosen = offered.iter().find(|mechanism| mechanism.name() == request.mechanism);
        let error_code = match chosen {
            Some(mechanism) => {
                login.choose(*mechanism);
                ErrorCode::None
            }
            None => ErrorCode::UnsupportedSaslMechanism,
        };
        let mechanisms = offered.iter().map(|mechanism| mechanism.name().to_owned()).collect();
        SaslHandshakeResponse { error_code: error_code.code(), mechanisms }
    }

    /// Checks a message of a client.
    pub(super) async fn authenticate(&self, login: &mut Login, message: &[u8]) -> Checked {
        let mechanism = login.mechanism();
        let users = self.users.current().await;
        let known = Known { users: &users, secret: &self.secret };
        let step = match nonce() {
            Ok(nonce) => login.process(message, &known, &nonce),
            Err(_) => Step::Refused,
        };
        let reply = match step {
            Step::Reply(reply) => {
                let response =
                    SaslAuthenticateResponse { auth_bytes: SecretBytes(reply.into()), ..Default::default() };
                return Checked { response, is_complete: false, is_refused: false };
            }
            Step::Done(reply) => Some(reply),
            Step::Check(user, password) => {
                let credential = known.credential(&user, Mechanism::Plain);
                let _permit = self.hashing.acquire().await;
                let checking = spawn_blocking(move || credential.is_password(password.expose()));
                (matches!(checking.await, Ok(true)) && login.confirm(&user)).then(String::new)
            }
            Step::Refused => None,
        };
        let Some(reply) = reply else {
            sleep(REFUSAL_DELAY).await;
            let name = mechanism.map_or("", Mechanism::name);
            let message = format!(
                "Authentication failed during authentication due to invalid credentials with SASL mechanism {name}"
            );
            let response = SaslAuthenticateResponse {
                error_code: ErrorCode::SaslAuthenticationFailed.code(),
                error_message: Some(message),
                ..Default::default()
            };
            return Checked { response, is_complete: false, is_refused: true };
        };
        login.complete(Instant::now(), self.lifetime);
        let lifetime = self.lifetime.map_or(0, |lifetime| lifetime.as_millis());
        let response = SaslAuthenticateResponse {
            auth_bytes: SecretBytes(reply.into()),
            session_lifetime_ms: i64::try_from(lifetime).unwrap_or(i64::MAX),
            ..Default::default()
        };
        Checked { response, is_complete: true, is_refused: false }
    }

    /// How the gateway logs in to a broker for a user, as of now.
    ///
    /// # Errors
    /// If the user has been removed since: without a section nobody acts as the gateway.
    pub(super) async fn upstream(&self, user: &str) -> Result<Arc<Security>, Error> {
        match self.users.current().await.upstream(user) {
            Some(own) => Ok(own.unwrap_or_else(|| Arc::clone(&self.security))),
            None => Err(Error::new(Kind::Authentication, "the user is not in the file of users any more")),
        }
    }

    /// The client id of the gateway's own requests.
    pub(super) fn client_id(&self) -> &str {
        &self.client_id
    }
}

/// The credentials of all users, also of those that do not exist.
struct Known<'a> {
    users: &'a Users,
    secret: &'a [u8],
}

impl Credentials for Known<'_> {
    fn credential(&self, user: &str, mechanism: Mechanism) -> Credential {
        let hash = match mechanism {
            Mechanism::Plain | Mechanism::ScramSha256 => Hash::Sha256,
            Mechanism::ScramSha512 => Hash::Sha512,
        };
        self.users.credential(user, mechanism).cloned().unwrap_or_else(|| {
            Credential::decoy(hash, self.users.usual_iterations(mechanism), self.secret, user)
        })
    }
}

/// 144 random bits as printable text.
fn nonce() -> Result<String, Error> {
    random::<18>().map(|bytes| BASE64.encode(bytes))
}

fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled
        .map_err(|_| Error::new(Kind::Authentication, "the operating system provides no random numbers"))?;
    Ok(bytes)
}

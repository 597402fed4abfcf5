//! GSSAPI (RFC 4752) as Kafka uses it: Kerberos with the system's library, without a security layer.
//!
//! The library may contact the KDC in each step of the exchange, so each step runs on one of a few
//! threads that may block. Invariants: the broker is authenticated before anything is negotiated;
//! encryption is left to TLS, and a broker that insists on a Kerberos security layer is rejected.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, OnceLock};

use ottla_gssapi::{Context, Credentials, Library, NAMES, Name, Step};

use super::config_error;
use super::jaas::Jaas;
use crate::config::Config;
use crate::error::{Error, Kind, Result};
use crate::tasks::blocking::BlockingPool;

/// Steps that may wait for a KDC at a time; a step that hangs occupies a thread until it ends.
const MAX_THREADS: usize = 8;
static THREADS: LazyLock<BlockingPool> = LazyLock::new(|| BlockingPool::new("a call of GSSAPI", MAX_THREADS));

/// The bit for "no security layer" in the broker's offer.
const NO_LAYER: u8 = 1;

/// Numbers the in-memory ticket caches: each client that logs in with a keytab has its own.
static CACHES: AtomicU64 = AtomicU64::new(0);

/// The library, opened once per process.
fn library() -> Result<&'static Library> {
    static OPENED: OnceLock<&'static Library> = OnceLock::new();
    if let Some(library) = OPENED.get() {
        return Ok(library);
    }
    let opened = Library::open(NAMES).map_err(|error| {
        let message = "sasl.mechanism=GSSAPI needs the system's Kerberos library: install libgssapi-krb5-2 (Debian, Ubuntu) or krb5-libs (Fedora, Red Hat)";
        Error::new(Kind::Config, error.to_string()).prefixed(message)
    })?;
    Ok(OPENED.get_or_init(|| opened))
}

/// Where this client's tickets come from.
#[derive(Debug, Clone)]
enum Login {
    /// From the default cache, as filled by `kinit` (`KRB5CCNAME`).
    Environment,
    /// From a cache that the configuration names.
    Cache(String),
    /// From a keytab.
    Keytab { path: String, principal: Option<String>, cache: String },
}

/// The brokers' service name, and this client's credentials.
#[derive(Debug, Clone)]
pub struct Kerberos {
    service: String,
    login: Login,
}

impl Kerberos {
    /// Reads the configuration.
    pub(super) fn from_config(config: &Config, jaas: Option<&Jaas>) -> Result<Self> {
        let option =
            |name: &str| jaas.and_then(|jaas| jaas.option(name)).map(|value| value.expose().to_owned());
        let is_true = |name: &str| option(name).is_some_and(|value| value.eq_ignore_ascii_case("true"));
        let non_empty = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let service = non_empty(&config.sasl_kerberos_service_name).or_else(|| option("serviceName"));
        let service = service.ok_or_else(|| {
            config_error("sasl.mechanism=GSSAPI (Kerberos, the default) needs sasl.kerberos.service.name, usually kafka; for another mechanism, set sasl.mechanism to PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER, as the listener offers")
        })?;
        if !config.sasl_username.is_empty() || !config.sasl_password.is_empty() {
            return Err(config_error(
                "sasl.mechanism=GSSAPI does not use sasl.username and sasl.password: get a ticket with kinit, or set sasl.kerberos.keytab; or set another sasl.mechanism",
            ));
        }
        let from_jaas = || is_true("useKeyTab").then(|| option("keyTab")).flatten();
        let principal = non_empty(&config.sasl_kerberos_principal).or_else(|| option("principal"));
        let login = match non_empty(&config.sasl_kerberos_keytab).or_else(from_jaas) {
            Some(path) => {
                // Java also accepts a URL.
                let path = path.strip_prefix("file:").unwrap_or(&path).to_owned();
                if !std::path::Path::new(&path).is_file() {
                    return Err(config_error(format!(
                        "sasl.kerberos.keytab: the file {path} does not exist"
                    )));
                }
                let number = CACHES.fetch_add(1, Ordering::Relaxed);
                let cache = format!("MEMORY:ottla-{}-{number}", std::process::id());
                Login::Keytab { path, principal, cache }
            }
            None if is_true("useKeyTab") => {
                return Err(config_error("sasl.jaas.config: useKeyTab=true needs keyTab"));
            }
            None if principal.is_some() && jaas.is_none() => {
                return Err(config_error(
                    "sasl.kerberos.principal requires sasl.kerberos.keytab, which is not set",
                ));
            }
            None => option("ticketCache").map_or(Login::Environment, Login::Cache),
        };
        Ok(Self { service, login })
    }

    /// Checks that the system has the library.
    pub(super) fn check(&self) -> Result<()> {
        library().map(drop)
    }

    /// Starts an exchange with the broker at `host`; returns it with its first message.
    pub(super) async fn start(&self, host: &str) -> Result<(Client, Vec<u8>)> {
        let (this, host) = (self.clone(), host.to_owned());
        run_blocking(move || {
            let principal = format!("{}/{host}", this.service);
            let keytab = matches!(this.login, Login::Keytab { .. });
            let library = library()?;
            let context =
                this.context(library, &host).map_err(|error| describe_failure(&error, &principal, keytab))?;
            let mut client = Client::new(Box::new(context), principal, keytab);
            let first = client.first()?;
            Ok((client, first))
        })
        .await
    }

    fn context(
        &self,
        library: &'static Library,
        host: &str,
    ) -> std::result::Result<Context, ottla_gssapi::Error> {
        let target = Name::service(library, &self.service, host)?;
        let credentials = match &self.login {
            Login::Environment => None,
            Login::Cache(path) => Some(Credentials::acquire(library, None, &[("ccache", path)])?),
            Login::Keytab { path, principal, cache } => {
                let name = principal.as_deref().map(|name| Name::principal(library, name)).transpose()?;
                let store = [("client_keytab", path.as_str()), ("ccache", cache.as_str())];
                Some(Credentials::acquire(library, name.as_ref(), &store)?)
            }
        };
        Ok(Context::new(target, credentials))
    }
}

/// Runs work that may wait for a KDC on one of the blocking threads.
async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    THREADS.run(work).await.map_err(|error| error.prefixed("GSSAPI").as_kind(Kind::Authentication))?
}

/// The part of a GSSAPI security context that the exchange uses; implemented by the library's, and by tests.
pub trait SecurityContext: Send + fmt::Debug {
    /// Continues with the broker's token; an empty one starts the context.
    fn step(&mut self, token: &[u8]) -> std::result::Result<Step, ottla_gssapi::Error>;
    /// Unwraps a message of the broker.
    fn unwrap(&mut self, message: &[u8]) -> std::result::Result<Vec<u8>, ottla_gssapi::Error>;
    /// Wraps a message for the broker.
    fn wrap(&mut self, message: &[u8]) -> std::result::Result<Vec<u8>, ottla_gssapi::Error>;
}

impl SecurityContext for Context {
    fn step(&mut self, token: &[u8]) -> std::result::Result<Step, ottla_gssapi::Error> {
        Self::step(self, token)
    }
    fn unwrap(&mut self, message: &[u8]) -> std::result::Result<Vec<u8>, ottla_gssapi::Error> {
        Self::unwrap(self, message)
    }
    fn wrap(&mut self, message: &[u8]) -> std::result::Result<Vec<u8>, ottla_gssapi::Error> {
        Self::wrap(self, message)
    }
}

/// The client's side of one exchange with one broker.
#[derive(Debug)]
pub struct Client {
    context: Box<dyn SecurityContext>,
    /// The broker's principal, for errors.
    principal: String,
    /// Whether this client uses a keytab, not only tickets; for errors.
    keytab: bool,
    /// Whether both sides are authenticated.
    established: bool,
}

/// The client's next message.
#[derive(Debug, PartialEq, Eq)]
pub struct Reply {
    /// The message.
    pub message: Vec<u8>,
    /// Whether it is the last message.
    pub last: bool,
}

impl Client {
    /// An exchange with the broker of this principal (`service/host`), with a keytab or with tickets.
    #[must_use]
    pub fn new(context: Box<dyn SecurityContext>, principal: String, keytab: bool) -> Self {
        Self { context, principal, keytab, established: false }
    }

    /// The first message.
    pub fn first(&mut self) -> Result<Vec<u8>> {
        self.step(&[])
    }

    /// The reply to the broker's message.
    pub fn reply(&mut self, challenge: &[u8]) -> Result<Reply> {
        if !self.established {
            return Ok(Reply { message: self.step(challenge)?, last: false });
        }
        let offer = self.context.unwrap(challenge).map_err(|error| self.describe_failure(&error))?;
        let fail = |why: String| Err(Error::new(Kind::Authentication, format!("GSSAPI: {why}")));
        let [layers, ..] = offer.as_slice() else { return fail("the broker's offer is empty".to_owned()) };
        if offer.len() != 4 {
            return fail(format!("the broker's offer has {} bytes instead of 4", offer.len()));
        }
        if layers & NO_LAYER == 0 {
            return fail("the broker insists on a security layer, which Kafka does not use".to_owned());
        }
        // No layer, hence no maximum message size; and the authorization id is that of the ticket.
        let wrapped = self.context.wrap(&[NO_LAYER, 0, 0, 0]);
        let message = wrapped.map_err(|error| self.describe_failure(&error))?;
        Ok(Reply { message, last: true })
    }

    /// Runs [`Client::reply`] on a thread that may block.
    pub(super) async fn reply_blocking(mut self, challenge: bytes::Bytes) -> Result<(Self, Reply)> {
        run_blocking(move || {
            let reply = self.reply(&challenge)?;
            Ok((self, reply))
        })
        .await
    }

    fn describe_failure(&self, error: &ottla_gssapi::Error) -> Error {
        describe_failure(error, &self.principal, self.keytab)
    }

    fn step(&mut self, token: &[u8]) -> Result<Vec<u8>> {
        let step = self.context.step(token).map_err(|error| self.describe_failure(&error))?;
        self.established = step.complete;
        Ok(step.token)
    }
}

/// The library's message, with what to do.
fn describe_failure(error: &ottla_gssapi::Error, principal: &str, keytab: bool) -> Error {
    let text = error.to_string();
    let has = |parts: &[&str]| parts.iter().all(|part| text.contains(part));
    let hint = if has(&["annot contact any KDC"]) {
        "the key distribution center cannot be reached: check krb5.conf (KRB5_CONFIG) and the network"
    } else if has(&["annot find KDC"]) {
        "krb5.conf (KRB5_CONFIG) names no key distribution center for the realm"
    } else if has(&["Server krbtgt", "not found"]) {
        "krb5.conf (KRB5_CONFIG) maps the broker's host to a realm that this client cannot reach"
    } else if has(&["Server ", "not found"]) {
        "Kerberos does not know the broker by this name: check sasl.kerberos.service.name, and that the brokers advertise the host names of their principals"
    } else if has(&["lock skew"]) {
        "the clocks of this host and the key distribution center differ too much"
    } else if has(&["making a security context"]) && !has(&["redentials"]) && !has(&["expired"]) {
        "the broker's log may say more"
    } else if keytab {
        "check that sasl.kerberos.keytab contains the current key of sasl.kerberos.principal, and that the principal exists"
    } else {
        "get a ticket with kinit, or set sasl.kerberos.keytab"
    };
    Error::new(Kind::Authentication, format!("GSSAPI with {principal}: {text}: {hint}"))
}

//! GSSAPI (RFC 4752) as Kafka uses it: Kerberos by the system's library, and no security layer.
//!
//! The conversation does no I/O of its own, but the library asks the KDC: so each of its steps runs on a
//! thread that may wait, few at a time. Invariants: the other side has proven who it is before
//! anything is agreed on; what is encrypted is TLS's matter, and a broker that insists on a layer
//! of Kerberos's own is refused.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, OnceLock};

use ottla_gssapi::{Context, Credentials, Library, NAMES, Name, Step};

use super::jaas::Jaas;
use crate::config::Config;
use crate::error::{Error, Kind, Result};
use crate::tasks::blocking::Aside;

/// Steps that may wait for a KDC at a time; one that hangs keeps its place until it is over.
const AT_ONCE: usize = 8;
static THREADS: LazyLock<Aside> = LazyLock::new(|| Aside::new("a call of GSSAPI", AT_ONCE));

/// The mark of "no security layer" in the broker's offer.
const NO_LAYER: u8 = 1;

/// Each client that logs in with a key has a cache of tickets of its own, in memory.
static CACHES: AtomicU64 = AtomicU64::new(0);

/// The library, opened once a process.
fn library() -> Result<&'static Library> {
    static OPENED: OnceLock<&'static Library> = OnceLock::new();
    if let Some(library) = OPENED.get() {
        return Ok(library);
    }
    let opened = Library::open(NAMES).map_err(|error| {
        let words = "sasl.mechanism=GSSAPI needs the system's Kerberos: install libgssapi-krb5-2 (Debian, Ubuntu) or krb5-libs (Fedora, Red Hat)";
        Error::new(Kind::Config, error.to_string()).because(words)
    })?;
    Ok(OPENED.get_or_init(|| opened))
}

/// Where this client's tickets come from.
#[derive(Debug, Clone)]
enum Login {
    /// From the cache that the environment names, as `kinit` filled it.
    Environment,
    /// From a cache that the configuration names.
    Cache(String),
    /// From a key.
    Keytab { path: String, principal: Option<String>, cache: String },
}

/// The brokers' service, and who this client is.
#[derive(Debug, Clone)]
pub struct Kerberos {
    service: String,
    login: Login,
}

fn wrong(message: impl Into<String>) -> Error {
    Error::new(Kind::Config, message)
}

impl Kerberos {
    /// What the configuration says.
    pub(super) fn from_config(config: &Config, jaas: Option<&Jaas>) -> Result<Self> {
        let option =
            |name: &str| jaas.and_then(|jaas| jaas.option(name)).map(|value| value.expose().to_owned());
        let is = |name: &str| option(name).is_some_and(|value| value.eq_ignore_ascii_case("true"));
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let service = given(&config.sasl_kerberos_service_name).or_else(|| option("serviceName"));
        let service = service.ok_or_else(|| {
            wrong("sasl.mechanism=GSSAPI, which is the default, is Kerberos and needs sasl.kerberos.service.name (usually kafka); or set PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER, as the listener offers")
        })?;
        if !config.sasl_username.is_empty() || !config.sasl_password.is_empty() {
            return Err(wrong(
                "sasl.mechanism=GSSAPI has no use for sasl.username and sasl.password: it takes tickets (kinit) or sasl.kerberos.keytab",
            ));
        }
        let from_jaas = || is("useKeyTab").then(|| option("keyTab")).flatten();
        let principal = given(&config.sasl_kerberos_principal).or_else(|| option("principal"));
        let login = match given(&config.sasl_kerberos_keytab).or_else(from_jaas) {
            Some(path) => {
                // Java has it with the scheme, too.
                let path = path.strip_prefix("file:").unwrap_or(&path).to_owned();
                if !std::path::Path::new(&path).is_file() {
                    return Err(wrong(format!("sasl.kerberos.keytab: there is no file {path}")));
                }
                let number = CACHES.fetch_add(1, Ordering::Relaxed);
                let cache = format!("MEMORY:ottla-{}-{number}", std::process::id());
                Login::Keytab { path, principal, cache }
            }
            None if is("useKeyTab") => {
                return Err(wrong("sasl.jaas.config: useKeyTab=true needs keyTab"));
            }
            None if principal.is_some() && jaas.is_none() => {
                return Err(wrong(
                    "sasl.kerberos.principal belongs to sasl.kerberos.keytab, which is not given",
                ));
            }
            None => option("ticketCache").map_or(Login::Environment, Login::Cache),
        };
        Ok(Self { service, login })
    }

    /// Whether the system has the library.
    pub(super) fn check(&self) -> Result<()> {
        library().map(drop)
    }

    /// Starts a conversation with a broker; with its first message.
    pub(super) async fn begin(&self, host: &str) -> Result<(Client, Vec<u8>)> {
        let (this, host) = (self.clone(), host.to_owned());
        waiting(move || {
            let named = format!("{}/{host}", this.service);
            let keytab = matches!(this.login, Login::Keytab { .. });
            let library = library()?;
            let context = this.context(library, &host).map_err(|error| explained(&error, &named, keytab))?;
            let mut client = Client::new(Box::new(context), named, keytab);
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

/// Runs what may wait for a KDC where it may.
async fn waiting<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    THREADS.run(work).await.map_err(|error| error.because("GSSAPI").as_kind(Kind::Authentication))?
}

/// What the conversation needs of a security context. The library's is one.
pub trait SecurityContext: Send + fmt::Debug {
    /// Goes on with what the other side has said; with nothing in the beginning.
    fn step(&mut self, token: &[u8]) -> std::result::Result<Step, ottla_gssapi::Error>;
    /// What the other side has wrapped.
    fn unwrap(&mut self, message: &[u8]) -> std::result::Result<Vec<u8>, ottla_gssapi::Error>;
    /// A message that only the other side takes for ours.
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

/// One exchange with one broker.
#[derive(Debug)]
pub struct Client {
    context: Box<dyn SecurityContext>,
    /// The broker's principal, for errors.
    named: String,
    /// Whether this client has a key, and not only tickets: for errors.
    keytab: bool,
    /// Whether both sides have proven who they are.
    established: bool,
}

/// What to say next.
#[derive(Debug, PartialEq, Eq)]
pub struct Reply {
    /// The message.
    pub message: Vec<u8>,
    /// Whether it is the last one.
    pub last: bool,
}

impl Client {
    /// An exchange with the broker of this principal (`service/host`), with a key or with tickets.
    #[must_use]
    pub fn new(context: Box<dyn SecurityContext>, named: String, keytab: bool) -> Self {
        Self { context, named, keytab, established: false }
    }

    /// The first message.
    pub fn first(&mut self) -> Result<Vec<u8>> {
        self.step(&[])
    }

    /// What to say to the broker's message.
    pub fn reply(&mut self, challenge: &[u8]) -> Result<Reply> {
        if !self.established {
            return Ok(Reply { message: self.step(challenge)?, last: false });
        }
        let offer = self.context.unwrap(challenge).map_err(|error| self.explained(&error))?;
        let refuse = |words: String| Err(Error::new(Kind::Authentication, format!("GSSAPI: {words}")));
        let [layers, ..] = offer.as_slice() else { return refuse("the broker's offer is empty".to_owned()) };
        if offer.len() != 4 {
            return refuse(format!("the broker's offer has {} bytes instead of 4", offer.len()));
        }
        if layers & NO_LAYER == 0 {
            return refuse("the broker insists on a security layer, which Kafka does not use".to_owned());
        }
        // No layer, so no largest message; and no other name than that of the ticket.
        let answer = self.context.wrap(&[NO_LAYER, 0, 0, 0]);
        let message = answer.map_err(|error| self.explained(&error))?;
        Ok(Reply { message, last: true })
    }

    /// As [`Client::reply`], where it may wait.
    pub(super) async fn reply_waiting(mut self, challenge: bytes::Bytes) -> Result<(Self, Reply)> {
        waiting(move || {
            let reply = self.reply(&challenge)?;
            Ok((self, reply))
        })
        .await
    }

    fn explained(&self, error: &ottla_gssapi::Error) -> Error {
        explained(error, &self.named, self.keytab)
    }

    fn step(&mut self, token: &[u8]) -> Result<Vec<u8>> {
        let step = self.context.step(token).map_err(|error| self.explained(&error))?;
        self.established = step.complete;
        Ok(step.token)
    }
}

/// The library's words, and what to do.
fn explained(error: &ottla_gssapi::Error, named: &str, keytab: bool) -> Error {
    let text = error.to_string();
    let has = |words: &[&str]| words.iter().all(|words| text.contains(words));
    let hint = if has(&["annot contact any KDC"]) {
        "the key distribution center cannot be reached: check krb5.conf (KRB5_CONFIG) and the network"
    } else if has(&["annot find KDC"]) {
        "krb5.conf (KRB5_CONFIG) names no key distribution center for the realm"
    } else if has(&["Server krbtgt", "not found"]) {
        "krb5.conf (KRB5_CONFIG) maps the broker's host to a realm that this client has no way to"
    } else if has(&["Server ", "not found"]) {
        "Kerberos does not know the broker by this name: check sasl.kerberos.service.name, and that the brokers advertise the host names of their principals"
    } else if has(&["lock skew"]) {
        "the clocks of this host and the key distribution center differ by too much"
    } else if has(&["initializing the security context"]) && !has(&["redentials"]) && !has(&["expired"]) {
        "the broker's log may say more"
    } else if keytab {
        "check that sasl.kerberos.keytab holds the present key of sasl.kerberos.principal, and that Kerberos knows it"
    } else {
        "get a ticket with kinit, or give sasl.kerberos.keytab"
    };
    Error::new(Kind::Authentication, format!("GSSAPI with {named}: {text}: {hint}"))
}

//! Security of connections: TLS, SASL, and their secrets.
//!
//! - `tls`: the handshake. `stores`, `pem`, `pem_blocks`, `pkcs12` and `java_stores` read its certificates and keys,
//!   `reload` reads changed files again, `cert_verifier` checks and records the peer's certificate (`peer`,
//!   `tls_info`), `tls_error` explains a failure, and `first_bytes` recognises peers without TLS. `tls_server` is the
//!   other side of the handshake.
//! - `sasl`: the mechanisms as message exchanges without I/O; `scram`, `jaas`.
//! - `kerberos`: GSSAPI, with the system's library.
//! - `oauth`: tokens for OAUTHBEARER and their sources. The interface for applications, `TokenProvider`, is in
//!   `environment`, and `Secret`, text that is never shown, at the root of the crate.
//!
//! Invariants: nothing falls back to less security than configured; no error, log line or `Debug`
//! output contains a secret; no class, library or function is loaded or called because a configuration
//! alone names it.

mod cert_verifier;
mod first_bytes;
pub mod jaas;
mod java_stores;
pub mod kerberos;
pub mod oauth;
mod peer;
mod pem;
mod pem_blocks;
mod pkcs12;
mod reload;
pub mod sasl;
pub mod scram;
mod stores;
pub mod tls;
mod tls_error;
mod tls_info;
mod tls_server;

pub(crate) use jaas::Jaas;
pub use peer::PeerCertificate;
pub use reload::FileBacked;
pub use sasl::Sasl;
pub use tls::Tls;
pub(crate) use tls_error::{client_certificate_missing, tls_error_in};
pub use tls_info::TlsInfo;
pub use tls_server::{AcceptedStream, TlsServer};

pub use crate::environment::{Token, TokenProvider};
pub use crate::secret::Secret;

use crate::config::Config;
use crate::environment::Environment;
use crate::error::{Error, Kind, Result};

/// What to do instead of AWS's login module and mechanism.
const USE_MSK_IAM: &str = "set sasl.mechanism=OAUTHBEARER and sasl.oauthbearer.token.provider=aws-msk-iam, which needs the extra ottla[aws]";

/// What to do instead of a callback handler that obtains tokens in Java.
const NAME_A_PROVIDER: &str = "name a Python callable that returns a token in sasl.oauthbearer.token.provider, as package.module:function, with sasl.mechanism=OAUTHBEARER, and list it in the environment variable OTTLA_TOKEN_PROVIDERS (those that ottla has are named in docs/guides/providers.md)";

/// How a client secures its connections: read and checked once, when the client is created.
#[derive(Debug, Default)]
pub struct Security {
    /// TLS, if `security.protocol` includes it.
    pub tls: Option<Tls>,
    /// SASL, if `security.protocol` includes it.
    pub sasl: Option<Sasl>,
}

impl Security {
    /// Reads the security configuration and the files that it names.
    pub fn from_config(config: &Config) -> Result<Self> {
        let protocol = config.security_protocol;
        Ok(Self {
            tls: protocol.has_tls().then(|| Tls::from_config(config)).transpose()?,
            sasl: protocol.has_sasl().then(|| Sasl::from_config(config)).transpose()?,
        })
    }

    /// Checks that the environment provides what the configuration requires, such as a token provider.
    pub fn check(&self, environment: &Environment) -> Result<()> {
        self.sasl.as_ref().map_or(Ok(()), |sasl| sasl.check(environment))
    }
}

/// The error for a security configuration that cannot be used.
fn config_error(message: impl Into<String>) -> Error {
    Error::new(Kind::Config, message)
}

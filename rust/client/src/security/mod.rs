//! Who the other side is and who we are: TLS, SASL, and the secrets for both.
//!
//! - `tls`: the handshake, with what `stores` and `pem` read, judged by `judge`; `tls_error`: why it
//!   failed, in words; `reload`: files that changed; `peer`: what the other side showed; `heard`: what
//!   answered instead.
//! - `sasl`: the mechanisms as conversations without I/O; `scram`, `jaas`.
//! - `kerberos`: GSSAPI, by the system's library.
//! - `oauth`: tokens for OAUTHBEARER and where they come from.
//!
//! Invariants: nothing falls back to less security than was asked for; a secret is in no error, no
//! log line and no `Debug`; no class or library is loaded because a configuration names it.

mod cert_verifier;
mod first_bytes;
pub mod jaas;
mod java_stores;
pub mod kerberos;
pub mod oauth;
mod peer;
mod pem;
mod reload;
pub mod sasl;
pub mod scram;
mod stores;
pub mod tls;
mod tls_error;
mod tls_fault;

pub(crate) use jaas::Jaas;
pub use peer::PeerCertificate;
pub use sasl::Sasl;
pub use tls::{Tls, TlsInfo};
pub(crate) use tls_error::{client_certificate_missing, tls_error_in};
pub(crate) use tls_fault::TlsFault;

pub use crate::environment::{Token, TokenProvider};
pub use crate::secret::Secret;

use crate::config::Config;
use crate::environment::Environment;
use crate::error::Result;

/// How a client secures its connections: read and checked once, when the client is made.
#[derive(Debug, Default)]
pub struct Security {
    /// TLS, where `security.protocol` asks for it.
    pub tls: Option<Tls>,
    /// SASL, where `security.protocol` asks for it.
    pub sasl: Option<Sasl>,
}

impl Security {
    /// What the configuration asks for; reads the files that it names.
    pub fn from_config(config: &Config) -> Result<Self> {
        let protocol = config.security_protocol;
        Ok(Self {
            tls: protocol.has_tls().then(|| Tls::from_config(config)).transpose()?,
            sasl: protocol.has_sasl().then(|| Sasl::from_config(config)).transpose()?,
        })
    }

    /// Whether the environment gives what the configuration leaves to it.
    pub fn check(&self, environment: &Environment) -> Result<()> {
        self.sasl.as_ref().map_or(Ok(()), |sasl| sasl.check(environment))
    }
}

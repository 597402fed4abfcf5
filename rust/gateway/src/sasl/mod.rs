//! SASL that ends at the gateway: clients log in to it, and it logs in to the brokers with credentials of its own.
//!
//! - `credential.rs`, `users.rs`: what the gateway knows of users, from a file.
//! - `scram.rs`, `state.rs`: a client's login as a state machine; no I/O.
//! - `logins.rs`: checks passwords beside the runtime, and limits how many at a time.
//! - `opening.rs`: a connection until its client is logged in, and the connection to a broker with it.
//! - `guard.rs`: a session after that: renewals of both logins (KIP-368).
//! - `upstream.rs`: the gateway's own login on a connection that carries a client's requests.
//!
//! Invariants: no request of a client reaches a broker before the client is logged in here, and the gateway there. No
//! password, key or proof is ever in a log, an error or a `Debug` output.

mod credential;
mod guard;
mod logins;
mod opening;
mod scram;
mod state;
mod upstream;
mod users;

pub(crate) use guard::{Guard, Ruling};
pub(crate) use logins::Logins;
pub(crate) use opening::{OpenError, open};

use std::path::PathBuf;
use std::time::Duration;

/// How clients log in to the gateway.
#[derive(Debug, Clone)]
pub struct SaslConfig {
    /// The file of users; read again when it changes.
    pub users: PathBuf,
    /// Whether clients may send their passwords (PLAIN), also without TLS and from other machines.
    pub allow_plaintext_passwords: bool,
    /// How long a login lasts (KIP-368); `None` as long as the connection.
    pub lifetime: Option<Duration>,
}

/// A mechanism of SASL that the gateway has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mechanism {
    /// A user name and a password.
    Plain,
    /// SCRAM-SHA-256.
    ScramSha256,
    /// SCRAM-SHA-512.
    ScramSha512,
}

impl Mechanism {
    pub(crate) const ALL: [Self; 3] = [Self::Plain, Self::ScramSha256, Self::ScramSha512];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::ScramSha256 => "SCRAM-SHA-256",
            Self::ScramSha512 => "SCRAM-SHA-512",
        }
    }
}

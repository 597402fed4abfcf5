//! A user and a password for a proxy. Invariant: neither is ever printed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::secret::Secret;

/// A user and a password.
#[derive(Debug, Clone)]
pub(super) struct Credentials {
    pub(super) user: Secret,
    pub(super) password: Secret,
}

impl Credentials {
    /// The value of the header `Proxy-Authorization`.
    pub(super) fn basic(&self) -> Secret {
        let pair = Secret::new(format!("{}:{}", self.user.expose(), self.password.expose()));
        Secret::new(format!("Basic {}", STANDARD.encode(pair.expose())))
    }
}

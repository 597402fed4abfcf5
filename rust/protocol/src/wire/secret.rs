//! Bytes that must not be printed: credentials inside messages.

use std::fmt;

use bytes::Bytes;

/// A secret in a message (SASL bytes, salted passwords, token HMACs). `Debug` prints only the length, so
/// that messages can be logged.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SecretBytes(pub Bytes);

impl fmt::Debug for SecretBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{} secret bytes>", self.0.len())
    }
}

impl From<Bytes> for SecretBytes {
    fn from(bytes: Bytes) -> Self {
        Self(bytes)
    }
}

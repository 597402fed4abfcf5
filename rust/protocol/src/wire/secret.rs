//! Bytes that must not be printed: credentials inside messages.

use std::fmt;

use bytes::Bytes;

/// A secret on the wire (SASL bytes, salted passwords, token HMACs). Its `Debug` shows only the
/// length, so that a message can be logged whole.
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

//! Passwords, keys and tokens: text that is never printed and is wiped from memory when dropped.
//!
//! Configuration, SASL and TLS hold their credentials in it. Invariant: only [`Secret::expose`] gives the
//! text away; `Debug` and `Display` never do.

use std::fmt;

use zeroize::Zeroizing;

/// A password, a key or a token. `Debug` and `Display` hide it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Wraps `text`.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    /// The text itself, to be sent to a peer and never to be printed.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether the text is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_empty() { "<none>" } else { "<hidden>" })
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

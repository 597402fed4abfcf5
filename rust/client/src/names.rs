//! The names that requests carry: of topics, groups, members, transactions and clients.
//!
//! Invariant: a name that no request has room for is refused where it is passed. Each request with it would fail, and
//! those for others with it.

use crate::error::{Error, Kind, Result};

/// The most bytes of a name that a request has room for.
pub(crate) const MAX_NAME: usize = i16::MAX as usize;

/// Refuses a name that no request has room for: each request with it fails.
///
/// # Errors
/// `Config`, with the beginning of the name.
pub fn check_name(what: &str, name: &str) -> Result<()> {
    if name.len() <= MAX_NAME {
        return Ok(());
    }
    let shown: String = name.chars().take(20).collect();
    let message =
        format!("{what} {shown:?}… has {} bytes, and a name in Kafka at most {MAX_NAME}", name.len());
    Err(Error::new(Kind::Config, message))
}

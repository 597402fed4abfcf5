//! Kerberos by the system's GSSAPI library (RFC 2743, RFC 2744): MIT's or Heimdal's, opened when a
//! connection wants it. Nothing is linked: a wheel works where there is no Kerberos.
//!
//! Invariants: only `ffi.rs` has `unsafe`, and what it hands out owns what the library gave: names,
//! contexts, credentials and buffers are released exactly once. All calls may wait for a KDC, so they
//! belong on a thread that may wait.

mod ffi;

use std::fmt;

pub use ffi::{Context, Credentials, Library, Name};

/// The names under which systems have the library, the more usual first.
#[cfg(target_os = "linux")]
pub const NAMES: &[&str] = &["libgssapi_krb5.so.2", "libgssapi.so.3", "libgssapi_krb5.so", "libgssapi.so"];
/// The names under which systems have the library, the more usual first.
#[cfg(any(target_os = "freebsd", target_os = "netbsd", target_os = "openbsd"))]
pub const NAMES: &[&str] = &["libgssapi_krb5.so.2", "libgssapi_krb5.so", "libgssapi.so.10", "libgssapi.so"];
/// Elsewhere the library's types are laid out differently, and nobody has tried.
#[cfg(not(any(target_os = "linux", target_os = "freebsd", target_os = "netbsd", target_os = "openbsd")))]
pub const NAMES: &[&str] = &[];

/// What went wrong, in the library's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no such library.
    #[error("no GSSAPI library was found (tried {tried})")]
    NotFound {
        /// What was looked for.
        tried: String,
    },
    /// The library lacks a function.
    #[error("the GSSAPI library {library} has no {function}")]
    Lacks {
        /// The library.
        library: String,
        /// The function.
        function: &'static str,
    },
    /// A call failed.
    #[error("{during}: {words}")]
    Failed {
        /// What was being done.
        during: &'static str,
        /// The library's own words.
        words: String,
    },
    /// Text that C cannot hold.
    #[error("a name or a path with a zero character")]
    Zero,
}

/// What a step of making a context gives.
#[derive(Clone, PartialEq, Eq)]
pub struct Step {
    /// What to send to the other side, if anything.
    pub token: Vec<u8>,
    /// Whether the context is there.
    pub complete: bool,
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A token proves who somebody is.
        f.debug_struct("Step").field("token", &self.token.len()).field("complete", &self.complete).finish()
    }
}

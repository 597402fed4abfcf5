//! Kerberos through the system's GSSAPI library (RFC 2743, RFC 2744): MIT's or Heimdal's.
//!
//! The library is opened when a connection needs it. Nothing is linked, so a wheel also works where
//! Kerberos is not installed. Invariants: only `ffi` contains `unsafe`, and its types own the library's
//! names, contexts, credentials and buffers and release each exactly once. Any call may wait for a KDC, so
//! call from a thread that may block.

mod ffi;

use std::fmt;

pub use ffi::{Context, Credentials, Library, Name};

/// The file names of the library, the most common first.
#[cfg(target_os = "linux")]
pub const NAMES: &[&str] = &["libgssapi_krb5.so.2", "libgssapi.so.3", "libgssapi_krb5.so", "libgssapi.so"];
/// The file names of the library, the most common first.
#[cfg(any(target_os = "freebsd", target_os = "netbsd", target_os = "openbsd"))]
pub const NAMES: &[&str] = &["libgssapi_krb5.so.2", "libgssapi_krb5.so", "libgssapi.so.10", "libgssapi.so"];
/// Empty: on other systems the library's types have another layout, and this crate is untested.
#[cfg(not(any(target_os = "linux", target_os = "freebsd", target_os = "netbsd", target_os = "openbsd")))]
pub const NAMES: &[&str] = &[];

/// An error of the GSSAPI library.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No library was found.
    #[error("no GSSAPI library was found (tried {tried})")]
    NotFound {
        /// The file names that were tried.
        tried: String,
    },
    /// The library lacks a function.
    #[error("the GSSAPI library {library} has no {function}")]
    MissingFunction {
        /// The library.
        library: String,
        /// The function.
        function: &'static str,
    },
    /// A call failed.
    #[error("{operation}: {message}")]
    CallFailed {
        /// The operation that failed.
        operation: &'static str,
        /// The library's message.
        message: String,
    },
    /// A name or a path contains a NUL character.
    #[error("a name or a path contains a NUL character")]
    NulByte,
}

/// The result of one step of a context's initialization.
#[derive(Clone, PartialEq, Eq)]
pub struct Step {
    /// The token to send to the peer; may be empty.
    pub token: Vec<u8>,
    /// Whether the context is complete.
    pub complete: bool,
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A token is a secret: print only its length.
        f.debug_struct("Step").field("token", &self.token.len()).field("complete", &self.complete).finish()
    }
}

//! The primitive types of Kafka's protocol, read from and written to buffers.
//!
//! Owns: [`Reader`], [`Writer`], [`WireError`]. Invariant: no announced length or count takes
//! memory before it was checked against the bytes that are left.

use thiserror::Error;

/// What is wrong with bytes that a peer sent, or with a value that cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum WireError {
    /// Fewer bytes are left than the value needs.
    #[error("{what} needs {needed} bytes, {left} are left")]
    Short {
        /// What was being read.
        what: &'static str,
        /// Bytes needed.
        needed: usize,
        /// Bytes left.
        left: usize,
    },
}

/// The result of reading or writing wire bytes.
pub type Result<T, E = WireError> = std::result::Result<T, E>;

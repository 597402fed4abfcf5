//! Kafka's bytes as Rust values and back: no I/O, no clock, no runtime.
//!
//! - [`wire`]: the primitive types of the protocol, read from and written to buffers.
//! - [`api`] and [`header`]: API keys, versions, headers and frames.
//! - [`messages`]: one file per API, the request and the response of every version.
//! - [`records`]: record batches, the hot path, by hand.
//!
//! Everything that is read here comes from a peer: lengths and counts are checked against the
//! bytes that are left before any memory is taken, and nothing panics.

pub mod api;
#[cfg(feature = "describe")]
pub mod describe;
pub mod error_code;
pub mod header;
pub mod messages;
pub mod records;
pub mod wire;

pub use api::{ApiKey, Request};
pub use error_code::ErrorCode;
pub use messages::Message;
pub use wire::{Result, WireError};

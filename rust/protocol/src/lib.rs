#![doc = include_str!("../README.md")]
//! # Modules
//!
//! - [`wire`]: the primitive types of the protocol, read from and written to buffers.
//! - [`api`] and [`header`]: API keys, versions, headers and frames.
//! - [`messages`]: one file per API, with all versions of its request and response.
//! - `layout`, `fields` and `numbers`: the layouts of messages as data, to look into one without decoding it.
//! - `value`: messages as untyped trees, for callers in another language.
//! - [`records`]: record batches, the hot path, written by hand.
//! - [`otlp`]: the metrics that PushTelemetry carries.
//!
//! Invariant: all input comes from a peer. Lengths and counts are checked against the remaining bytes
//! before any memory is allocated, and nothing panics.

pub mod api;
pub mod error_code;
#[cfg(feature = "layout")]
pub mod fields;
pub mod header;
#[cfg(feature = "layout")]
pub mod layout;
pub mod messages;
#[cfg(feature = "layout")]
pub mod numbers;
pub mod otlp;
pub mod records;
#[cfg(feature = "schema")]
pub mod schema;
#[cfg(feature = "value")]
pub mod value;
pub mod wire;

pub use api::{ApiKey, Request};
pub use error_code::ErrorCode;
pub use messages::Message;
pub use wire::{Result, WireError};

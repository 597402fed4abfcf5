//! The primitive types of Kafka's protocol, read from and written to buffers.
//!
//! - [`Reader`] borrows from one frame and never trusts a length that the frame announces.
//! - [`Writer`] makes a [`Frame`]: a list of byte segments, so that record batches go to the
//!   socket without being copied.
//! - [`Field`] is what a type needs so that the schema notation in [`crate::messages`] can use it.
//!
//! Source: <https://kafka.apache.org/protocol#protocol_types>, KIP-482 (flexible versions).

mod error;
mod field;
mod reader;
mod secret;
mod uuid;
mod writer;

pub use error::{Result, WireError};
pub use field::{Context, Field, Nullable, Records};
pub use reader::Reader;
pub use secret::SecretBytes;
pub use uuid::Uuid;
pub use writer::{Frame, Writer};

//! The primitive types of Kafka's protocol, read from and written to buffers.
//!
//! - [`Reader`] reads from one frame and checks every length that the frame announces.
//! - [`Writer`] builds a [`Frame`]: a list of byte segments, so that record batches reach the socket
//!   without being copied.
//! - [`Field`] is the trait of all types in the schema notation of [`crate::messages`].
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
pub use uuid::{InvalidUuid, Uuid};
pub use writer::{Frame, Writer};

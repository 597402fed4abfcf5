//! Values of records within themselves, which have no columns, for objects that are read and written one by one.
//!
//! - `reader` decodes payloads to the reader's schema with `transcode`: the column has the values in Avro's encoding.
//! - `nodes` compiles a schema for `objects`, which decodes such a value to an object and encodes one.
//! - `traits`: what a caller's objects can do.
//!
//! What is not recursive within such a value is decoded and encoded as a column with one row, by the same steps as any
//! column.
//!
//! Invariant: a value is as deep as [`MAX_LEVELS`](super::input::MAX_LEVELS) at most, in every direction.

mod nodes;
mod objects;
mod reader;
mod traits;
mod transcode;

pub use self::objects::AvroObjects;
pub(crate) use self::reader::RecursiveReader;
pub use self::traits::{ObjectBuilder, ObjectSource};

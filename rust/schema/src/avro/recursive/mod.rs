//! Values of records within themselves, which have no columns, for objects that are read and written one by one.
//!
//! - `reader` decodes payloads to the reader's schema with `transcode`: the column has the values in Avro's encoding.
//! - `nodes` compiles a schema for `objects`: `decode` makes an object of such a value, and `encode` a value of an object.
//! - `traits`: what a caller's objects can do. `place`: where in an object an error is.
//!
//! What is not recursive within such a value is decoded and encoded as a column with one row, by the same steps as any
//! column.
//!
//! Invariant: a value is as deep as [`MAX_LEVELS`] at most, in every direction: what is written can be read. The values
//! that are open are on the heap, since the thread of a caller may have a small stack.

mod decode;
mod encode;
mod nodes;
mod objects;
mod place;
mod reader;
mod traits;
mod transcode;

pub use self::objects::AvroObjects;
pub(crate) use self::reader::RecursiveReader;
pub use self::traits::{ObjectBuilder, ObjectSource};

/// The records, arrays and maps that may be open at once: 100 records within themselves, with what is between them.
pub(super) const MAX_LEVELS: usize = 500;

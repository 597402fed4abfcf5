//! Record batches to Arrow columns and back, in one pass.
//!
//! - [`ArrowDecoder`] fills columns from fetched bytes, with the schema of Spark's Kafka source.
//! - [`Columns`] reads keys, values, headers, timestamps and partitions from Arrow columns of any
//!   fitting type, and [`Columns::append`] encodes rows into a batch.
//!
//! Invariant: offsets are 32 bits wide, as Spark's types are, and cannot overflow: a chunk is
//! closed before they would.

mod columns;
mod decode;
mod schema;

pub use columns::{Columns, ColumnsError, Row};
pub use decode::{
    ArrowDecoder, DEFAULT_MAX_ROWS, DEFAULT_TARGET_BYTES, DecodeCause, DecodeError, DecodedBatch,
    DecoderConfig, OffsetRange, PushOptions, Pushed, Span,
};
pub use schema::Column;

//! Record batches to Arrow columns and back, in one pass.
//!
//! - [`ArrowDecoder`] decodes fetched bytes into columns with the schema of Spark's Kafka source.
//! - [`RecordColumns`] reads keys, values, headers, timestamps and partitions from Arrow columns of any
//!   compatible type, and [`RecordColumns::append`] encodes rows into a record batch.
//! - [`ExportedReader`] makes a reader of batches safe to be called from C.
//!
//! Invariant: Arrow offsets have 32 bits, as Spark's types do, and cannot overflow: a batch is finished
//! before they would.

mod columns;
mod decode;
mod exported_reader;
mod schema;

pub use columns::{ColumnsError, RecordColumns, Row};
pub use decode::{
    ArrowDecoder, DEFAULT_MAX_ROWS, DEFAULT_TARGET_BYTES, DecodeCause, DecodeError, DecodeSummary,
    DecodedBatch, DecoderConfig, OffsetRange, PartitionSpan, PushOptions, RecordsCursor,
};
pub use exported_reader::ExportedReader;
pub use schema::Column;

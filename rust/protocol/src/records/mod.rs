//! Record batches: the contents of partition logs, Produce requests and Fetch responses.
//!
//! - [`BatchBuilder`] encodes records as they are appended; [`Compressor`] compresses the batch.
//! - [`Batches`] iterates over a partition's bytes, [`Batch`] reads a header, [`Records`] the records.
//! - [`OpenBatch`] is a batch that is read in steps, decompressed once.
//! - [`Decompressor`] owns the buffers and the size limit of decompression.
//! - [`rewrite`] changes the header of a finished batch, [`control`] writes and reads markers,
//!   [`AbortedTransactions`] selects the batches that a `read_committed` reader sees.
//!
//! Invariant: bytes from a broker are hostile. Every length and count must match the bytes; nothing here
//! panics, or allocates memory only because a header announces it.

mod aborted;
mod batch;
mod batches;
mod builder;
mod checksum;
mod codecs;
mod compression;
mod compression_config;
pub mod control;
mod encode;
mod error;
mod header;
mod layout;
mod legacy;
mod open_batch;
mod plain;
mod plain_reader;
mod record;
mod record_reader;
mod records_position;
pub mod rewrite;
mod varint;

pub use aborted::{AbortedTransaction, AbortedTransactions};
pub use batch::{Batch, TimestampType};
pub use batches::Batches;
pub use builder::{BatchBuilder, ProducerState};
pub use codecs::{Compressor, DEFAULT_DECOMPRESSED_LIMIT, Decompressor};
pub use compression::Compression;
pub use error::{InvalidRecord, RecordError};
pub use header::{Header, Headers};
pub use open_batch::OpenBatch;
pub use plain::{PaddedSlice, PlainRecord, PlainRun, PlainSink};
pub use record::RecordRef;
pub use record_reader::Records;
pub use records_position::RecordsPosition;

/// The size of a batch header in bytes.
pub const BATCH_OVERHEAD: usize = layout::RECORDS;

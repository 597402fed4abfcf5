//! Record batches: what a partition's log, a Produce request and a Fetch response hold.
//!
//! - [`BatchBuilder`] encodes records as they are appended; [`Compressor`] closes the batch.
//! - [`Batches`] walks a fetched blob, [`Batch`] is one header, [`Records`] lends out its records.
//! - [`Scratch`] holds what decompression needs between batches, and the limit it must not pass.
//! - [`rewrite`] changes the header of a finished batch, [`control`] writes and reads markers,
//!   [`AbortedTransactions`] says which batches a `read_committed` reader must not see.
//!
//! Invariant: bytes that come from a broker are hostile. Every length and count must match what the
//! bytes hold; nothing here panics or takes memory because a header announced it.

mod aborted;
mod batch;
mod batches;
mod builder;
mod checksum;
mod compression;
pub mod control;
mod encode;
mod error;
mod form;
mod header;
mod layout;
mod legacy;
mod plain;
mod record;
pub mod rewrite;
mod varint;

pub use aborted::{AbortedTransaction, AbortedTransactions};
pub use batch::{Batch, TimestampType};
pub use batches::Batches;
pub use builder::{BatchBuilder, Stamp};
pub use compression::{Compression, Compressor, DEFAULT_DECOMPRESSED_LIMIT, Scratch};
pub use error::{Flaw, RecordError};
pub use header::{Header, Headers};
pub use plain::{Part, PlainRecord, PlainRun, PlainSink};
pub use record::{RecordRef, Records};

/// The bytes of a batch before its first record: where an empty batch ends.
pub const BATCH_OVERHEAD: usize = layout::RECORDS;

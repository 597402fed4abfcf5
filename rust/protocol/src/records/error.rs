//! The errors of reading and writing record batches.
//!
//! Invariant: an error names the problem, its offset and the numbers involved; it never contains record
//! contents.

use thiserror::Error;

use super::Compression;

/// Record bytes that were refused, or a record that cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The CRC does not match the bytes.
    #[error("batch at offset {base_offset}: CRC is {actual:#010x}, its header says {expected:#010x}")]
    Crc {
        /// The batch's first offset, from its header.
        base_offset: i64,
        /// The CRC in the header.
        expected: u32,
        /// The CRC of the bytes.
        actual: u32,
    },
    /// The version of the format does not exist.
    #[error("batch at offset {base_offset}: unknown magic {magic}, expected 0, 1 or 2")]
    Magic {
        /// The batch's first offset.
        base_offset: i64,
        /// The magic byte.
        magic: i8,
    },
    /// The attributes name a codec that does not exist.
    #[error("batch at offset {base_offset}: unknown compression codec {codec}, expected 0 to 4")]
    Codec {
        /// The batch's first offset.
        base_offset: i64,
        /// The codec bits.
        codec: u8,
    },
    /// The announced length is too small for a header.
    #[error("batch at offset {base_offset}: length {length} is impossible, the minimum is {minimum}")]
    BatchLength {
        /// The batch's first offset.
        base_offset: i64,
        /// The announced length.
        length: i32,
        /// The minimum length of a batch of this magic.
        minimum: i32,
    },
    /// A header field holds an invalid value.
    #[error("batch at offset {base_offset}: {field} is {value}")]
    Field {
        /// The batch's first offset.
        base_offset: i64,
        /// The field's name.
        field: &'static str,
        /// Its value.
        value: i64,
    },
    /// A record's bytes contradict themselves or their batch.
    #[error("batch at offset {base_offset}: record {index}: {reason}")]
    InvalidRecord {
        /// The batch's first offset.
        base_offset: i64,
        /// The record's index in the batch, from 0.
        index: u32,
        /// The problem.
        reason: InvalidRecord,
    },
    /// Bytes remain after all announced records.
    #[error("batch at offset {base_offset}: {left} bytes are left after its {count} records")]
    Trailing {
        /// The batch's first offset.
        base_offset: i64,
        /// The announced number of records.
        count: u32,
        /// The number of remaining bytes.
        left: usize,
    },
    /// The decompressed size exceeds the limit.
    #[error("batch at offset {base_offset}: {codec} data decompresses to more than {limit} bytes")]
    TooLarge {
        /// The batch's first offset.
        base_offset: i64,
        /// The codec.
        codec: Compression,
        /// The limit in bytes.
        limit: usize,
    },
    /// The compressed data is invalid.
    #[error("batch at offset {base_offset}: corrupt {codec} data: {cause}")]
    Corrupt {
        /// The batch's first offset.
        base_offset: i64,
        /// The codec.
        codec: Compression,
        /// The codec's error.
        cause: String,
    },
    /// A codec failed to compress.
    #[error("{codec} compression failed: {cause}")]
    Compress {
        /// The codec.
        codec: Compression,
        /// The codec's error.
        cause: String,
    },
    /// The record fits into no batch.
    #[error("a record of {size} bytes is too large: the format's limit is {limit}")]
    RecordTooLarge {
        /// The record's encoded size in bytes.
        size: usize,
        /// The format's limit in bytes.
        limit: usize,
    },
    /// The batch has no room for the record.
    #[error("the batch holds {count} records in {size} bytes and cannot hold more")]
    BatchFull {
        /// The number of records in the batch.
        count: u32,
        /// The size of the batch in bytes.
        size: usize,
    },
    /// The codec has no such level.
    #[error("{codec} has no compression level {level}: levels are {min} to {max}")]
    Level {
        /// The codec.
        codec: Compression,
        /// The requested level.
        level: i32,
        /// The lowest level.
        min: i32,
        /// The highest level.
        max: i32,
    },
    /// No codec has this name.
    #[error("unknown compression type {name:?}: expected none, gzip, snappy, lz4 or zstd")]
    CodecName {
        /// The unknown name.
        name: String,
    },
    /// The bytes are not one whole batch of magic 2, or the batch is empty or closed.
    #[error("not a complete batch: {reason}")]
    NotABatch {
        /// The problem.
        reason: &'static str,
    },
    /// A control record is malformed.
    #[error("batch at offset {base_offset}: malformed control record: {reason}")]
    Control {
        /// The batch's first offset.
        base_offset: i64,
        /// The problem.
        reason: &'static str,
    },
}

/// The problem with one record's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidRecord {
    /// A varint exceeds its maximum length or holds too many bits.
    #[error("a varint is too long for its type")]
    Varint,
    /// The bytes end inside the record.
    #[error("the bytes end inside the record")]
    Truncated,
    /// A length or count is negative, or a nullable length is below -1.
    #[error("a length or count is negative")]
    Negative,
    /// The record's fields do not add up to its length.
    #[error("its length does not match its fields")]
    Length,
    /// The record's offset lies outside its batch.
    #[error("its offset is outside the batch")]
    Offset,
    /// An inner message has another magic than its wrapper, or is compressed again.
    #[error("its format differs from that of the compressed message around it")]
    Nested,
    /// The CRC of an inner message is wrong.
    #[error("its CRC is wrong")]
    Crc,
}

/// A codec's error, without the batch's offset.
#[derive(Debug)]
pub(super) enum CodecError {
    /// The output would exceed the limit.
    TooLarge,
    /// The input is invalid.
    Corrupt(String),
}

impl CodecError {
    /// Adds the batch's offset, the codec and the limit.
    #[cold]
    pub(super) fn at(self, base_offset: i64, codec: Compression, limit: usize) -> RecordError {
        match self {
            Self::TooLarge => RecordError::TooLarge { base_offset, codec, limit },
            Self::Corrupt(cause) => RecordError::Corrupt { base_offset, codec, cause },
        }
    }
}

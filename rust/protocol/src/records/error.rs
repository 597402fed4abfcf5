//! What can be wrong with record bytes, or with records that are to be written.
//!
//! Invariant: an error says what is wrong, at which offset, and by how much; it never carries
//! record contents.

use thiserror::Error;

use super::Compression;

/// Why record bytes were refused, or a record could not be written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The bytes are not what was written.
    #[error("batch at offset {base_offset}: CRC is {actual:#010x}, its header says {expected:#010x}")]
    Crc {
        /// The batch's first offset, as its header gives it.
        base_offset: i64,
        /// What the header says.
        expected: u32,
        /// What the bytes give.
        actual: u32,
    },
    /// The format's version is none that exists.
    #[error("batch at offset {base_offset}: unknown magic {magic}, known are 0, 1 and 2")]
    Magic {
        /// The batch's first offset.
        base_offset: i64,
        /// The magic byte.
        magic: i8,
    },
    /// The attributes name a codec that does not exist.
    #[error("batch at offset {base_offset}: unknown compression codec {codec}, known are 0 to 4")]
    Codec {
        /// The batch's first offset.
        base_offset: i64,
        /// The codec bits.
        codec: u8,
    },
    /// The announced length cannot hold a header.
    #[error("batch at offset {base_offset}: length {length} is impossible, the least is {minimum}")]
    BatchLength {
        /// The batch's first offset.
        base_offset: i64,
        /// The announced length.
        length: i32,
        /// The least a batch of this magic takes.
        minimum: i32,
    },
    /// A header field holds a value that it cannot have.
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
    #[error("batch at offset {base_offset}: record {index}: {flaw}")]
    Record {
        /// The batch's first offset.
        base_offset: i64,
        /// The record's place in the batch, from 0.
        index: u32,
        /// What is wrong with it.
        flaw: Flaw,
    },
    /// Bytes are left when all announced records were read.
    #[error("batch at offset {base_offset}: {left} bytes are left after its {count} records")]
    Trailing {
        /// The batch's first offset.
        base_offset: i64,
        /// The announced number of records.
        count: u32,
        /// Bytes left.
        left: usize,
    },
    /// Decompression would pass the limit.
    #[error("batch at offset {base_offset}: {codec} data decompresses to more than {limit} bytes")]
    TooLarge {
        /// The batch's first offset.
        base_offset: i64,
        /// The codec.
        codec: Compression,
        /// The limit.
        limit: usize,
    },
    /// The compressed data is not valid.
    #[error("batch at offset {base_offset}: corrupt {codec} data: {cause}")]
    Corrupt {
        /// The batch's first offset.
        base_offset: i64,
        /// The codec.
        codec: Compression,
        /// What the codec says.
        cause: String,
    },
    /// A codec failed to compress.
    #[error("{codec} compression failed: {cause}")]
    Compress {
        /// The codec.
        codec: Compression,
        /// What the codec says.
        cause: String,
    },
    /// A record does not fit into a batch, whatever the batch's size.
    #[error("a record of {size} bytes is too large: the format's limit is {limit}")]
    RecordTooLarge {
        /// The record's encoded size.
        size: usize,
        /// The largest size that the format can hold.
        limit: usize,
    },
    /// The batch cannot take more records.
    #[error("the batch holds {count} records in {size} bytes and cannot take more")]
    BatchFull {
        /// Records it holds.
        count: u32,
        /// Bytes it holds.
        size: usize,
    },
    /// The codec has no such level.
    #[error("{codec} has no compression level {level}: levels are {min} to {max}")]
    Level {
        /// The codec.
        codec: Compression,
        /// The level asked for.
        level: i32,
        /// The lowest level.
        min: i32,
        /// The highest level.
        max: i32,
    },
    /// No codec has this name.
    #[error("unknown compression type {name:?}: one of none, gzip, snappy, lz4, zstd")]
    CodecName {
        /// The name given.
        name: String,
    },
    /// A header can be rewritten only on one whole batch of magic 2.
    #[error("cannot rewrite the header: {why}")]
    NotABatch {
        /// What the bytes lack.
        why: &'static str,
    },
    /// A control record cannot be understood.
    #[error("batch at offset {base_offset}: malformed control record: {why}")]
    Control {
        /// The batch's first offset.
        base_offset: i64,
        /// What is wrong.
        why: &'static str,
    },
}

/// What is wrong with one record's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Flaw {
    /// A varint runs past its greatest length or holds too many bits.
    #[error("a varint is too long for its type")]
    Varint,
    /// The bytes end inside the record.
    #[error("the bytes end inside it")]
    Truncated,
    /// A length that cannot be null is negative, or a nullable one is below -1.
    #[error("a length or count is negative")]
    Negative,
    /// The record's parts do not add up to its length.
    #[error("its length does not match its parts")]
    Length,
    /// The record's offset lies outside its batch.
    #[error("its offset is outside the batch")]
    Offset,
    /// A message inside a compressed message has another magic, or is compressed again.
    #[error("its format differs from the message around it")]
    Nested,
    /// The CRC of a message inside a compressed message is wrong.
    #[error("its CRC is wrong")]
    Crc,
}

/// Why a codec refused its input; [`RecordError`] adds the offset.
#[derive(Debug)]
pub(super) enum CodecError {
    /// The output would pass the limit.
    TooLarge,
    /// The input is not valid.
    Corrupt(String),
}

impl CodecError {
    /// The same with the place.
    #[cold]
    pub(super) fn at(self, base_offset: i64, codec: Compression, limit: usize) -> RecordError {
        match self {
            Self::TooLarge => RecordError::TooLarge { base_offset, codec, limit },
            Self::Corrupt(cause) => RecordError::Corrupt { base_offset, codec, cause },
        }
    }
}

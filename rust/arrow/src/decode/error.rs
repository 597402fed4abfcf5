//! Why a blob could not be decoded, and how far it could.

use arrow_schema::ArrowError;
use ottla_protocol::records::RecordError;
use thiserror::Error;

/// A partition's bytes could not be decoded to their end.
#[derive(Debug, Error)]
#[error("{topic}-{partition}, read up to offset {next_offset}: {cause}")]
pub struct DecodeError {
    /// The topic.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// Behind the last row that was taken.
    pub next_offset: i64,
    /// What is wrong.
    #[source]
    pub cause: DecodeCause,
}

/// What is wrong with the bytes.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DecodeCause {
    /// They are malformed.
    #[error(transparent)]
    Records(#[from] RecordError),
    /// One record holds more than an Arrow column with 32-bit offsets can.
    #[error("a record of {bytes} bytes does not fit into an Arrow column with 32-bit offsets")]
    RowTooLarge {
        /// Bytes of its key, value and headers, at most.
        bytes: usize,
    },
    /// Arrow refused the columns.
    #[error("the columns do not form a batch: {0}")]
    Arrow(#[from] ArrowError),
}

//! [`DecodeError`]: the reason why a partition's bytes could not be decoded, and the offset reached.

use arrow_schema::ArrowError;
use ottla_protocol::records::RecordError;
use thiserror::Error;

/// A partition's bytes could not be decoded completely.
#[derive(Debug, Error)]
#[error("{topic}-{partition}, read up to offset {next_offset}: {cause}")]
pub struct DecodeError {
    /// The topic.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// The offset after the last decoded row.
    pub next_offset: i64,
    /// The problem.
    #[source]
    pub cause: DecodeCause,
}

/// The problem with the bytes.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DecodeCause {
    /// The bytes are malformed.
    #[error(transparent)]
    Records(#[from] RecordError),
    /// One record is too large for an Arrow column with 32-bit offsets.
    #[error("a record of {bytes} bytes does not fit into an Arrow column with 32-bit offsets")]
    RowTooLarge {
        /// An upper bound of the size of key, value and headers in bytes.
        bytes: usize,
    },
    /// Arrow refused the columns.
    #[error("the columns do not form a batch: {0}")]
    Arrow(#[from] ArrowError),
}

//! The interface of each format's encoder, which writes the payloads of a column row by row.
//!
//! Invariant: one row's failure changes no other row.

use crate::row_failure::RowFailure;
use crate::source::Source;
use crate::wire_format::WireFormat;

/// The largest number of bytes in an Arrow array.
pub(crate) const MAX_BYTES: usize = i32::MAX as usize;

/// Encodes the rows of a column that has the type it was compiled for.
pub(crate) trait PayloadEncoder: Send + Sync {
    /// Appends the payload of a row that is not null.
    fn encode(&self, source: &Source, row: usize, out: &mut Vec<u8>) -> Result<(), RowFailure>;

    /// The prefix of the paths in error messages.
    fn root(&self) -> &'static str;

    /// The bytes between the schema id and the payload.
    fn message_prefix(&self, _: WireFormat) -> Vec<u8> {
        Vec::new()
    }
}

//! What each format's encoder does: it writes the payloads of a column, row by row.
//!
//! Invariant: one row's failure changes no other row.

use crate::row_failure::RowFailure;
use crate::source::Source;
use crate::wire_format::WireFormat;

/// The most bytes of an array of Arrow.
pub(crate) const MAX_BYTES: usize = i32::MAX as usize;

/// Encodes the rows of a column, of the type that it was compiled for.
pub(crate) trait PayloadEncoder: Send + Sync {
    /// Appends the payload of a row that is not null.
    fn encode(&self, source: &Source, row: usize, out: &mut Vec<u8>) -> Result<(), RowFailure>;

    /// What the places of failures begin with.
    fn root(&self) -> &'static str;

    /// What comes between the schema's id and the payload.
    fn message_prefix(&self, _: WireFormat) -> Vec<u8> {
        Vec::new()
    }
}

//! One record, borrowed from its batch or from the batch's decompressed bytes.

use super::Headers;

/// One record, borrowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordRef<'a> {
    /// The offset in the partition.
    pub offset: i64,
    /// Milliseconds since the epoch, -1 if there is no timestamp.
    pub timestamp: i64,
    /// The key, or null.
    pub key: Option<&'a [u8]>,
    /// The value, or null.
    pub value: Option<&'a [u8]>,
    /// The headers.
    pub headers: Headers<'a>,
}

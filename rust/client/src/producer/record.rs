//! A record as the caller passes it to `send`: borrowed, not yet encoded.

use ottla_protocol::records::{BatchBuilder, Header};

/// A record to send.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// Milliseconds since 1970.
    pub timestamp: i64,
    /// The key.
    pub key: Option<&'a [u8]>,
    /// The value.
    pub value: Option<&'a [u8]>,
    /// The headers.
    pub headers: &'a [Header<'a>],
}

impl Record<'_> {
    /// An upper bound of the bytes that the record takes in a batch.
    pub(super) fn size(&self) -> usize {
        BatchBuilder::upper_bound(self.key, self.value, self.headers)
    }
}

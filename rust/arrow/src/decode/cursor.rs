//! [`RecordsCursor`]: a partition's fetched records, and how far they were decoded.
//!
//! Invariant: at most one batch is open, and only while records of it remain.

use bytes::Bytes;
use ottla_protocol::records::{Batches, OpenBatch};

/// A partition's records in a Fetch response, for [`ArrowDecoder::decode`].
///
/// [`ArrowDecoder::decode`]: crate::ArrowDecoder::decode
#[derive(Debug)]
pub struct RecordsCursor {
    /// All records.
    records: Bytes,
    /// The batch that was decoded in part.
    open: Option<OpenBatch>,
    /// The batches after it.
    pub(super) batches: Batches,
    next_offset: i64,
}

impl RecordsCursor {
    /// Begins to read `records`, of which those from `start` on are requested.
    #[must_use]
    pub fn new(records: Bytes, start: i64) -> Self {
        Self { open: None, batches: Batches::new(records.clone()), records, next_offset: start }
    }

    /// Continues to read `records`, which begin with the open batch, if there is one.
    #[must_use]
    pub fn resume(records: Bytes, open: Option<OpenBatch>, start: i64) -> Self {
        let begun = open.as_ref().map_or(0, |open| open.batch().size_in_bytes());
        let batches = Batches::new(records.slice(begun.min(records.len())..));
        Self { records, open, batches, next_offset: start }
    }

    /// Sets whether CRCs are checked; the default is true.
    #[must_use]
    pub fn check_crcs(mut self, check: bool) -> Self {
        self.batches = self.batches.check_crc(check);
        self
    }

    /// The offset after all records read, including gaps, markers and aborted records.
    #[must_use]
    pub const fn next_offset(&self) -> i64 {
        self.next_offset
    }

    /// The undecoded records, and the batch that they begin with if it was decoded in part.
    #[must_use]
    pub fn into_parts(self) -> (Bytes, Option<OpenBatch>) {
        let open = self.open.as_ref().map_or(0, |open| open.batch().size_in_bytes());
        let left = self.batches.rest().len().saturating_add(open).min(self.records.len());
        (self.records.slice(self.records.len() - left..), self.open)
    }

    /// The full size of a truncated batch at the end, if there is one.
    pub(super) fn partial_batch_size(&self) -> Option<usize> {
        self.batches.next_batch_size()
    }

    pub(super) fn take_open(&mut self) -> Option<OpenBatch> {
        self.open.take()
    }

    pub(super) fn put_back_open(&mut self, open: OpenBatch) {
        self.open = Some(open);
    }

    pub(super) const fn move_to(&mut self, next_offset: i64) {
        self.next_offset = next_offset;
    }
}

//! The limit of what a poll collects, in records and in bytes of memory.
//!
//! Invariant: the bytes are those of decompressed records. The last record may exceed them, so that every poll makes
//! progress; no record follows it.

use super::record_set::{RecordEntry, RecordSet};

/// The most bytes of records that a poll collects: 16 MiB.
const MAX_BYTES: usize = 16 << 20;

/// What may still be collected.
#[derive(Debug, Clone, Copy)]
pub(in crate::consumer) struct ReadLimit {
    records: usize,
    bytes: usize,
}

impl ReadLimit {
    /// The limit of a poll of at most `records` records.
    pub(in crate::consumer) const fn new(records: usize) -> Self {
        Self { records, bytes: MAX_BYTES }
    }

    /// Whether nothing more may be collected.
    pub(in crate::consumer) const fn is_reached(&self) -> bool {
        self.records == 0 || self.bytes == 0
    }

    /// The number of records that may still be collected.
    pub(in crate::consumer) const fn records(&self) -> usize {
        self.records
    }

    /// Whether records of which there are at most `records`, in `bytes` bytes, may all be collected.
    pub(in crate::consumer) const fn admits(&self, records: usize, bytes: usize) -> bool {
        let entries = records.saturating_mul(size_of::<RecordEntry>());
        records <= self.records && bytes.saturating_add(entries) <= self.bytes
    }

    /// Counts a record.
    pub(in crate::consumer) fn count(&mut self, entry: &RecordEntry) {
        self.records = self.records.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(RecordSet::size_of(entry));
    }
}

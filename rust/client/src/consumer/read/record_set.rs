//! Decoded records of one batch, as ranges of one buffer.
//!
//! Invariant: a set's `next` lies after its records and after every offset before it that holds nothing for
//! the application, so that a position can move past markers and aborted records.

use std::ops::Range;

use bytes::Bytes;
use ottla_protocol::records::{Batch, RecordRef, TimestampType};

use crate::topic_partition::TopicPartition;
#[cfg(feature = "arrow")]
use crate::typed::TypedRecords;

/// One record, as ranges of its set's bytes.
#[derive(Debug, Clone)]
pub struct RecordEntry {
    /// The offset.
    pub offset: i64,
    /// Milliseconds since 1970; -1 if the record has none.
    pub timestamp: i64,
    /// The record's row in [`RecordSet::typed`].
    #[cfg(feature = "arrow")]
    pub row: usize,
    key: Option<Range<usize>>,
    value: Option<Range<usize>>,
    /// Names and values.
    headers: Vec<HeaderRange>,
}

type HeaderRange = (Range<usize>, Option<Range<usize>>);

/// Records of one batch of one partition, in log order.
#[derive(Debug)]
pub struct RecordSet {
    /// The partition.
    pub partition: TopicPartition,
    /// The epoch of the leader that appended them; -1 if unknown.
    pub leader_epoch: i32,
    /// Whether the producer or the broker set the timestamps.
    pub timestamp_type: TimestampType,
    /// The records.
    pub entries: Vec<RecordEntry>,
    pub(super) bytes: Bytes,
    /// The position once the records are delivered.
    pub next: i64,
    /// The decoded keys and values of a consumer with typed records.
    #[cfg(feature = "arrow")]
    pub typed: Option<TypedRecords>,
    pub(super) version: u64,
}

impl RecordSet {
    pub(super) fn new(partition: TopicPartition, version: u64, batch: &Batch) -> Self {
        Self {
            partition,
            leader_epoch: batch.partition_leader_epoch(),
            timestamp_type: batch.timestamp_type(),
            entries: Vec::new(),
            bytes: Bytes::new(),
            next: batch.last_offset() + 1,
            #[cfg(feature = "arrow")]
            typed: None,
            version,
        }
    }

    /// For [`crate::consumer::Consumer::mark_delivered`].
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Splits off all but the first `max_records` records.
    pub(super) fn split(mut self, max_records: usize) -> (Self, Option<Self>) {
        let rest = self.split_off(max_records);
        (self, rest)
    }

    /// Returns all but the first `max_records` records, which stay.
    pub(super) fn split_off(&mut self, max_records: usize) -> Option<Self> {
        if self.entries.len() <= max_records {
            return None;
        }
        let entries = self.entries.split_off(max_records);
        let next = entries.first().map_or(self.next, |entry| entry.offset);
        let rest = Self {
            partition: self.partition.clone(),
            entries,
            bytes: self.bytes.clone(),
            leader_epoch: self.leader_epoch,
            timestamp_type: self.timestamp_type,
            next: self.next,
            #[cfg(feature = "arrow")]
            typed: self.typed.clone(),
            version: self.version,
        };
        self.next = next;
        Some(rest)
    }

    /// The bytes of memory that a record takes.
    #[must_use]
    pub fn size_of(entry: &RecordEntry) -> usize {
        let len = |range: &Option<Range<usize>>| range.as_ref().map_or(0, ExactSizeIterator::len);
        let headers = entry.headers.iter();
        let headers = headers.map(|(name, value)| name.len() + len(value) + size_of::<HeaderRange>());
        size_of::<RecordEntry>() + len(&entry.key) + len(&entry.value) + headers.sum::<usize>()
    }

    /// A record's key.
    #[must_use]
    pub fn key(&self, entry: &RecordEntry) -> Option<&[u8]> {
        self.bytes.get(entry.key.clone()?)
    }

    /// A record's value.
    #[must_use]
    pub fn value(&self, entry: &RecordEntry) -> Option<&[u8]> {
        self.bytes.get(entry.value.clone()?)
    }

    /// A record's headers.
    pub fn headers<'a>(
        &'a self,
        entry: &'a RecordEntry,
    ) -> impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)> {
        entry.headers.iter().map(|(name, value)| {
            let value = value.clone().and_then(|value| self.bytes.get(value));
            (self.bytes.get(name.clone()).unwrap_or_default(), value)
        })
    }
}

/// Where the bytes of records are kept: in place, as offsets from this address, or copied out of the buffer
/// that the next batch is decompressed into.
pub(super) enum ByteStore {
    InPlace(usize),
    Copy(Vec<u8>),
}

impl ByteStore {
    pub(super) fn store_record(&mut self, record: &RecordRef<'_>) -> RecordEntry {
        let key = record.key.map(|key| self.store_bytes(key));
        let value = record.value.map(|value| self.store_bytes(value));
        let headers = record.headers.into_iter();
        let headers = headers.map(|header| {
            let name = self.store_bytes(header.key);
            (name, header.value.map(|value| self.store_bytes(value)))
        });
        let headers = headers.collect();
        RecordEntry {
            offset: record.offset,
            timestamp: record.timestamp,
            #[cfg(feature = "arrow")]
            row: 0,
            key,
            value,
            headers,
        }
    }

    fn store_bytes(&mut self, part: &[u8]) -> Range<usize> {
        match self {
            _ if part.is_empty() => 0..0,
            // Bytes from elsewhere would give a range outside of the buffer.
            Self::InPlace(base) => {
                let start = part.as_ptr().addr().wrapping_sub(*base);
                start..start.saturating_add(part.len())
            }
            Self::Copy(bytes) => {
                let start = bytes.len();
                bytes.extend_from_slice(part);
                start..bytes.len()
            }
        }
    }
}

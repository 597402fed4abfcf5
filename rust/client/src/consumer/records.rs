//! Prefetched pieces as records: for programs that take them one by one. Arrow's columns have a
//! decoder of their own (the crate `ottla-arrow`).
//!
//! Invariant: a set's `next` lies behind its records and behind every offset before it that holds
//! nothing for the application, so that a position can follow it past markers and aborted records.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use ottla_protocol::records::{Batch, Batches, RecordRef, Scratch, TimestampType};

use super::prefetched::Prefetched;
use super::slot::Standing;
use crate::error::{Error, Result};
use crate::list_offsets::TopicPartition;

/// One record, as ranges of its set's bytes.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Its offset.
    pub offset: i64,
    /// Milliseconds since 1970; -1 if it has none.
    pub timestamp: i64,
    key: Option<Range<usize>>,
    value: Option<Range<usize>>,
    /// Names and values.
    headers: Vec<(Range<usize>, Option<Range<usize>>)>,
}

/// Records of one batch of one partition, in the order of the log.
#[derive(Debug)]
pub struct RecordSet {
    /// The partition.
    pub partition: TopicPartition,
    /// The epoch of the leader that appended them; -1 if unknown.
    pub leader_epoch: i32,
    /// Who gave the timestamps.
    pub timestamp_type: TimestampType,
    /// The records.
    pub entries: Vec<Entry>,
    bytes: Vec<u8>,
    /// The position once they are handed out.
    pub next: i64,
    pub(super) version: u64,
}

impl RecordSet {
    fn new(partition: TopicPartition, version: u64, batch: &Batch) -> Self {
        Self {
            partition,
            leader_epoch: batch.partition_leader_epoch(),
            timestamp_type: batch.timestamp_type(),
            entries: Vec::new(),
            bytes: Vec::new(),
            next: batch.last_offset() + 1,
            version,
        }
    }

    /// For [`super::Consumer::handed_out`].
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// A record's key.
    #[must_use]
    pub fn key(&self, entry: &Entry) -> Option<&[u8]> {
        self.bytes.get(entry.key.clone()?)
    }

    /// A record's value.
    #[must_use]
    pub fn value(&self, entry: &Entry) -> Option<&[u8]> {
        self.bytes.get(entry.value.clone()?)
    }

    /// A record's headers.
    pub fn headers<'a>(&'a self, entry: &'a Entry) -> impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)> {
        entry.headers.iter().map(|(name, value)| {
            let value = value.clone().and_then(|value| self.bytes.get(value));
            (self.bytes.get(name.clone()).unwrap_or_default(), value)
        })
    }

    fn push(&mut self, record: &RecordRef<'_>) {
        let key = record.key.map(|key| self.keep(key));
        let value = record.value.map(|value| self.keep(value));
        let mut headers = Vec::new();
        for header in record.headers {
            let name = self.keep(header.key);
            headers.push((name, header.value.map(|value| self.keep(value))));
        }
        self.entries.push(Entry { offset: record.offset, timestamp: record.timestamp, key, value, headers });
    }

    fn keep(&mut self, bytes: &[u8]) -> Range<usize> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        start..self.bytes.len()
    }
}

/// Where a piece stands after some of it was decoded.
#[derive(Debug)]
pub(super) enum Rest {
    /// All of it was.
    None,
    /// This is left.
    Piece(Prefetched),
    /// This is left, and what comes first in it is malformed.
    Flawed(Prefetched, Error),
}

/// Decodes records of a piece, `most` at most, and says where it came to.
pub(super) fn decode(
    mut piece: Prefetched,
    most: usize,
    scratch: &mut Scratch,
    sets: &mut Vec<RecordSet>,
) -> (Rest, Standing) {
    let (mut left, from) = (most, sets.len());
    let mut standing = Standing { offset: piece.start, epoch: -1 };
    // The CRCs were checked when the piece came, and a bad one could still be fetched again.
    let mut batches = Batches::new(piece.records.clone()).check_crc(false);
    loop {
        let before = batches.rest().clone();
        let batch = match batches.next() {
            None => {
                // Markers and gaps at the end go with the last records.
                if let Some(last) = sets.get_mut(from..).and_then(<[RecordSet]>::last_mut) {
                    last.next = piece.end;
                }
                return (Rest::None, Standing { offset: piece.end, epoch: piece.epoch });
            }
            Some(Ok(batch)) => batch,
            Some(Err(error)) => {
                return (Rest::Flawed(cut(piece, before, standing.offset), error.into()), standing);
            }
        };
        if left == 0 {
            return (Rest::Piece(cut(piece, before, standing.offset)), standing);
        }
        let admitted = match &mut piece.aborted {
            Some(aborted) => match aborted.admits(&batch, scratch) {
                Ok(admitted) => admitted,
                Err(error) => {
                    return (Rest::Flawed(cut(piece, before, standing.offset), error.into()), standing);
                }
            },
            None => !batch.is_control(),
        };
        if admitted && batch.last_offset() >= piece.start {
            match decode_batch(&piece, &batch, left, scratch) {
                Ok((set, whole)) => {
                    left -= set.entries.len();
                    standing = Standing { offset: set.next, epoch: set.leader_epoch };
                    if !set.entries.is_empty() {
                        sets.push(set);
                    }
                    if !whole {
                        return (Rest::Piece(cut(piece, before, standing.offset)), standing);
                    }
                }
                Err(error) => return (Rest::Flawed(cut(piece, before, standing.offset), error), standing),
            }
        }
        let next = (batch.last_offset() + 1).max(standing.offset);
        standing = Standing { offset: next, epoch: batch.partition_leader_epoch() };
    }
}

fn cut(piece: Prefetched, records: Bytes, start: i64) -> Prefetched {
    Prefetched { records, start, ..piece }
}

/// Decodes records of one batch, `most` at most, and says whether that was all of it.
fn decode_batch(
    piece: &Prefetched,
    batch: &Batch,
    most: usize,
    scratch: &mut Scratch,
) -> Result<(RecordSet, bool)> {
    let mut set = RecordSet::new(partition_of(piece), piece.version, batch);
    let records = batch.records(scratch)?;
    set.entries.reserve(records.at_most().min(most));
    for record in records {
        let record = record?;
        if record.offset < piece.start || record.offset >= piece.end {
            continue;
        }
        if set.entries.len() == most {
            set.next = record.offset;
            return Ok((set, false));
        }
        set.push(&record);
    }
    Ok((set, true))
}

fn partition_of(piece: &Prefetched) -> TopicPartition {
    (Arc::clone(&piece.partition.0), piece.partition.1)
}

//! Prefetched pieces as records: for programs that take them one by one. Arrow's columns have a
//! decoder of their own (the crate `ottla-arrow`).
//!
//! Invariant: a set's `next` lies behind its records and behind every offset before it that holds
//! nothing for the application, so that a position can follow it past markers and aborted records.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use ottla_protocol::records::{Batch, Batches, Compression, Decompressor, RecordRef, TimestampType};

use crate::consumer::completed_fetch::Prefetched;
use crate::consumer::partition_state::Standing;
use crate::error::{Error, Result};
use crate::topic_partition::TopicPartition;

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
    bytes: Bytes,
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
            bytes: Bytes::new(),
            next: batch.last_offset() + 1,
            version,
        }
    }

    /// For [`super::Consumer::handed_out`].
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Cuts off what is more than `most` records.
    fn split(mut self, most: usize) -> (Self, Option<Self>) {
        if self.entries.len() <= most {
            return (self, None);
        }
        let entries = self.entries.split_off(most);
        let next = entries.first().map_or(self.next, |entry| entry.offset);
        let rest = Self {
            partition: self.partition.clone(),
            entries,
            bytes: self.bytes.clone(),
            leader_epoch: self.leader_epoch,
            timestamp_type: self.timestamp_type,
            next: self.next,
            version: self.version,
        };
        self.next = next;
        (self, Some(rest))
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
}

/// So many records are made room for before there are so many.
const MOST_EXPECTED: usize = 1 << 16;

/// Where the bytes of a batch's records are kept: where they lie, from this address on, or copied out of
/// the buffer that the next batch is decompressed into.
enum Keep {
    InPlace(usize),
    Copy(Vec<u8>),
}

impl Keep {
    fn entry(&mut self, record: &RecordRef<'_>) -> Entry {
        let key = record.key.map(|key| self.range(key));
        let value = record.value.map(|value| self.range(value));
        let headers = record.headers.into_iter();
        let headers = headers.map(|header| {
            let name = self.range(header.key);
            (name, header.value.map(|value| self.range(value)))
        });
        let headers = headers.collect();
        Entry { offset: record.offset, timestamp: record.timestamp, key, value, headers }
    }

    fn range(&mut self, part: &[u8]) -> Range<usize> {
        match self {
            _ if part.is_empty() => 0..0,
            // Were it elsewhere, the range would fit nothing.
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

/// The rest of a batch of which some was handed out, so that it is not decompressed once a poll.
#[derive(Debug)]
pub(super) struct Decoded {
    set: RecordSet,
    /// What comes behind the batch.
    after: Bytes,
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
    decompressor: &mut Decompressor,
    sets: &mut Vec<RecordSet>,
) -> (Rest, Standing) {
    let (mut left, from) = (most, sets.len());
    let mut standing = Standing { offset: piece.start, epoch: -1 };
    // The CRCs were checked when the piece came, and a bad one could still be fetched again.
    let mut batches = Batches::new(piece.records.clone()).check_crc(false);
    let mut decoded = piece.decoded.take();
    loop {
        let before = batches.rest().clone();
        let (set, after) = if let Some(decoded) = decoded.take() {
            batches = Batches::new(decoded.after.clone()).check_crc(false);
            (decoded.set, decoded.after)
        } else {
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
            match decode_batch(&mut piece, &batch, decompressor) {
                Ok((set, None)) => (set, batches.rest().clone()),
                Ok((good, Some(error))) => {
                    // What does not fit now is decoded again: malformed batches are rare.
                    let (set, rest) = good.split(left);
                    if !set.entries.is_empty() {
                        standing = Standing { offset: set.next, epoch: set.leader_epoch };
                        sets.push(set);
                    }
                    let piece = cut(piece, before, standing.offset);
                    let rest = if rest.is_some() { Rest::Piece(piece) } else { Rest::Flawed(piece, error) };
                    return (rest, standing);
                }
                Err(error) => return (Rest::Flawed(cut(piece, before, standing.offset), error), standing),
            }
        };
        let (set, rest) = set.split(left);
        left -= set.entries.len();
        standing = Standing { offset: set.next.max(standing.offset), epoch: set.leader_epoch };
        if !set.entries.is_empty() {
            sets.push(set);
        }
        if let Some(set) = rest {
            let mut piece = cut(piece, before, standing.offset);
            piece.decoded = Some(Box::new(Decoded { set, after }));
            return (Rest::Piece(piece), standing);
        }
    }
}

fn cut(piece: Prefetched, records: Bytes, start: i64) -> Prefetched {
    Prefetched { records, start, ..piece }
}

/// The records of one batch that are for the application; those before a malformed one, with the error.
fn decode_batch(
    piece: &mut Prefetched,
    batch: &Batch,
    decompressor: &mut Decompressor,
) -> Result<(RecordSet, Option<Error>)> {
    let admitted = match &mut piece.aborted {
        Some(aborted) => aborted.admits(batch, decompressor)?,
        None => !batch.is_control(),
    };
    let mut set = RecordSet::new(partition_of(piece), piece.version, batch);
    if !admitted || batch.last_offset() < piece.start {
        return Ok((set, None));
    }
    let records = batch.records(decompressor)?;
    let compressed = batch.compression() != Compression::None;
    let bytes = if compressed { records.bytes() } else { batch.as_bytes() };
    // A large buffer is not kept for the next batch, so that the records can have it.
    let mut keep = match compressed && bytes.len() <= Decompressor::MAX_RETAINED {
        true => Keep::Copy(Vec::with_capacity(bytes.len())),
        false => Keep::InPlace(bytes.as_ptr().addr()),
    };
    set.entries.reserve(records.max_remaining().min(MOST_EXPECTED));
    let mut flaw = None;
    for record in records {
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                set.next = set.entries.last().map_or(piece.start, |last| last.offset + 1);
                flaw = Some(error.into());
                break;
            }
        };
        if (piece.start..piece.end).contains(&record.offset) {
            set.entries.push(keep.entry(&record));
        }
    }
    set.bytes = match keep {
        Keep::Copy(bytes) => bytes.into(),
        Keep::InPlace(_) if compressed => decompressor.take().into(),
        Keep::InPlace(_) => batch.as_bytes().clone(),
    };
    Ok((set, flaw))
}

fn partition_of(piece: &Prefetched) -> TopicPartition {
    (Arc::clone(&piece.partition.0), piece.partition.1)
}

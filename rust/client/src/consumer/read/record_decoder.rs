//! Decodes completed fetches into records, for programs that take them one by one. Arrow batches have their
//! own decoder (the crate `ottla-arrow`).
//!
//! Invariants: at most one batch is decompressed at a time, and decoding stops at the limit: the rest of the batch
//! waits undecoded. A batch is decompressed once, however many polls its records take.

use std::sync::Arc;

use bytes::Bytes;
use ottla_protocol::records::{
    Batch, Batches, Compression, Decompressor, OpenBatch, Records, RecordsPosition,
};

use crate::consumer::completed_fetch::CompletedFetch;
use crate::consumer::partition_state::FetchPosition;
use crate::consumer::read::read_limit::ReadLimit;
use crate::consumer::read::record_set::{ByteStore, RecordSet};
use crate::error::{Error, Result};
use crate::topic_partition::TopicPartition;

/// The most records that memory is reserved for on the word of a batch header.
const MAX_RESERVED_RECORDS: usize = 1 << 16;

/// What is left of a fetch after decoding.
#[derive(Debug)]
pub(in crate::consumer) enum Remainder {
    /// Nothing.
    None,
    /// This fetch.
    Fetch(CompletedFetch),
    /// This fetch, which starts with malformed data.
    Malformed(CompletedFetch, Error),
}

/// What is left of a batch.
enum BatchEnd {
    /// Nothing.
    Whole,
    /// The records from a position on.
    Rest(OpenBatch),
    /// A malformed record.
    Malformed(Error),
}

/// Decodes records of a fetch up to the limit; returns the rest and the position reached.
pub(in crate::consumer) fn decode(
    mut fetch: CompletedFetch,
    limit: &mut ReadLimit,
    decompressor: &mut Decompressor,
    sets: &mut Vec<RecordSet>,
) -> (Remainder, FetchPosition) {
    let first_set = sets.len();
    let mut position = FetchPosition { offset: fetch.start, epoch: -1 };
    // The CRCs were checked on arrival, when a corrupt batch could still be fetched again.
    let mut batches = Batches::new(fetch.records.clone()).check_crc(false);
    let mut remaining = fetch.remaining.take();
    loop {
        let before = batches.rest().clone();
        if limit.is_reached() && (remaining.is_some() || !before.is_empty()) {
            let mut fetch = remainder_from(fetch, before, position.offset);
            fetch.remaining = remaining;
            return (Remainder::Fetch(fetch), position);
        }
        let batch = match batches.next() {
            None => {
                // Markers and gaps at the end belong to the last records.
                if let Some(last) = sets.get_mut(first_set..).and_then(<[RecordSet]>::last_mut) {
                    last.next = fetch.end;
                }
                return (Remainder::None, FetchPosition { offset: fetch.end, epoch: fetch.epoch });
            }
            Some(Ok(batch)) => batch,
            Some(Err(error)) => {
                let fetch = remainder_from(fetch, before, position.offset);
                return (Remainder::Malformed(fetch, error.into()), position);
            }
        };
        let decoded = match remaining.take() {
            Some(open) => decode_open(&fetch, *open, limit),
            None => decode_batch(&mut fetch, &batch, limit, decompressor),
        };
        let (set, end) = match decoded {
            Ok(decoded) => decoded,
            Err(error) => {
                let fetch = remainder_from(fetch, before, position.offset);
                return (Remainder::Malformed(fetch, error), position);
            }
        };
        if !set.entries.is_empty() || matches!(end, BatchEnd::Whole) {
            position = FetchPosition { offset: set.next.max(position.offset), epoch: set.leader_epoch };
        }
        if !set.entries.is_empty() {
            sets.push(set);
        }
        match end {
            BatchEnd::Whole => {}
            BatchEnd::Rest(open) => {
                let mut fetch = remainder_from(fetch, before, position.offset);
                fetch.remaining = Some(Box::new(open));
                return (Remainder::Fetch(fetch), position);
            }
            BatchEnd::Malformed(error) => {
                let fetch = remainder_from(fetch, before, position.offset);
                return (Remainder::Malformed(fetch, error), position);
            }
        }
    }
}

fn remainder_from(fetch: CompletedFetch, records: Bytes, start: i64) -> CompletedFetch {
    CompletedFetch { records, start, ..fetch }
}

/// Decodes the records of one batch that are visible to the application, up to the limit.
fn decode_batch(
    fetch: &mut CompletedFetch,
    batch: &Batch,
    limit: &mut ReadLimit,
    decompressor: &mut Decompressor,
) -> Result<(RecordSet, BatchEnd)> {
    let visible = match &mut fetch.aborted {
        Some(aborted) => aborted.admits(batch, decompressor)?,
        None => !batch.is_control(),
    };
    let mut set = RecordSet::new(partition_of(fetch), fetch.version, batch);
    if !visible || batch.last_offset() < fetch.start {
        return Ok((set, BatchEnd::Whole));
    }
    let mut records = batch.records(decompressor)?;
    let bytes = records.bytes();
    let is_small = bytes.len() <= Decompressor::MAX_RETAINED;
    if batch.compression() == Compression::None
        || !is_small
        || !limit.admits(records.max_remaining(), bytes.len())
    {
        // A large buffer is not reused for the next batch: the records take it over, and so do those of a batch that
        // takes several polls.
        let position = records.current_position();
        return decode_open(fetch, OpenBatch::new(batch.clone(), decompressor, position), limit);
    }
    let mut store = ByteStore::Copy(Vec::with_capacity(bytes.len()));
    let end = read_records(&mut set, fetch, &mut records, &mut store, limit);
    let end = match end {
        RecordsEnd::Whole => BatchEnd::Whole,
        RecordsEnd::Malformed(error) => BatchEnd::Malformed(error),
        RecordsEnd::Rest(position) => BatchEnd::Rest(OpenBatch::new(batch.clone(), decompressor, position)),
    };
    if let ByteStore::Copy(bytes) = store {
        set.bytes = bytes.into();
    }
    Ok((set, end))
}

/// Decodes the next records of a batch in place, up to the limit.
fn decode_open(
    fetch: &CompletedFetch,
    mut open: OpenBatch,
    limit: &mut ReadLimit,
) -> Result<(RecordSet, BatchEnd)> {
    let mut set = RecordSet::new(partition_of(fetch), fetch.version, open.batch());
    set.bytes = open.bytes().clone();
    let mut store = ByteStore::InPlace(set.bytes.as_ptr().addr());
    let end = read_records(&mut set, fetch, &mut open.records(), &mut store, limit);
    let end = match end {
        RecordsEnd::Whole => BatchEnd::Whole,
        RecordsEnd::Malformed(error) => BatchEnd::Malformed(error),
        RecordsEnd::Rest(position) => {
            open.move_to(position);
            BatchEnd::Rest(open)
        }
    };
    Ok((set, end))
}

/// What is left of the records of a batch.
enum RecordsEnd {
    Whole,
    Rest(RecordsPosition),
    Malformed(Error),
}

/// Adds the records of a batch to its set, up to the limit, and sets the position after them.
fn read_records(
    set: &mut RecordSet,
    fetch: &CompletedFetch,
    records: &mut Records<'_>,
    store: &mut ByteStore,
    limit: &mut ReadLimit,
) -> RecordsEnd {
    let count = records.max_remaining().min(limit.records());
    set.entries.reserve(count.min(MAX_RESERVED_RECORDS));
    let next = |set: &RecordSet| set.entries.last().map_or(fetch.start, |last| last.offset + 1);
    loop {
        if limit.is_reached() && !records.is_exhausted() {
            set.next = next(set);
            return RecordsEnd::Rest(records.current_position());
        }
        match records.next() {
            None => return RecordsEnd::Whole,
            Some(Ok(record)) if (fetch.start..fetch.end).contains(&record.offset) => {
                let entry = store.store_record(&record);
                limit.count(&entry);
                set.entries.push(entry);
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                set.next = next(set);
                return RecordsEnd::Malformed(error.into());
            }
        }
    }
}

fn partition_of(fetch: &CompletedFetch) -> TopicPartition {
    (Arc::clone(&fetch.partition.0), fetch.partition.1)
}

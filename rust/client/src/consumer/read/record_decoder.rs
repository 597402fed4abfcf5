//! Decodes completed fetches into records, for programs that take them one by one. Arrow batches have their
//! own decoder (the crate `ottla-arrow`).

use std::sync::Arc;

use bytes::Bytes;
use ottla_protocol::records::{Batch, Batches, Compression, Decompressor};

use crate::consumer::completed_fetch::CompletedFetch;
use crate::consumer::partition_state::FetchPosition;
use crate::consumer::read::record_set::{ByteStore, RecordSet, RemainingBatch};
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

/// Decodes at most `max_records` records of a fetch; returns the rest and the position reached.
pub(in crate::consumer) fn decode(
    mut fetch: CompletedFetch,
    max_records: usize,
    decompressor: &mut Decompressor,
    sets: &mut Vec<RecordSet>,
) -> (Remainder, FetchPosition) {
    let (mut left, first_set) = (max_records, sets.len());
    let mut position = FetchPosition { offset: fetch.start, epoch: -1 };
    // The CRCs were checked on arrival, when a corrupt batch could still be fetched again.
    let mut batches = Batches::new(fetch.records.clone()).check_crc(false);
    let mut remaining = fetch.remaining.take();
    loop {
        let before = batches.rest().clone();
        let (set, after) = if let Some(remaining) = remaining.take() {
            batches = Batches::new(remaining.after.clone()).check_crc(false);
            (remaining.set, remaining.after)
        } else {
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
                    return (
                        Remainder::Malformed(remainder_from(fetch, before, position.offset), error.into()),
                        position,
                    );
                }
            };
            if left == 0 {
                return (Remainder::Fetch(remainder_from(fetch, before, position.offset)), position);
            }
            match decode_batch(&mut fetch, &batch, decompressor) {
                Ok((set, None)) => (set, batches.rest().clone()),
                Ok((good, Some(error))) => {
                    // Records that do not fit now are decoded again: malformed batches are rare.
                    let (set, rest) = good.split(left);
                    if !set.entries.is_empty() {
                        position = FetchPosition { offset: set.next, epoch: set.leader_epoch };
                        sets.push(set);
                    }
                    let fetch = remainder_from(fetch, before, position.offset);
                    let rest = if rest.is_some() {
                        Remainder::Fetch(fetch)
                    } else {
                        Remainder::Malformed(fetch, error)
                    };
                    return (rest, position);
                }
                Err(error) => {
                    return (
                        Remainder::Malformed(remainder_from(fetch, before, position.offset), error),
                        position,
                    );
                }
            }
        };
        let (set, rest) = set.split(left);
        left -= set.entries.len();
        position = FetchPosition { offset: set.next.max(position.offset), epoch: set.leader_epoch };
        if !set.entries.is_empty() {
            sets.push(set);
        }
        if let Some(set) = rest {
            let mut fetch = remainder_from(fetch, before, position.offset);
            fetch.remaining = Some(Box::new(RemainingBatch { set, after }));
            return (Remainder::Fetch(fetch), position);
        }
    }
}

fn remainder_from(fetch: CompletedFetch, records: Bytes, start: i64) -> CompletedFetch {
    CompletedFetch { records, start, ..fetch }
}

/// Decodes the records of one batch that are visible to the application; if one is malformed, those before
/// it and the error.
fn decode_batch(
    fetch: &mut CompletedFetch,
    batch: &Batch,
    decompressor: &mut Decompressor,
) -> Result<(RecordSet, Option<Error>)> {
    let visible = match &mut fetch.aborted {
        Some(aborted) => aborted.admits(batch, decompressor)?,
        None => !batch.is_control(),
    };
    let mut set = RecordSet::new(partition_of(fetch), fetch.version, batch);
    if !visible || batch.last_offset() < fetch.start {
        return Ok((set, None));
    }
    let records = batch.records(decompressor)?;
    let compressed = batch.compression() != Compression::None;
    let bytes = if compressed { records.bytes() } else { batch.as_bytes() };
    // A large buffer is not reused for the next batch; the records take it over.
    let mut store = match compressed && bytes.len() <= Decompressor::MAX_RETAINED {
        true => ByteStore::Copy(Vec::with_capacity(bytes.len())),
        false => ByteStore::InPlace(bytes.as_ptr().addr()),
    };
    set.entries.reserve(records.max_remaining().min(MAX_RESERVED_RECORDS));
    let mut malformed = None;
    for record in records {
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                set.next = set.entries.last().map_or(fetch.start, |last| last.offset + 1);
                malformed = Some(error.into());
                break;
            }
        };
        if (fetch.start..fetch.end).contains(&record.offset) {
            set.entries.push(store.store_record(&record));
        }
    }
    set.bytes = match store {
        ByteStore::Copy(bytes) => bytes.into(),
        ByteStore::InPlace(_) if compressed => decompressor.take().into(),
        ByteStore::InPlace(_) => batch.as_bytes().clone(),
    };
    Ok((set, malformed))
}

fn partition_of(fetch: &CompletedFetch) -> TopicPartition {
    (Arc::clone(&fetch.partition.0), fetch.partition.1)
}

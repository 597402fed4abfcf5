//! Delivers acquired records as Arrow batches, with a column of delivery counts.
//!
//! Invariants: a batch holds exactly the acquired records among the decoded ones, each registered as
//! delivered. The rows before a malformed batch are delivered before its error is returned.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, BooleanArray, Int16Array, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use arrow_select::filter::filter_record_batch;
use ottla_arrow::{ArrowDecoder, Column};
use tokio::time::Instant;

use super::ShareConsumer;
use super::acknowledgements::Acknowledgement;
use super::acquired_fetch::AcquiredFetch;
use super::offset_ranges::OffsetRanges;
use super::state::ShareState;
use crate::consumer::read::arrow_decoding::{ArrowLayout, decode_batches, flush};
use crate::error::{Error, Kind, Result};

/// The name of the column of delivery counts.
const DELIVERY_COUNT: &str = "deliveryCount";

/// The largest size of a batch's keys, values and headers: Arrow's offsets have 32 bits.
const MAX_BYTES: usize = 1 << 30;

/// Decoded rows of one fetch.
struct DecodedRows {
    fetch: AcquiredFetch,
    /// The part of the acquired records that was decoded.
    decoded: OffsetRanges<i16>,
    /// The acquired records among the rows.
    delivered: OffsetRanges<i16>,
    rows: usize,
    /// Whether the whole fetch was decoded.
    is_whole: bool,
    malformed: Option<Error>,
}

impl ShareConsumer {
    /// Delivers buffered records as a batch of at most `layout.max_rows` rows; `None` if none are buffered.
    /// The last column, `deliveryCount: int16`, says how often a record was delivered, 1 for the first time.
    ///
    /// # Errors
    /// A malformed batch, once the rows before it were delivered. Its records are released.
    pub fn pop_batch(&self, layout: &ArrowLayout) -> Result<Option<RecordBatch>> {
        *self.decoded.lock() = None;
        let mut columns = layout.columns.clone();
        if !columns.contains(&Column::Offset) {
            columns.push(Column::Offset);
        }
        let inner =
            ArrowLayout { columns, max_rows: usize::MAX, target_bytes: MAX_BYTES, ..ArrowLayout::default() };
        let mut decoder = inner.decoder(self.client().config());
        let (now, mut left) = (Instant::now(), layout.max_rows.max(1) as u64);
        let candidates: Vec<AcquiredFetch> = {
            let mut state = self.shared.state.lock();
            state.drop_expired(now);
            state.buffered.iter().cloned().collect()
        };
        let mut decoded = Vec::new();
        for fetch in candidates {
            let rows = decode(&mut decoder, fetch, left);
            left = left.saturating_sub(rows.decoded.count());
            let is_malformed = rows.malformed.is_some();
            decoded.push(rows);
            if left == 0 || is_malformed {
                break;
            }
        }
        flush(&mut decoder)?;
        let batch = decoder.pop().map(|ready| finish(&ready.batch, &mut decoded, layout.columns.len()));
        let batch = batch.transpose().map_err(|error| Error::new(Kind::Protocol, error.to_string()))?;
        let batch = batch.filter(|batch| batch.num_rows() > 0);
        let error = self.shared.state.lock().deliver_rows(decoded, now);
        self.shared.fetcher_wakeup.notify_one();
        match (batch, error) {
            (Some(batch), error) => {
                self.shared.state.lock().errors.extend(error);
                Ok(Some(batch))
            }
            (None, Some(error)) => Err(error),
            (None, None) => Ok(None),
        }
    }
}

/// Decodes at most `max_records` acquired records of a fetch, as rows of the decoder's batch.
fn decode(decoder: &mut ArrowDecoder, fetch: AcquiredFetch, max_records: u64) -> DecodedRows {
    let (mut part, mut left) = (OffsetRanges::default(), max_records);
    for (first, last, count) in fetch.acquired.iter() {
        let size = last.abs_diff(first).saturating_add(1).min(left);
        if size > 0 {
            part.insert(first, first.saturating_add_unsigned(size - 1), count);
            left -= size;
        }
    }
    let is_whole = part.count() == fetch.acquired.count();
    let range = part.first().unwrap_or(0)..part.last().map_or(0, |last| last.saturating_add(1));
    let before = decoder.pending_rows();
    let malformed = decode_batches(decoder, &fetch.partition, &fetch.records, range, None).err();
    let rows = decoder.pending_rows().saturating_sub(before);
    DecodedRows { fetch, decoded: part, delivered: OffsetRanges::default(), rows, is_whole, malformed }
}

/// Keeps the acquired rows and the first `columns` columns, and adds the delivery counts.
fn finish(
    batch: &RecordBatch,
    decoded: &mut [DecodedRows],
    columns: usize,
) -> Result<RecordBatch, ArrowError> {
    let offsets = batch.schema_ref().index_of(Column::Offset.name())?;
    let offsets = batch.column(offsets).as_primitive::<Int64Type>();
    let (mut is_acquired, mut counts) =
        (Vec::with_capacity(offsets.len()), Vec::with_capacity(offsets.len()));
    let mut start = 0;
    for rows in decoded {
        let end = (start + rows.rows).min(offsets.len());
        let mut last_offset = None;
        for row in start..end {
            let offset = offsets.value(row);
            let count = rows.decoded.get(offset);
            is_acquired.push(count.is_some());
            if let Some(count) = count {
                counts.push(count);
                rows.delivered.insert(offset, offset, count);
            }
            last_offset = Some(offset);
        }
        if end < start + rows.rows {
            // The batch is full; the rest stays buffered.
            rows.decoded.remove(last_offset.map_or(i64::MIN, |last| last.saturating_add(1)), i64::MAX);
            (rows.is_whole, rows.malformed) = (false, None);
        }
        start = end;
    }
    is_acquired.resize(offsets.len(), false);
    let kept = if counts.len() == offsets.len() {
        batch.clone()
    } else {
        filter_record_batch(batch, &BooleanArray::from(is_acquired))?
    };
    let mut fields: Vec<_> = kept.schema_ref().fields().iter().take(columns).cloned().collect();
    fields.push(Arc::new(Field::new(DELIVERY_COUNT, DataType::Int16, true)));
    let mut arrays: Vec<ArrayRef> = kept.columns().iter().take(columns).cloned().collect();
    arrays.push(Arc::new(Int16Array::from(counts)));
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
}

impl ShareState {
    /// Registers decoded rows as delivered. Returns the error of a malformed batch, whose records are released.
    fn deliver_rows(&mut self, decoded: Vec<DecodedRows>, now: Instant) -> Option<Error> {
        for rows in decoded {
            let is_front = |front: &&mut AcquiredFetch| front.records.as_ptr() == rows.fetch.records.as_ptr();
            let Some(front) = self.buffered.front_mut().filter(is_front) else { continue };
            let mut gaps = rows.decoded.clone();
            for (first, last, count) in rows.delivered.iter() {
                gaps.remove(first, last);
                front.acquired.remove(first, last);
                self.delivered.add(&rows.fetch, first, last, count);
            }
            if rows.malformed.is_some() || rows.is_whole {
                if let Some(error) = self.finish_front(rows.malformed, now) {
                    return Some(error);
                }
                continue;
            }
            for (first, last, _) in gaps.iter() {
                front.acquired.remove(first, last);
            }
            let gaps: Vec<_> =
                gaps.iter().map(|(first, last, _)| (first, last, Acknowledgement::Gap)).collect();
            self.leaders.entry(rows.fetch.leader).or_default().acknowledge(&rows.fetch, gaps, now);
        }
        None
    }
}

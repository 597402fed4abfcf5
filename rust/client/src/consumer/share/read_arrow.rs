//! Delivers acquired records as Arrow batches, with a column of delivery counts.
//!
//! Invariants: a batch holds exactly the acquired records among the decoded ones, each registered as
//! delivered. Decoding stops at the end of the batch, and the next poll continues there. The rows before a malformed
//! batch are delivered before its error is returned.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int16Array, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use bytes::Bytes;
use ottla_arrow::{ArrowDecoder, Column, RecordsCursor};
use ottla_schema::select_rows;
use tokio::time::Instant;

use super::ShareConsumer;
use super::acknowledgements::Acknowledgement;
use super::acquired_fetch::AcquiredFetch;
use super::offset_ranges::OffsetRanges;
use super::state::ShareState;
use crate::consumer::read::arrow_decoding::{ArrowLayout, decode_until_full, flush};
use crate::error::{Error, Kind, Result};

/// The name of the column of delivery counts.
const DELIVERY_COUNT: &str = "deliveryCount";

/// How far a buffered fetch was decoded.
#[derive(Debug)]
pub(super) struct ColumnsCursor {
    /// The fetch's records.
    records: Bytes,
    cursor: RecordsCursor,
}

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
        let mut open = self.columns_cursor.lock().take();
        let mut columns = layout.columns.clone();
        if !columns.contains(&Column::Offset) {
            columns.push(Column::Offset);
        }
        let (max_rows, target_bytes) = (layout.max_rows, layout.target_bytes);
        let inner = ArrowLayout { columns, max_rows, target_bytes, ..ArrowLayout::default() };
        let mut decoder = inner.decoder(self.client().config());
        let now = Instant::now();
        let candidates: Vec<AcquiredFetch> = {
            let mut state = self.shared.state.lock();
            state.drop_expired(now);
            state.buffered.iter().cloned().collect()
        };
        let mut decoded = Vec::new();
        for fetch in candidates {
            let mut cursor = match open.take() {
                Some(open) if open.continues(&fetch) => open,
                _ => ColumnsCursor::new(&fetch),
            };
            let rows = decode(&mut decoder, fetch, &mut cursor.cursor);
            let (is_malformed, is_whole) = (rows.malformed.is_some(), rows.is_whole);
            decoded.push(rows);
            if !is_whole {
                open = Some(cursor);
            }
            if is_malformed || !is_whole || decoder.is_full() {
                break;
            }
        }
        flush(&mut decoder)?;
        let batch = decoder.pop().map(|ready| finish(&ready.batch, &mut decoded, layout.columns.len()));
        let batch = batch.transpose().map_err(|error| Error::new(Kind::Protocol, error.to_string()))?;
        let batch = batch.filter(|batch| batch.num_rows() > 0);
        let error = self.shared.state.lock().deliver_rows(decoded, now);
        *self.columns_cursor.lock() = open;
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

impl ColumnsCursor {
    fn new(fetch: &AcquiredFetch) -> Self {
        let records = fetch.records.clone();
        let start = fetch.acquired.first().unwrap_or(0);
        Self { cursor: RecordsCursor::new(records.clone(), start).check_crcs(false), records }
    }

    /// Whether the undelivered records of a fetch begin here. A fetch with renewed locks begins again.
    fn continues(&self, fetch: &AcquiredFetch) -> bool {
        let is_same = self.records.as_ptr() == fetch.records.as_ptr();
        is_same && fetch.acquired.first().is_some_and(|first| self.cursor.next_offset() <= first)
    }
}

/// Decodes the acquired records of a fetch, and those between them, up to the end of the decoder's batch.
fn decode(decoder: &mut ArrowDecoder, fetch: AcquiredFetch, cursor: &mut RecordsCursor) -> DecodedRows {
    let before = decoder.pending_rows();
    let last = fetch.acquired.last().unwrap_or(-1);
    let range = cursor.next_offset()..last.saturating_add(1);
    let result = decode_until_full(decoder, &fetch.partition, cursor, range, None);
    let mut decoded = fetch.acquired.clone();
    let is_whole = !matches!(result, Ok(false));
    if !is_whole {
        decoded.remove(cursor.next_offset(), i64::MAX);
    }
    let malformed = result.err();
    let rows = decoder.ready_rows() + decoder.pending_rows() - before;
    DecodedRows { fetch, decoded, delivered: OffsetRanges::default(), rows, is_whole, malformed }
}

/// Keeps the acquired rows and the first `columns` columns, and adds the delivery counts.
fn finish(
    batch: &RecordBatch,
    decoded: &mut [DecodedRows],
    columns: usize,
) -> Result<RecordBatch, ArrowError> {
    let offsets = batch.schema_ref().index_of(Column::Offset.name())?;
    let offsets = batch.column(offsets).as_primitive::<Int64Type>();
    let (mut acquired, mut counts) = (Vec::with_capacity(offsets.len()), Vec::with_capacity(offsets.len()));
    let mut start = 0;
    for rows in decoded {
        let end = (start + rows.rows).min(offsets.len());
        for row in start..end {
            let offset = offsets.value(row);
            if let Some(count) = rows.decoded.get(offset) {
                acquired.push(row);
                counts.push(count);
                rows.delivered.insert(offset, offset, count);
            }
        }
        start = end;
    }
    let kept =
        if counts.len() == offsets.len() { batch.clone() } else { select_rows(batch, acquired.into_iter())? };
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

//! The batch that is being filled.
//!
//! Invariant: the bytes of all columns together stay within 31 bits, so that no offset overflows:
//! [`Chunk::push`] counts each row before it is pushed, and [`Chunk::push_all`] what all rows take that are
//! left.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, Int32Array, Int64Array, RecordBatch, RecordBatchOptions, TimestampMicrosecondArray,
};
use arrow_schema::SchemaRef;
use ottla_protocol::records::{RecordError, RecordRef, Records};

use super::bytes::BytesColumn;
use super::headers::{self, HeadersColumn};
use super::rows::{BytesRows, Rows, micros};
use super::spare::Spare;
use super::topic::TopicColumn;
use super::{DecodeCause, DecodedBatch, DecoderConfig, Pushed, Span};
use crate::Column;
use crate::schema::UTC;

const MAX_BYTES: usize = i32::MAX as usize;
/// So many topic names of the greatest length, 249 bytes, still fit into a column.
const MAX_ROWS: usize = 1 << 22;
/// No value starts with more room than this before it is known to be needed.
const RECORD_GUESS: usize = 128;
/// So many records are read one by one before another is tried that is plain.
const MOST_OTHERS: usize = 32;

#[derive(Debug)]
pub(super) struct Chunk {
    columns: Vec<Column>,
    schema: SchemaRef,
    max_rows: usize,
    target_bytes: usize,

    rows: usize,
    bytes: usize,
    // A column that nobody asked for stays empty.
    key: BytesColumn,
    value: BytesColumn,
    offset: Vec<i64>,
    spare_offset: Spare<i64>,
    wants_offset: bool,
    timestamp: Vec<i64>,
    spare_timestamp: Spare<i64>,
    wants_timestamp: bool,
    headers: Option<HeadersColumn>,
    topic: TopicColumn,
    /// Timestamp types, each with the row from which on it holds.
    timestamp_types: Vec<(i32, usize)>,
    spans: Vec<Span>,
    span_start: usize,
}

impl Chunk {
    pub(super) fn new(columns: &[Column], config: &DecoderConfig) -> Self {
        let wants = |column| columns.contains(&column);
        let target_bytes = config.target_bytes.clamp(1, MAX_BYTES);
        let most = 2 * target_bytes;
        Self {
            schema: Column::schema(columns),
            columns: columns.to_vec(),
            max_rows: config.max_rows.clamp(1, MAX_ROWS),
            target_bytes,
            rows: 0,
            bytes: 0,
            key: BytesColumn::new(wants(Column::Key), most),
            value: BytesColumn::new(wants(Column::Value), most),
            offset: Vec::new(),
            spare_offset: Spare::new(usize::MAX),
            wants_offset: wants(Column::Offset),
            timestamp: Vec::new(),
            spare_timestamp: Spare::new(usize::MAX),
            wants_timestamp: wants(Column::Timestamp),
            headers: wants(Column::Headers).then(|| HeadersColumn::new(most)),
            topic: TopicColumn::new(),
            timestamp_types: Vec::new(),
            spans: Vec::new(),
            span_start: 0,
        }
    }

    pub(super) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    pub(super) const fn rows(&self) -> usize {
        self.rows
    }

    pub(super) fn begin_span(&mut self, topic: &str, partition: i32, next_offset: i64) {
        let topic = self.topic.intern(topic);
        self.span_start = self.rows;
        self.spans.push(Span { topic, partition, rows: 0, next_offset });
    }

    pub(super) fn end_span(&mut self, next_offset: i64) {
        let rows = self.rows - self.span_start;
        let Some(span) = self.spans.pop() else { return };
        if rows > 0 {
            self.spans.push(Span { rows, next_offset, ..span });
            return;
        }
        // Markers and gaps have no rows: handing out the partition's last rows moves past them.
        let same = |other: &&mut Span| other.topic == span.topic && other.partition == span.partition;
        if let Some(last) = self.spans.iter_mut().rev().find(same) {
            last.next_offset = next_offset;
        }
    }

    /// The next rows have this timestamp type, and are no more than this.
    pub(super) fn begin_batch(&mut self, timestamp_type: i32, max_remaining: usize) {
        match self.timestamp_types.last_mut() {
            Some(last) if last.0 == timestamp_type => {}
            Some(last) if last.1 == self.rows => last.0 = timestamp_type,
            _ => self.timestamp_types.push((timestamp_type, self.rows)),
        }
        let rows = max_remaining.min(self.max_rows - self.rows.min(self.max_rows));
        let bytes = (rows * RECORD_GUESS).min(self.target_bytes);
        self.value.begin(bytes);
        if let Some(headers) = &mut self.headers {
            headers.reserve(rows);
        }
    }

    /// Whether all records that are encoded in so many bytes surely fit into an empty batch.
    pub(super) fn can_hold(encoded: usize) -> bool {
        encoded.saturating_mul(headers::GROWTH) <= MAX_BYTES
    }

    /// Appends all records, which [`Chunk::can_hold`], finishing batches on the way.
    pub(super) fn push_all(
        &mut self,
        records: &mut Records<'_>,
        pushed: &mut Pushed,
        ready: &mut VecDeque<DecodedBatch>,
    ) -> Result<(), DecodeCause> {
        while let left @ 1.. = records.max_remaining() {
            match self.room(left, records.encoded_len().unwrap_or(0)) {
                0 => self.cut(pushed.next_offset, ready)?,
                rows => self.push_some(records, rows, pushed)?,
            }
        }
        // Nothing, or what is wrong with the bytes that are left over.
        records.try_for_each(|record| self.push(&record?, pushed, ready))
    }

    /// How many of so many rows, encoded in so many bytes, go into this batch: by their mean size.
    fn room(&self, rows: usize, encoded: usize) -> usize {
        if self.rows > 0 && !Self::can_hold(self.bytes.saturating_add(encoded)) {
            return 0;
        }
        let mean = (encoded / rows.max(1)).max(1);
        let wanted = self.target_bytes.saturating_sub(self.bytes).div_ceil(mean);
        rows.min(self.max_rows.saturating_sub(self.rows)).min(wanted)
    }

    /// Appends the next rows.
    fn push_some(
        &mut self,
        records: &mut Records<'_>,
        rows: usize,
        pushed: &mut Pushed,
    ) -> Result<(), RecordError> {
        self.fill_rows(rows, pushed, |rows| {
            // Where no record is plain, looking for one each time would cost more than it gives.
            let mut others = 1;
            while rows.left() > 0 {
                others = if records.read_plain(rows) > 0 { 1 } else { MOST_OTHERS.min(2 * others) };
                for _ in 0..others.min(rows.left()) {
                    let Some(record) = records.next() else { return Ok(()) };
                    rows.push(&record?);
                }
            }
            Ok(())
        })
    }

    /// Appends a record, finishing the batch first if it is full.
    pub(super) fn push(
        &mut self,
        record: &RecordRef<'_>,
        pushed: &mut Pushed,
        ready: &mut VecDeque<DecodedBatch>,
    ) -> Result<(), DecodeCause> {
        let bytes = size_of(record);
        let is_full = self.rows == self.max_rows
            || self.bytes >= self.target_bytes
            || self.bytes.saturating_add(bytes) > MAX_BYTES;
        if is_full && self.rows > 0 {
            self.cut(pushed.next_offset, ready)?;
        }
        if bytes > MAX_BYTES {
            return Err(DecodeCause::RowTooLarge { bytes });
        }
        self.key.push(record.key);
        self.value.push(record.value);
        if self.wants_offset {
            self.offset.push(record.offset);
        }
        if self.wants_timestamp {
            self.timestamp.push(micros(record.timestamp));
        }
        if let Some(headers) = &mut self.headers {
            headers.push(&record.headers);
        }
        pushed.next_offset = pushed.next_offset.max(record.offset.saturating_add(1));
        self.took(1, pushed);
        Ok(())
    }

    /// Has `fill` fill up to so many rows, and takes note of what came.
    fn fill_rows<T>(
        &mut self,
        max_remaining: usize,
        pushed: &mut Pushed,
        fill: impl FnOnce(&mut Rows<'_>) -> T,
    ) -> T {
        let Self { offset, timestamp, key, value, headers, .. } = self;
        let before = [offset.len(), timestamp.len(), key.rows(), value.rows()];
        offset.resize(before[0] + max_remaining, 0);
        timestamp.resize(before[1] + max_remaining, 0);
        let mut rows = Rows {
            offsets: offset.get_mut(before[0]..).unwrap_or_default(),
            timestamps: timestamp.get_mut(before[1]..).unwrap_or_default(),
            key: BytesRows::new(key, max_remaining),
            value: BytesRows::new(value, max_remaining),
            headers: headers.as_mut(),
            count: 0,
        };
        let outcome = fill(&mut rows);
        let count = rows.count;
        if let Some(last) = rows.offsets.get(..count).and_then(<[i64]>::last) {
            pushed.next_offset = pushed.next_offset.max(last.saturating_add(1));
        }
        // What nobody wants is not kept.
        let kept = |wanted, before| if wanted { before + count } else { 0 };
        offset.truncate(kept(self.wants_offset, before[0]));
        timestamp.truncate(kept(self.wants_timestamp, before[1]));
        key.offsets.truncate(kept(key.wanted, before[2]) + 1);
        value.offsets.truncate(kept(value.wanted, before[3]) + 1);
        self.took(count, pushed);
        outcome
    }

    fn took(&mut self, rows: usize, pushed: &mut Pushed) {
        self.rows += rows;
        self.bytes = self.key.len() + self.value.len() + self.headers.as_ref().map_or(0, HeadersColumn::len);
        pushed.rows += rows;
    }

    /// Finishes the batch in the middle of a span, which goes on in the next one.
    #[cold]
    fn cut(&mut self, next_offset: i64, ready: &mut VecDeque<DecodedBatch>) -> Result<(), DecodeCause> {
        let timestamp_type = self.timestamp_types.last().map_or(0, |last| last.0);
        let Some(span) = self.spans.last().cloned() else { return Ok(()) };
        self.end_span(next_offset);
        self.emit(ready)?;
        self.spans.push(Span { rows: 0, next_offset, ..span });
        self.begin_batch(timestamp_type, 0);
        Ok(())
    }

    pub(super) fn emit(&mut self, ready: &mut VecDeque<DecodedBatch>) -> Result<(), DecodeCause> {
        if self.rows == 0 {
            // Whoever pushed was told the next offset; there are no rows to tie it to.
            self.spans.clear();
            return Ok(());
        }
        let rows = std::mem::take(&mut self.rows);
        self.bytes = 0;
        self.span_start = 0;
        let spans = std::mem::take(&mut self.spans);
        let types = std::mem::take(&mut self.timestamp_types);
        let mut arrays = Vec::with_capacity(self.columns.len());
        for column in self.columns.clone() {
            // A column that is listed twice is shared.
            let first = self.columns.iter().position(|other| *other == column);
            let array = match first.and_then(|at| arrays.get(at)) {
                Some(array) => Arc::clone(array),
                None => self.finish_column(column, rows, &spans, &types)?,
            };
            arrays.push(array);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(self.schema(), arrays, &options)?;
        ready.push_back(DecodedBatch { batch, spans });
        Ok(())
    }

    fn finish_column(
        &mut self,
        column: Column,
        rows: usize,
        spans: &[Span],
        types: &[(i32, usize)],
    ) -> Result<ArrayRef, DecodeCause> {
        let take = |numbers: &mut Vec<i64>, spare: &Spare<i64>| {
            let (filled, fresh) = spare.exchange(std::mem::take(numbers), rows);
            *numbers = fresh;
            filled
        };
        Ok(match column {
            Column::Key => Arc::new(self.key.finish()?),
            Column::Value => Arc::new(self.value.finish()?),
            Column::Topic => Arc::new(self.topic.build(spans, rows)?),
            Column::Partition => {
                let mut partitions = Vec::with_capacity(rows);
                for span in spans {
                    partitions.extend(std::iter::repeat_n(span.partition, span.rows));
                }
                Arc::new(Int32Array::from(partitions))
            }
            Column::Offset => Arc::new(Int64Array::new(take(&mut self.offset, &self.spare_offset), None)),
            Column::Timestamp => {
                let timestamps = take(&mut self.timestamp, &self.spare_timestamp);
                Arc::new(TimestampMicrosecondArray::new(timestamps, None).with_timezone(UTC))
            }
            Column::TimestampType => {
                let mut all = Vec::with_capacity(rows);
                let ends = types.iter().skip(1).map(|run| run.1).chain([rows]);
                for ((kind, _), end) in types.iter().zip(ends) {
                    all.resize(end.max(all.len()), *kind);
                }
                Arc::new(Int32Array::from(all))
            }
            Column::Headers => Arc::new(self.headers.get_or_insert_with(|| HeadersColumn::new(0)).finish()?),
        })
    }
}

/// What a record takes of the columns' bytes, whichever of them are asked for.
#[inline(always)]
fn size_of(record: &RecordRef<'_>) -> usize {
    record.key.map_or(0, <[u8]>::len)
        + record.value.map_or(0, <[u8]>::len)
        + HeadersColumn::bound(&record.headers)
}

//! [`ArrowBatchBuilder`]: the open batch of a decoder.
//!
//! Invariants: the bytes of all columns together stay within 31 bits, so that no offset overflows.
//! [`ArrowBatchBuilder::fits`] counts a row before it is appended, [`ArrowBatchBuilder::push_all`] all
//! remaining rows. No row is appended to a batch that has reached its target, so that it exceeds the target by
//! at most one row.

use std::ops::Range;
use std::sync::Arc;

use ::bytes::Bytes;
use arrow_array::{
    ArrayRef, Int32Array, Int64Array, RecordBatch, RecordBatchOptions, TimestampMicrosecondArray,
};
use arrow_schema::SchemaRef;
use ottla_protocol::records::{RecordError, RecordRef, Records};

use super::buffer_pool::BufferPool;
use super::bytes::BytesColumn;
use super::headers::{self, HeadersColumn};
use super::row_writer::{BEYOND, BytesWriter, RowWriter, micros};
use super::topic::TopicColumn;
use super::{DecodeCause, DecodeSummary, DecodedBatch, DecoderConfig, PartitionSpan};
use crate::Column;
use crate::schema::UTC;

const MAX_BATCH_BYTES: usize = i32::MAX as usize;
/// A column holds this many topic names of the maximum length, 249 bytes.
const MAX_ROWS: usize = 1 << 22;
/// The size of a value for which the first batch reserves memory.
const ESTIMATED_VALUE_BYTES: usize = 128;
/// The maximum number of records that are read one by one before plain records are tried again.
const MAX_PLAIN_BACKOFF: usize = 32;

#[derive(Debug)]
pub(super) struct ArrowBatchBuilder {
    columns: Vec<Column>,
    schema: SchemaRef,
    max_rows: usize,
    target_bytes: usize,

    rows: usize,
    bytes: usize,
    // A column that is not selected stays empty.
    key: BytesColumn,
    value: BytesColumn,
    offset: Vec<i64>,
    offset_pool: BufferPool<i64>,
    selects_offset: bool,
    timestamp: Vec<i64>,
    timestamp_pool: BufferPool<i64>,
    selects_timestamp: bool,
    /// Whether a timestamp is beyond the column's range.
    has_beyond: bool,
    headers: Option<HeadersColumn>,
    topic: TopicColumn,
    /// Timestamp types, each with its first row.
    timestamp_types: Vec<(i32, usize)>,
    spans: Vec<PartitionSpan>,
    span_start: usize,
}

impl ArrowBatchBuilder {
    pub(super) fn new(columns: &[Column], config: &DecoderConfig) -> Self {
        let selects = |column| columns.contains(&column);
        let target_bytes = config.target_bytes.clamp(1, MAX_BATCH_BYTES);
        let max_pooled = 2 * target_bytes;
        Self {
            schema: Column::schema(columns),
            columns: columns.to_vec(),
            max_rows: config.max_rows.clamp(1, MAX_ROWS),
            target_bytes,
            rows: 0,
            bytes: 0,
            key: BytesColumn::new(selects(Column::Key), max_pooled),
            value: BytesColumn::new(selects(Column::Value), max_pooled),
            offset: Vec::new(),
            offset_pool: BufferPool::new(usize::MAX),
            selects_offset: selects(Column::Offset),
            timestamp: Vec::new(),
            timestamp_pool: BufferPool::new(usize::MAX),
            selects_timestamp: selects(Column::Timestamp),
            has_beyond: false,
            headers: selects(Column::Headers).then(|| HeadersColumn::new(max_pooled)),
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
        self.spans.push(PartitionSpan { topic, partition, rows: 0, next_offset });
    }

    pub(super) fn end_span(&mut self, next_offset: i64) {
        let rows = self.rows - self.span_start;
        let Some(span) = self.spans.pop() else { return };
        if rows > 0 {
            self.spans.push(PartitionSpan { rows, next_offset, ..span });
            return;
        }
        // Markers and gaps have no rows: the partition's last rows carry the position past them.
        let same =
            |other: &&mut PartitionSpan| other.topic == span.topic && other.partition == span.partition;
        if let Some(last) = self.spans.iter_mut().rev().find(same) {
            last.next_offset = next_offset;
        }
    }

    /// Prepares for at most `max_rows` rows of this timestamp type.
    pub(super) fn begin_record_batch(&mut self, timestamp_type: i32, max_rows: usize) {
        match self.timestamp_types.last_mut() {
            Some(last) if last.0 == timestamp_type => {}
            Some(last) if last.1 == self.rows => last.0 = timestamp_type,
            _ => self.timestamp_types.push((timestamp_type, self.rows)),
        }
        let rows = max_rows.min(self.max_rows - self.rows.min(self.max_rows));
        let bytes = (rows * ESTIMATED_VALUE_BYTES).min(self.target_bytes);
        self.value.reserve_first(bytes);
        if let Some(headers) = &mut self.headers {
            headers.reserve(rows);
        }
    }

    /// Whether any records with this encoded length fit into an empty batch.
    pub(super) fn can_hold(encoded: usize) -> bool {
        encoded.saturating_mul(headers::MAX_GROWTH) <= MAX_BATCH_BYTES
    }

    /// Whether the batch takes no more rows.
    pub(super) const fn is_full(&self) -> bool {
        self.rows >= self.max_rows || (self.bytes >= self.target_bytes && self.rows > 0)
    }

    /// Appends records, for which [`ArrowBatchBuilder::can_hold`] is true, until the batch is full; returns
    /// whether all of them fit.
    pub(super) fn push_all(
        &mut self,
        records: &mut Records<'_>,
        summary: &mut DecodeSummary,
    ) -> Result<bool, DecodeCause> {
        while let left @ 1.. = records.max_remaining() {
            match self.rows_that_fit(left, records.encoded_len().unwrap_or(0)) {
                0 => return Ok(false),
                rows => self.push_rows(records, rows, summary)?,
            }
        }
        // Only the error of trailing bytes is left, if any.
        records.try_for_each(|record| self.push(&record?, summary))?;
        Ok(true)
    }

    /// How many of `rows` records with this encoded length fit into this batch, by their mean size.
    fn rows_that_fit(&self, rows: usize, encoded: usize) -> usize {
        if self.rows > 0 && !Self::can_hold(self.bytes.saturating_add(encoded)) {
            return 0;
        }
        let mean = (encoded / rows.max(1)).max(1);
        let to_target = self.target_bytes.saturating_sub(self.bytes).div_ceil(mean);
        rows.min(self.max_rows.saturating_sub(self.rows)).min(to_target)
    }

    /// Appends the next rows, until the batch has reached its target.
    fn push_rows(
        &mut self,
        records: &mut Records<'_>,
        rows: usize,
        summary: &mut DecodeSummary,
    ) -> Result<(), RecordError> {
        let target = self.target_bytes;
        self.fill_rows(rows, summary, |rows| {
            // Where no record is plain, trying each time would cost more than it saves.
            let mut backoff = 1;
            while rows.remaining() > 0 && rows.bytes() < target {
                // The columns take no more bytes than the records are encoded in.
                let read = records.read_plain_within(rows, target - rows.bytes());
                backoff = if read > 0 { 1 } else { MAX_PLAIN_BACKOFF.min(2 * backoff) };
                for _ in 0..backoff.min(rows.remaining()) {
                    if rows.bytes() >= target {
                        break;
                    }
                    let Some(record) = records.next() else { return Ok(()) };
                    rows.push(&record?);
                }
            }
            Ok(())
        })
    }

    /// Whether the batch takes this record. An empty one takes any.
    pub(super) fn fits(&self, record: &RecordRef<'_>) -> bool {
        let is_within = self.bytes.saturating_add(size_of(record)) <= MAX_BATCH_BYTES;
        self.rows == 0 || (!self.is_full() && is_within)
    }

    /// Appends a record that [`ArrowBatchBuilder::fits`].
    pub(super) fn push(
        &mut self,
        record: &RecordRef<'_>,
        summary: &mut DecodeSummary,
    ) -> Result<(), DecodeCause> {
        let bytes = size_of(record);
        if bytes > MAX_BATCH_BYTES {
            return Err(DecodeCause::RowTooLarge { bytes });
        }
        self.key.push(record.key);
        self.value.push(record.value);
        if self.selects_offset {
            self.offset.push(record.offset);
        }
        if self.selects_timestamp {
            self.timestamp.push(micros(record.timestamp, &mut self.has_beyond));
        }
        if let Some(headers) = &mut self.headers {
            headers.push(&record.headers);
        }
        summary.next_offset = summary.next_offset.max(record.offset.saturating_add(1));
        self.count_rows(1, summary);
        Ok(())
    }

    /// Whether a value of this length fills an empty batch on its own.
    pub(super) const fn is_filled_by(&self, value: usize) -> bool {
        self.value.selected && self.rows == 0 && value >= self.target_bytes && value <= MAX_BATCH_BYTES
    }

    /// Makes a part of `bytes` the value of the only row, which was appended without one.
    pub(super) fn adopt_value(&mut self, bytes: Bytes, range: Range<i32>) {
        self.bytes += range.len();
        self.value.adopt(bytes, range);
    }

    /// Reserves `max_rows` rows, lets `fill` write them, and counts those written.
    fn fill_rows<T>(
        &mut self,
        max_rows: usize,
        summary: &mut DecodeSummary,
        fill: impl FnOnce(&mut RowWriter<'_>) -> T,
    ) -> T {
        let Self { offset, timestamp, has_beyond, key, value, headers, .. } = self;
        let before = [offset.len(), timestamp.len(), key.rows(), value.rows()];
        offset.resize(before[0] + max_rows, 0);
        timestamp.resize(before[1] + max_rows, 0);
        let mut rows = RowWriter {
            offsets: offset.get_mut(before[0]..).unwrap_or_default(),
            timestamps: timestamp.get_mut(before[1]..).unwrap_or_default(),
            key: BytesWriter::new(key, max_rows),
            value: BytesWriter::new(value, max_rows),
            headers: headers.as_mut(),
            has_beyond,
            count: 0,
        };
        let result = fill(&mut rows);
        let count = rows.count;
        if let Some(last) = rows.offsets.get(..count).and_then(<[i64]>::last) {
            summary.next_offset = summary.next_offset.max(last.saturating_add(1));
        }
        // Columns that are not selected are emptied again.
        let kept = |selected, before| if selected { before + count } else { 0 };
        offset.truncate(kept(self.selects_offset, before[0]));
        timestamp.truncate(kept(self.selects_timestamp, before[1]));
        key.offsets.truncate(kept(key.selected, before[2]) + 1);
        value.offsets.truncate(kept(value.selected, before[3]) + 1);
        self.count_rows(count, summary);
        result
    }

    fn count_rows(&mut self, rows: usize, summary: &mut DecodeSummary) {
        self.rows += rows;
        self.bytes = self.key.len() + self.value.len() + self.headers.as_ref().map_or(0, HeadersColumn::len);
        summary.rows += rows;
    }

    /// Finishes the batch; returns `None` if it has no rows.
    pub(super) fn finish_batch(&mut self) -> Result<Option<DecodedBatch>, DecodeCause> {
        if self.rows == 0 {
            // The caller knows the next offset; there are no rows to carry it.
            self.spans.clear();
            return Ok(None);
        }
        let rows = std::mem::take(&mut self.rows);
        self.bytes = 0;
        self.span_start = 0;
        let spans = std::mem::take(&mut self.spans);
        let types = std::mem::take(&mut self.timestamp_types);
        let mut arrays = Vec::with_capacity(self.columns.len());
        for column in self.columns.clone() {
            // A column that is selected twice is shared.
            let first = self.columns.iter().position(|other| *other == column);
            let array = match first.and_then(|at| arrays.get(at)) {
                Some(array) => Arc::clone(array),
                None => self.finish_column(column, rows, &spans, &types)?,
            };
            arrays.push(array);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(self.schema(), arrays, &options)?;
        Ok(Some(DecodedBatch { batch, spans }))
    }

    fn finish_column(
        &mut self,
        column: Column,
        rows: usize,
        spans: &[PartitionSpan],
        types: &[(i32, usize)],
    ) -> Result<ArrayRef, DecodeCause> {
        let take = |numbers: &mut Vec<i64>, pool: &BufferPool<i64>| {
            let (filled, next) = pool.exchange(std::mem::take(numbers), rows);
            *numbers = next;
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
            Column::Offset => Arc::new(Int64Array::new(take(&mut self.offset, &self.offset_pool), None)),
            Column::Timestamp => {
                let timestamps = take(&mut self.timestamp, &self.timestamp_pool);
                let nulls = std::mem::take(&mut self.has_beyond)
                    .then(|| timestamps.iter().map(|timestamp| *timestamp != BEYOND).collect());
                Arc::new(TimestampMicrosecondArray::new(timestamps, nulls).with_timezone(UTC))
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

/// An upper bound of the bytes that a record adds to all columns, selected or not.
#[inline(always)]
fn size_of(record: &RecordRef<'_>) -> usize {
    record.key.map_or(0, <[u8]>::len)
        + record.value.map_or(0, <[u8]>::len)
        + HeadersColumn::bound(&record.headers)
}

//! The batch that is being filled.
//!
//! Invariant: the bytes of all columns together stay within 31 bits, so that no offset overflows:
//! [`Chunk::count_fitting`] counts each row before it is pushed.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, Int32Array, Int64Array, RecordBatch, RecordBatchOptions, TimestampMicrosecondArray,
};
use arrow_schema::SchemaRef;
use ottla_protocol::records::RecordRef;

use super::bytes::BytesColumn;
use super::headers::HeadersColumn;
use super::topic::TopicColumn;
use super::{DecodeCause, DecodedBatch, DecoderConfig, Pushed, Span};
use crate::Column;
use crate::schema::UTC;

const MAX_BYTES: usize = i32::MAX as usize;
/// So many topic names of the greatest length, 249 bytes, still fit into a column.
const MAX_ROWS: usize = 1 << 22;
/// No value starts with more room than this before it is known to be needed.
const RECORD_GUESS: usize = 128;

#[derive(Debug)]
pub(super) struct Chunk {
    columns: Vec<Column>,
    schema: SchemaRef,
    max_rows: usize,
    target_bytes: usize,

    rows: usize,
    bytes: usize,
    // A column that nobody asked for stays `None` and costs nothing a row.
    key: Option<BytesColumn>,
    value: Option<BytesColumn>,
    offset: Option<Vec<i64>>,
    timestamp: Option<Vec<i64>>,
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
        Self {
            schema: Column::schema(columns),
            columns: columns.to_vec(),
            max_rows: config.max_rows.clamp(1, MAX_ROWS),
            target_bytes: config.target_bytes.clamp(1, MAX_BYTES),
            rows: 0,
            bytes: 0,
            key: wants(Column::Key).then(BytesColumn::new),
            value: wants(Column::Value).then(BytesColumn::new),
            offset: wants(Column::Offset).then(Vec::new),
            timestamp: wants(Column::Timestamp).then(Vec::new),
            headers: wants(Column::Headers).then(HeadersColumn::new),
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
    pub(super) fn begin_batch(&mut self, timestamp_type: i32, at_most: usize) {
        match self.timestamp_types.last_mut() {
            Some(last) if last.0 == timestamp_type => {}
            Some(last) if last.1 == self.rows => last.0 = timestamp_type,
            _ => self.timestamp_types.push((timestamp_type, self.rows)),
        }
        let rows = at_most.min(self.max_rows - self.rows.min(self.max_rows));
        let bytes = (rows * RECORD_GUESS).min(self.target_bytes);
        if let Some(key) = &mut self.key {
            key.reserve(rows, 0);
        }
        if let Some(value) = &mut self.value {
            value.reserve(rows, bytes);
        }
        if let Some(offset) = &mut self.offset {
            offset.reserve(rows);
        }
        if let Some(timestamp) = &mut self.timestamp {
            timestamp.reserve(rows);
        }
        if let Some(headers) = &mut self.headers {
            headers.reserve(rows);
        }
    }

    /// Appends rows, finishing the batch whenever it is full.
    pub(super) fn push_block(
        &mut self,
        mut block: &[RecordRef<'_>],
        pushed: &mut Pushed,
        ready: &mut VecDeque<DecodedBatch>,
    ) -> Result<(), DecodeCause> {
        while let Some(first) = block.first() {
            let (fitting, rest) = block.split_at_checked(self.count_fitting(block)).unwrap_or((block, &[]));
            if let Some(last) = fitting.last() {
                self.push_rows(fitting);
                pushed.rows += fitting.len();
                pushed.next_offset = pushed.next_offset.max(last.offset + 1);
            } else if self.rows == 0 {
                return Err(DecodeCause::RowTooLarge { bytes: size_of(first) });
            } else {
                self.cut(pushed.next_offset, ready)?;
            }
            block = rest;
        }
        Ok(())
    }

    /// How many of these rows still belong into this batch; their bytes are counted in.
    fn count_fitting(&mut self, block: &[RecordRef<'_>]) -> usize {
        let most = block.len().min(self.max_rows - self.rows);
        // Nearly always all of them: known after one loop without a branch.
        let all = block.iter().fold(self.bytes, |bytes, record| bytes.saturating_add(size_of(record)));
        if most == block.len() && all < self.target_bytes {
            self.bytes = all;
            return most;
        }
        for (index, record) in block.iter().take(most).enumerate() {
            let bytes = self.bytes.saturating_add(size_of(record));
            if self.bytes >= self.target_bytes || bytes > MAX_BYTES {
                return index;
            }
            self.bytes = bytes;
        }
        most
    }

    fn push_rows(&mut self, rows: &[RecordRef<'_>]) {
        self.rows += rows.len();
        if let Some(key) = &mut self.key {
            key.extend(rows, |record| record.key);
        }
        if let Some(value) = &mut self.value {
            value.extend(rows, |record| record.value);
        }
        if let Some(offset) = &mut self.offset {
            offset.extend(rows.iter().map(|record| record.offset));
        }
        if let Some(timestamp) = &mut self.timestamp {
            // -1, "none", becomes -1000: what Spark's own source gives.
            timestamp.extend(rows.iter().map(|record| record.timestamp.saturating_mul(1000)));
        }
        if let Some(headers) = &mut self.headers {
            rows.iter().for_each(|record| headers.push(&record.headers));
        }
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
        let take = |numbers: &mut Option<Vec<i64>>| match numbers {
            Some(numbers) => std::mem::replace(numbers, Vec::with_capacity(rows)),
            None => Vec::new(),
        };
        let bytes = |column: &mut Option<BytesColumn>| column.get_or_insert_with(BytesColumn::new).finish();
        Ok(match column {
            Column::Key => Arc::new(bytes(&mut self.key)?),
            Column::Value => Arc::new(bytes(&mut self.value)?),
            Column::Topic => Arc::new(self.topic.build(spans, rows)?),
            Column::Partition => {
                let mut partitions = Vec::with_capacity(rows);
                for span in spans {
                    partitions.extend(std::iter::repeat_n(span.partition, span.rows));
                }
                Arc::new(Int32Array::from(partitions))
            }
            Column::Offset => Arc::new(Int64Array::from(take(&mut self.offset))),
            Column::Timestamp => {
                Arc::new(TimestampMicrosecondArray::from(take(&mut self.timestamp)).with_timezone(UTC))
            }
            Column::TimestampType => {
                let mut all = Vec::with_capacity(rows);
                let ends = types.iter().skip(1).map(|run| run.1).chain([rows]);
                for ((kind, _), end) in types.iter().zip(ends) {
                    all.resize(end.max(all.len()), *kind);
                }
                Arc::new(Int32Array::from(all))
            }
            Column::Headers => Arc::new(self.headers.get_or_insert_with(HeadersColumn::new).finish()?),
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

//! [`ArrowDecoder`]: decodes fetched record batches into Arrow batches.
//!
//! Invariants: the next offset lies after every decoded row and not after any row that was not decoded, even
//! after an error. [`ArrowDecoder::decode`] holds at most one decompressed record batch and one Arrow batch.

mod arrow_batch_builder;
mod buffer_pool;
mod bytes;
mod cursor;
mod error;
mod headers;
mod null_runs;
mod row_writer;
mod topic;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use ::bytes::Bytes;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use ottla_protocol::records::{
    AbortedTransactions, Batch, Compression, DEFAULT_DECOMPRESSED_LIMIT, Decompressor, OpenBatch, RecordRef,
    Records, RecordsPosition,
};

use crate::Column;
use arrow_batch_builder::ArrowBatchBuilder;
pub use cursor::RecordsCursor;
pub use error::{DecodeCause, DecodeError};

/// The default maximum of rows per batch.
pub const DEFAULT_MAX_ROWS: usize = 50_000;
/// The default target of bytes of keys, values and headers per batch.
pub const DEFAULT_TARGET_BYTES: usize = 4 << 20;

/// The size limits of batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecoderConfig {
    /// The maximum of rows per batch.
    pub max_rows: usize,
    /// A batch is finished once keys, values and headers hold this many bytes. The last row may exceed them.
    pub target_bytes: usize,
    /// The maximum decompressed size of one record batch, in bytes.
    pub max_decompressed: usize,
}

impl Default for DecoderConfig {
    fn default() -> Self {
        Self {
            max_rows: DEFAULT_MAX_ROWS,
            target_bytes: DEFAULT_TARGET_BYTES,
            max_decompressed: DEFAULT_DECOMPRESSED_LIMIT,
        }
    }
}

/// The requested offsets of a partition. Fetched bytes begin with a whole batch, and so often with
/// records before the position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OffsetRange<'a> {
    /// The topic.
    pub topic: &'a str,
    /// The partition.
    pub partition: i32,
    /// The first offset.
    pub start: i64,
    /// The offset after the last one; `i64::MAX` for no end.
    pub end: i64,
}

/// The options of [`ArrowDecoder::push`].
#[derive(Debug)]
pub struct PushOptions<'a> {
    /// Whether CRCs are checked.
    pub check_crcs: bool,
    /// The response's aborted transactions, for `read_committed`; `None` for `read_uncommitted`.
    pub aborted: Option<&'a mut AbortedTransactions>,
}

impl Default for PushOptions<'_> {
    fn default() -> Self {
        Self { check_crcs: true, aborted: None }
    }
}

/// The result of [`ArrowDecoder::push`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeSummary {
    /// The next offset to fetch: after all records read, including gaps, markers and aborted records,
    /// and not after the range's end.
    pub next_offset: i64,
    /// The number of decoded rows.
    pub rows: usize,
    /// The number of whole batches.
    pub batches: usize,
    /// The full size of a truncated batch at the end, if there is one.
    pub partial_batch_size: Option<usize>,
}

/// Consecutive rows of a finished batch that come from one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionSpan {
    /// The topic.
    pub topic: Arc<str>,
    /// The partition.
    pub partition: i32,
    /// The number of rows.
    pub rows: usize,
    /// The partition's position after these rows are returned to the application.
    pub next_offset: i64,
}

/// A finished batch, and the partitions of its rows.
#[derive(Debug, Clone)]
pub struct DecodedBatch {
    /// The rows.
    pub batch: RecordBatch,
    /// The origin of the rows, in row order.
    pub spans: Vec<PartitionSpan>,
}

/// Decodes the fetched bytes of any partitions into batches of rows.
#[derive(Debug)]
pub struct ArrowDecoder {
    builder: ArrowBatchBuilder,
    decompressor: Decompressor,
    ready: VecDeque<DecodedBatch>,
}

impl ArrowDecoder {
    /// Creates a decoder of these columns, in this order.
    #[must_use]
    pub fn new(columns: &[Column], config: DecoderConfig) -> Self {
        Self {
            builder: ArrowBatchBuilder::new(columns, &config),
            decompressor: Decompressor::with_limit(config.max_decompressed),
            ready: VecDeque::new(),
        }
    }

    /// The schema of all batches.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        self.builder.schema()
    }

    /// Decodes the requested offsets of `records`, a partition's records in a Fetch response, into as many
    /// batches as they take. Use [`ArrowDecoder::decode`] for records that may decompress to much.
    ///
    /// # Errors
    /// [`DecodeError`] at the first malformed batch or record. The rows before it are kept, and the error
    /// contains the offset after them.
    pub fn push(
        &mut self,
        records: &Bytes,
        range: &OffsetRange<'_>,
        mut options: PushOptions<'_>,
    ) -> Result<DecodeSummary, DecodeError> {
        let mut cursor = RecordsCursor::new(records.clone(), range.start).check_crcs(options.check_crcs);
        let mut summary =
            DecodeSummary { next_offset: range.start, rows: 0, batches: 0, partial_batch_size: None };
        while !self.step(&mut cursor, range, options.aborted.as_deref_mut(), &mut summary)? {}
        summary.partial_batch_size = cursor.partial_batch_size();
        Ok(summary)
    }

    /// Decodes the requested offsets of a partition's records until a batch is finished, and returns false, or
    /// until they end, and returns true: then their last rows may be in the open batch.
    ///
    /// A batch is finished only when another row follows, so that the rows of a partition carry its position
    /// past the markers and gaps after them.
    ///
    /// # Errors
    /// As for [`ArrowDecoder::push`].
    pub fn decode(
        &mut self,
        cursor: &mut RecordsCursor,
        range: &OffsetRange<'_>,
        aborted: Option<&mut AbortedTransactions>,
    ) -> Result<bool, DecodeError> {
        let next_offset = cursor.next_offset();
        let mut summary = DecodeSummary { next_offset, rows: 0, batches: 0, partial_batch_size: None };
        self.step(cursor, range, aborted, &mut summary)
    }

    /// Whether the open batch takes no more rows.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        self.builder.is_full()
    }

    /// Finishes the open batch, if it has rows.
    ///
    /// # Errors
    /// [`DecodeCause::Arrow`] if Arrow refuses the columns, which would be a bug.
    pub fn flush(&mut self) -> Result<(), DecodeCause> {
        self.ready.extend(self.builder.finish_batch()?);
        Ok(())
    }

    /// Removes and returns the oldest finished batch.
    pub fn pop(&mut self) -> Option<DecodedBatch> {
        self.ready.pop_front()
    }

    /// The number of finished batches.
    #[must_use]
    pub fn ready_count(&self) -> usize {
        self.ready.len()
    }

    /// The number of rows in finished batches.
    #[must_use]
    pub fn ready_rows(&self) -> usize {
        self.ready.iter().map(|ready| ready.batch.num_rows()).sum()
    }

    /// The number of rows in the open batch.
    #[must_use]
    pub const fn pending_rows(&self) -> usize {
        self.builder.rows()
    }

    fn step(
        &mut self,
        cursor: &mut RecordsCursor,
        range: &OffsetRange<'_>,
        aborted: Option<&mut AbortedTransactions>,
        summary: &mut DecodeSummary,
    ) -> Result<bool, DecodeError> {
        self.builder.begin_span(range.topic, range.partition, summary.next_offset);
        let result = self.push_batches(cursor, range, aborted, summary);
        self.builder.end_span(summary.next_offset);
        self.decompressor.trim();
        cursor.move_to(summary.next_offset);
        let result = match result {
            Ok(false) => self.flush().map(|()| false),
            result => result,
        };
        result.map_err(|cause| {
            let (topic, partition) = (range.topic.to_owned(), range.partition);
            DecodeError { topic, partition, next_offset: summary.next_offset, cause }
        })
    }

    /// Appends the rows of the remaining batches; returns false once the open Arrow batch is full.
    fn push_batches(
        &mut self,
        cursor: &mut RecordsCursor,
        range: &OffsetRange<'_>,
        mut aborted: Option<&mut AbortedTransactions>,
        summary: &mut DecodeSummary,
    ) -> Result<bool, DecodeCause> {
        if let Some(mut open) = cursor.take_open() {
            if let Some(position) = self.push_records(open.batch(), Some(&open), range, summary)? {
                open.move_to(position);
                cursor.put_back_open(open);
                return Ok(false);
            }
            pass(open.batch(), range, summary);
        }
        loop {
            let before = self.builder.is_full().then(|| cursor.batches.clone());
            let Some(batch) = cursor.batches.next().transpose()? else { return Ok(true) };
            if self.has_rows(&batch, range, aborted.as_deref_mut())? {
                if let Some(before) = before {
                    cursor.batches = before;
                    return Ok(false);
                }
                summary.batches += 1;
                if let Some(position) = self.push_records(&batch, None, range, summary)? {
                    cursor.put_back_open(OpenBatch::new(batch, &mut self.decompressor, position));
                    return Ok(false);
                }
            } else {
                summary.batches += 1;
            }
            pass(&batch, range, summary);
        }
    }

    /// Whether a batch may have requested rows.
    fn has_rows(
        &mut self,
        batch: &Batch,
        range: &OffsetRange<'_>,
        aborted: Option<&mut AbortedTransactions>,
    ) -> Result<bool, DecodeCause> {
        let admitted = match aborted {
            Some(aborted) => aborted.admits(batch, &mut self.decompressor)?,
            None => !batch.is_control(),
        };
        // In magic 0 and 1 the base offset is that of the last record.
        let after = batch.magic() == 2 && batch.base_offset() >= range.end;
        Ok(admitted && batch.last_offset() >= range.start && !after)
    }

    /// Appends the rows of a batch; once the Arrow batch is full, returns where the next row is.
    fn push_records(
        &mut self,
        batch: &Batch,
        open: Option<&OpenBatch>,
        range: &OffsetRange<'_>,
        summary: &mut DecodeSummary,
    ) -> Result<Option<RecordsPosition>, DecodeCause> {
        let Self { builder, decompressor, .. } = self;
        let mut records = match open {
            Some(open) => open.records(),
            None => batch.records(decompressor)?,
        };
        builder.begin_record_batch(batch.timestamp_type().id(), records.max_remaining());
        // Every record lies within its batch's offsets: `Records` checks that. An open batch has reached the start.
        let has_started = open.is_some() || range.start <= batch.base_offset();
        let inside = batch.magic() == 2 && has_started && batch.last_offset() < range.end;
        let is_alone = batch.count() == Some(1) && builder.rows() == 0;
        let is_owned = open.is_none() && batch.compression() != Compression::None;
        // Smaller buffers are used again for the next batch.
        if inside && is_alone && is_owned && records.bytes().len() > Decompressor::MAX_RETAINED {
            if let Some(value) = push_alone(builder, records, summary)? {
                builder.adopt_value(decompressor.take().into(), value);
            }
            return Ok(None);
        }
        // Nearly always, the whole batch is requested.
        if inside && records.encoded_len().is_some_and(ArrowBatchBuilder::can_hold) {
            let is_whole = builder.push_all(&mut records, summary)?;
            return Ok((!is_whole).then(|| records.current_position()));
        }
        loop {
            let position = records.current_position();
            let Some(record) = records.next().transpose()? else { return Ok(None) };
            // Offsets in a valid batch ascend, but nothing here depends on it.
            if range.start <= record.offset && record.offset < range.end {
                if !builder.fits(&record) {
                    return Ok(Some(position));
                }
                builder.push(&record, summary)?;
            }
        }
    }
}

/// Appends the only record of a batch. If its value fills the Arrow batch, appends it without its value, and returns
/// where that lies in the decompressed bytes: a copy would double the memory.
fn push_alone(
    builder: &mut ArrowBatchBuilder,
    mut records: Records<'_>,
    summary: &mut DecodeSummary,
) -> Result<Option<Range<i32>>, DecodeCause> {
    let bytes = records.bytes();
    let Some(record) = records.next().transpose()? else { return Ok(None) };
    let trailing = records.next().transpose();
    let value = record.value.filter(|value| builder.is_filled_by(value.len()) && trailing.is_ok());
    let range = value.and_then(|value| {
        let start = value.as_ptr().addr().checked_sub(bytes.as_ptr().addr())?;
        Some(i32::try_from(start).ok()?..i32::try_from(start.checked_add(value.len())?).ok()?)
    });
    let value = if range.is_some() { None } else { record.value };
    builder.push(&RecordRef { value, ..record }, summary)?;
    trailing?;
    Ok(range)
}

/// Moves the next offset past a batch that was decoded or has no rows.
fn pass(batch: &Batch, range: &OffsetRange<'_>, summary: &mut DecodeSummary) {
    if batch.last_offset() >= range.start {
        let next = batch.last_offset().saturating_add(1).min(range.end);
        summary.next_offset = summary.next_offset.max(next);
    }
}

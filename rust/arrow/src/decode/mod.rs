//! [`ArrowDecoder`]: decodes fetched record batches into Arrow batches.
//!
//! Invariant: the returned next offset lies after every decoded row and not after any row that was not
//! decoded, even after an error.

mod arrow_batch_builder;
mod buffer_pool;
mod bytes;
mod error;
mod headers;
mod null_runs;
mod row_writer;
mod topic;

use std::collections::VecDeque;
use std::sync::Arc;

use ::bytes::Bytes;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use ottla_protocol::records::{
    AbortedTransactions, Batch, Batches, DEFAULT_DECOMPRESSED_LIMIT, Decompressor,
};

use crate::Column;
use arrow_batch_builder::ArrowBatchBuilder;
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
    /// A batch is finished once keys, values and headers hold about this many bytes. The number of rows
    /// is estimated from the mean record size of each record batch, so the target may be exceeded by at
    /// most one record batch.
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

    /// Decodes the requested offsets of `records`, a partition's records in a Fetch response.
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
        let mut summary =
            DecodeSummary { next_offset: range.start, rows: 0, batches: 0, partial_batch_size: None };
        self.builder.begin_span(range.topic, range.partition, range.start);
        let mut batches = Batches::new(records.clone()).check_crc(options.check_crcs);
        let result = batches.by_ref().try_for_each(|batch| {
            let batch = batch?;
            summary.batches += 1;
            self.push_batch(&batch, range, options.aborted.as_deref_mut(), &mut summary)
        });
        self.builder.end_span(summary.next_offset);
        self.decompressor.trim();
        if let Err(cause) = result {
            let (topic, partition) = (range.topic.to_owned(), range.partition);
            return Err(DecodeError { topic, partition, next_offset: summary.next_offset, cause });
        }
        summary.partial_batch_size = batches.next_batch_size();
        Ok(summary)
    }

    /// Finishes the open batch, if it has rows.
    ///
    /// # Errors
    /// [`DecodeCause::Arrow`] if Arrow refuses the columns, which would be a bug.
    pub fn flush(&mut self) -> Result<(), DecodeCause> {
        self.builder.finish_batch(&mut self.ready)
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

    /// The number of rows in the open batch.
    #[must_use]
    pub const fn pending_rows(&self) -> usize {
        self.builder.rows()
    }

    fn push_batch(
        &mut self,
        batch: &Batch,
        range: &OffsetRange<'_>,
        aborted: Option<&mut AbortedTransactions>,
        summary: &mut DecodeSummary,
    ) -> Result<(), DecodeCause> {
        let admitted = match aborted {
            Some(aborted) => aborted.admits(batch, &mut self.decompressor)?,
            None => !batch.is_control(),
        };
        let before = batch.last_offset() < range.start;
        // In magic 0 and 1 the base offset is that of the last record.
        let after = batch.magic() == 2 && batch.base_offset() >= range.end;
        if admitted && !before && !after {
            self.push_records(batch, range, summary)?;
        }
        if !before {
            let next = batch.last_offset().saturating_add(1).min(range.end);
            summary.next_offset = summary.next_offset.max(next);
        }
        Ok(())
    }

    fn push_records(
        &mut self,
        batch: &Batch,
        range: &OffsetRange<'_>,
        summary: &mut DecodeSummary,
    ) -> Result<(), DecodeCause> {
        let Self { builder, decompressor, ready } = self;
        let mut records = batch.records(decompressor)?;
        builder.begin_record_batch(batch.timestamp_type().id(), records.max_remaining());
        // Every record lies within its batch's offsets: `Records` checks that.
        let inside =
            batch.magic() == 2 && range.start <= batch.base_offset() && batch.last_offset() < range.end;
        // Nearly always, the whole batch is requested.
        if inside && records.encoded_len().is_some_and(ArrowBatchBuilder::can_hold) {
            return builder.push_all(&mut records, summary, ready);
        }
        for record in records {
            let record = record?;
            // Offsets in a valid batch ascend, but nothing here depends on it.
            if range.start <= record.offset && record.offset < range.end {
                builder.push(&record, summary, ready)?;
            }
        }
        Ok(())
    }
}

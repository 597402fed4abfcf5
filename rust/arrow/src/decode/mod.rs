//! From fetched bytes to finished Arrow batches.
//!
//! Invariant: the offset handed back as the next to fetch lies behind every row that was taken and
//! before every row that was not, whatever goes wrong.

mod bytes;
mod chunk;
mod error;
mod headers;
mod nulls;
mod rows;
mod spare;
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
use chunk::Chunk;
pub use error::{DecodeCause, DecodeError};

/// Rows a batch, unless configured otherwise.
pub const DEFAULT_MAX_ROWS: usize = 50_000;
/// Bytes of keys, values and headers a batch, unless configured otherwise.
pub const DEFAULT_TARGET_BYTES: usize = 4 << 20;

/// How large finished batches get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecoderConfig {
    /// No batch has more rows.
    pub max_rows: usize,
    /// A batch is finished once its columns of keys, values and headers hold about so many bytes: how
    /// many records that takes is told from the mean of those in their record batch, of which it is
    /// larger by no more than the whole.
    pub target_bytes: usize,
    /// The limit for one decompressed record batch.
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

/// Which records of a partition are wanted: a fetched blob begins with a whole batch, and so often
/// with records before the position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OffsetRange<'a> {
    /// The topic.
    pub topic: &'a str,
    /// The partition.
    pub partition: i32,
    /// The first offset wanted.
    pub start: i64,
    /// The first offset no longer wanted; `i64::MAX` for no end.
    pub end: i64,
}

/// How a blob is read.
#[derive(Debug)]
pub struct PushOptions<'a> {
    /// Whether CRCs are checked.
    pub check_crcs: bool,
    /// The response's aborted transactions, to read only what is committed.
    pub aborted: Option<&'a mut AbortedTransactions>,
}

impl Default for PushOptions<'_> {
    fn default() -> Self {
        Self { check_crcs: true, aborted: None }
    }
}

/// What became of a blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pushed {
    /// Where to fetch next: behind what was read, gaps, markers and aborted records included, and
    /// never behind the range's end.
    pub next_offset: i64,
    /// Rows taken.
    pub rows: usize,
    /// Whole batches in the blob.
    pub batches: usize,
    /// If the blob ended in a batch that was cut off: that batch's size.
    pub cut_off: Option<usize>,
}

/// A stretch of a finished batch's rows that come from one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The topic.
    pub topic: Arc<str>,
    /// The partition.
    pub partition: i32,
    /// How many rows.
    pub rows: usize,
    /// The position once these rows are handed out.
    pub next_offset: i64,
}

/// A finished batch, and whose rows are in it.
#[derive(Debug, Clone)]
pub struct DecodedBatch {
    /// The rows.
    pub batch: RecordBatch,
    /// Where they come from, in the order of the rows.
    pub spans: Vec<Span>,
}

/// Decodes blobs of any partitions into batches of rows.
#[derive(Debug)]
pub struct ArrowDecoder {
    chunk: Chunk,
    decompressor: Decompressor,
    ready: VecDeque<DecodedBatch>,
}

impl ArrowDecoder {
    /// For these columns, in this order.
    #[must_use]
    pub fn new(columns: &[Column], config: DecoderConfig) -> Self {
        Self {
            chunk: Chunk::new(columns, &config),
            decompressor: Decompressor::with_limit(config.max_decompressed),
            ready: VecDeque::new(),
        }
    }

    /// The schema of all batches.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        self.chunk.schema()
    }

    /// Takes the wanted records of `records`, a partition's part of a Fetch response.
    ///
    /// # Errors
    /// [`DecodeError`] at the first batch or record that is malformed. Rows before it are kept, and
    /// the error says where they end.
    pub fn push(
        &mut self,
        records: &Bytes,
        range: &OffsetRange<'_>,
        mut options: PushOptions<'_>,
    ) -> Result<Pushed, DecodeError> {
        let mut pushed = Pushed { next_offset: range.start, rows: 0, batches: 0, cut_off: None };
        self.chunk.begin_span(range.topic, range.partition, range.start);
        let mut batches = Batches::new(records.clone()).check_crc(options.check_crcs);
        let outcome = batches.by_ref().try_for_each(|batch| {
            let batch = batch?;
            pushed.batches += 1;
            self.push_batch(&batch, range, options.aborted.as_deref_mut(), &mut pushed)
        });
        self.chunk.end_span(pushed.next_offset);
        self.decompressor.trim();
        if let Err(cause) = outcome {
            let (topic, partition) = (range.topic.to_owned(), range.partition);
            return Err(DecodeError { topic, partition, next_offset: pushed.next_offset, cause });
        }
        pushed.cut_off = batches.next_batch_size();
        Ok(pushed)
    }

    /// Finishes the batch that is being filled, if it has rows.
    ///
    /// # Errors
    /// [`DecodeCause::Arrow`] if Arrow refuses the columns, which it has no reason to.
    pub fn flush(&mut self) -> Result<(), DecodeCause> {
        self.chunk.emit(&mut self.ready)
    }

    /// The oldest finished batch.
    pub fn pop(&mut self) -> Option<DecodedBatch> {
        self.ready.pop_front()
    }

    /// Finished batches.
    #[must_use]
    pub fn ready(&self) -> usize {
        self.ready.len()
    }

    /// Rows in the batch that is being filled.
    #[must_use]
    pub const fn pending_rows(&self) -> usize {
        self.chunk.rows()
    }

    fn push_batch(
        &mut self,
        batch: &Batch,
        range: &OffsetRange<'_>,
        aborted: Option<&mut AbortedTransactions>,
        pushed: &mut Pushed,
    ) -> Result<(), DecodeCause> {
        let admitted = match aborted {
            Some(aborted) => aborted.admits(batch, &mut self.decompressor)?,
            None => !batch.is_control(),
        };
        let before = batch.last_offset() < range.start;
        // The base offset of an old compressed message is its last record's.
        let behind = batch.magic() == 2 && batch.base_offset() >= range.end;
        if admitted && !before && !behind {
            self.push_records(batch, range, pushed)?;
        }
        if !before {
            let next = batch.last_offset().saturating_add(1).min(range.end);
            pushed.next_offset = pushed.next_offset.max(next);
        }
        Ok(())
    }

    fn push_records(
        &mut self,
        batch: &Batch,
        range: &OffsetRange<'_>,
        pushed: &mut Pushed,
    ) -> Result<(), DecodeCause> {
        let Self { chunk, decompressor, ready } = self;
        let mut records = batch.records(decompressor)?;
        chunk.begin_batch(batch.timestamp_type().id(), records.max_remaining());
        // The reader has checked that a batch's records lie within it.
        let inside =
            batch.magic() == 2 && range.start <= batch.base_offset() && batch.last_offset() < range.end;
        // Nearly always: the whole batch is wanted.
        if inside && records.encoded_len().is_some_and(Chunk::can_hold) {
            return chunk.push_all(&mut records, pushed, ready);
        }
        for record in records {
            let record = record?;
            // Offsets in an honest batch ascend; here nothing depends on that.
            if range.start <= record.offset && record.offset < range.end {
                chunk.push(&record, pushed, ready)?;
            }
        }
        Ok(())
    }
}

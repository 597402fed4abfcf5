//! Arrow batches that were decoded and not delivered to the application yet.
//!
//! Invariants: positions move with the delivered batches, by the spans of their rows, and past offsets
//! without rows once all rows before them were delivered. Buffered rows become stale when the consumer's
//! version changes. Rows before a malformed record, or before one that does not fit its schema, are delivered
//! before the error is returned, and the rest stays buffered.

use std::collections::{HashMap, VecDeque};

use arrow_array::RecordBatch;
use ottla_arrow::{ArrowDecoder, DecodedBatch, PartitionSpan};

use crate::consumer::Consumer;
use crate::consumer::completed_fetch::CompletedFetch;
use crate::consumer::read::arrow_decoding::{ArrowLayout, decode_batches, flush};
use crate::error::{Error, Result};
use crate::topic_partition::TopicPartition;
use crate::typed::{TypedOutcome, UnwrittenLetters, bytes_columns, offset as offset_of};

/// The buffered rows of a partition.
#[derive(Debug)]
struct PartitionRows {
    version: u64,
    leader_epoch: i32,
    /// Rows in the batch that the decoder is building.
    pending: usize,
    /// Rows in complete batches.
    complete: usize,
}

/// A decoder, its complete batches and the origin of their rows.
#[derive(Debug)]
struct BatchBuilder {
    layout: ArrowLayout,
    decoder: ArrowDecoder,
    complete: VecDeque<DecodedBatch>,
    /// The first batch with its typed columns, if the layout has any.
    typed: Option<DecodedBatch>,
    partitions: HashMap<TopicPartition, PartitionRows>,
    /// A decoding error of a partition, raised once all rows before it were delivered.
    decode_error: Option<(TopicPartition, u64, Error)>,
    version: u64,
}

/// Buffered Arrow batches, in the order of delivery.
#[derive(Debug, Default)]
pub(crate) struct ArrowBuffer(Option<BatchBuilder>);

impl ArrowBuffer {
    /// Drops stale rows; returns whether any are left.
    pub(super) fn drop_stale(&mut self, consumer: &Consumer) -> bool {
        match &self.0 {
            Some(builder) if builder.is_empty() => false,
            Some(builder) if builder.version == consumer.version() => true,
            Some(_) => {
                self.discard(consumer);
                false
            }
            None => false,
        }
    }

    /// Drops all rows; they are fetched again.
    pub(super) fn discard(&mut self, consumer: &Consumer) {
        if self.0.take().is_some_and(|builder| !builder.is_empty()) {
            consumer.discard_undelivered();
        }
    }

    /// Takes and decodes fetches until a batch is full or no fetch is left.
    pub(super) fn fill(&mut self, consumer: &Consumer, layout: &ArrowLayout) -> Result<()> {
        self.drop_stale(consumer);
        if self.0.as_ref().is_some_and(|builder| builder.layout != *layout) {
            self.discard(consumer);
        }
        let builder = self.0.get_or_insert_with(|| BatchBuilder::new(consumer, layout.clone()));
        if builder.is_empty() {
            // Read before the rows are taken: any later change makes them stale.
            builder.version = consumer.version();
        }
        while !builder.has_complete()
            && builder.decode_error.is_none()
            && let Some(mut fetch) = consumer.take_fetches(1).pop()
        {
            builder.decode(consumer, &mut fetch);
        }
        if !builder.has_complete() {
            builder.finish()?;
        }
        if !builder.has_complete()
            && let Some((partition, version, error)) = builder.decode_error.take()
        {
            consumer.fail_partition(&partition, version, error);
        }
        Ok(())
    }

    /// The next batch, if it has typed columns that are not decoded yet.
    pub(super) fn undecoded(&self) -> Option<DecodedBatch> {
        let builder = self.0.as_ref()?;
        let is_needed = builder.typed.is_none() && !builder.layout.typed.is_empty();
        builder.complete.front().filter(|_| is_needed).cloned()
    }

    /// Decodes the typed columns of the next batch, whose schemas were loaded. After an error the batch is
    /// still the next; and so it is if dead letters are returned, which must be written before.
    pub(super) fn decode_typed(&mut self, consumer: &Consumer) -> Result<UnwrittenLetters> {
        let none = UnwrittenLetters::new();
        self.drop_stale(consumer);
        let Some(batch) = self.undecoded() else { return Ok(none) };
        let Some(builder) = &mut self.0 else { return Ok(none) };
        let outcome = builder.layout.typed.decode(&builder.layout.columns, batch)?;
        let TypedOutcome { decoded, rest, dead_letters } = outcome;
        if !dead_letters.is_empty() {
            return Ok(dead_letters);
        }
        builder.complete.pop_front();
        builder.typed = decoded;
        if let Some((rest, error)) = rest {
            builder.complete.push_front(rest);
            if builder.typed.is_none() {
                return Err(error);
            }
        }
        Ok(none)
    }

    /// Moves a partition forward to an offset, if only rows at the front of the next batch are before it; returns
    /// whether they were. These are those of a row that does not fit its schema.
    pub(super) fn skip_to(&mut self, consumer: &Consumer, partition: &TopicPartition, offset: i64) -> bool {
        let Some(builder) = self.0.as_mut().filter(|builder| builder.typed.is_none()) else { return false };
        let columns = bytes_columns(&builder.layout.columns, &builder.layout.typed);
        let Some(next) = builder.complete.front_mut() else { return false };
        let Some(span) = next.spans.first_mut() else { return false };
        if (&span.topic, span.partition) != (&partition.0, partition.1) {
            return false;
        }
        let is_before = |row: &usize| (0..offset).contains(&offset_of(&columns, &next.batch, *row));
        let skipped = (0..span.rows).take_while(is_before).count();
        let Some(rows) = builder.partitions.get_mut(partition) else { return false };
        if skipped == span.rows || !consumer.skip_to(partition, rows.version, offset) {
            return false;
        }
        span.rows -= skipped;
        next.batch = next.batch.slice(skipped, next.batch.num_rows() - skipped);
        rows.complete = rows.complete.saturating_sub(skipped);
        true
    }

    /// Delivers the next complete batch, if there is one.
    pub(super) fn pop(&mut self, consumer: &Consumer) -> Option<RecordBatch> {
        let builder = self.0.as_mut()?;
        let next = match builder.layout.typed.is_empty() {
            true => builder.complete.pop_front(),
            false => builder.typed.take(),
        };
        let DecodedBatch { batch, spans } = next?;
        for span in spans {
            let partition = (span.topic, span.partition);
            let Some(rows) = builder.partitions.get_mut(&partition) else { continue };
            consumer.mark_delivered(&partition, rows.version, span.next_offset, rows.leader_epoch);
            rows.complete = rows.complete.saturating_sub(span.rows);
        }
        builder.partitions.retain(|_, rows| rows.pending + rows.complete > 0);
        Some(batch)
    }
}

impl BatchBuilder {
    fn new(consumer: &Consumer, layout: ArrowLayout) -> Self {
        Self {
            decoder: layout.decoder(consumer.client().config()),
            layout,
            complete: VecDeque::new(),
            typed: None,
            partitions: HashMap::new(),
            decode_error: None,
            version: 0,
        }
    }

    fn is_empty(&self) -> bool {
        self.partitions.is_empty() && !self.has_complete() && self.decode_error.is_none()
    }

    fn has_complete(&self) -> bool {
        self.typed.is_some() || !self.complete.is_empty()
    }

    fn decode(&mut self, consumer: &Consumer, fetch: &mut CompletedFetch) {
        let before = self.decoder.pending_rows();
        let (offsets, aborted) = (fetch.start..fetch.end, fetch.aborted.as_mut());
        let decoded = decode_batches(&mut self.decoder, &fetch.partition, &fetch.records, offsets, aborted);
        let is_decoded = decoded.is_ok();
        if let Err(error) = decoded {
            self.decode_error = Some((fetch.partition.clone(), fetch.version(), error));
        }
        let batches: Vec<DecodedBatch> = std::iter::from_fn(|| self.decoder.pop()).collect();
        let complete: usize = batches.iter().map(|batch| batch.batch.num_rows()).sum();
        let rows = self.partitions.entry(fetch.partition.clone()).or_insert(PartitionRows {
            version: fetch.version(),
            leader_epoch: fetch.epoch,
            pending: 0,
            complete: 0,
        });
        rows.leader_epoch = fetch.epoch;
        rows.pending += (self.decoder.pending_rows() + complete).saturating_sub(before);
        self.add_complete(batches);
        if is_decoded {
            self.advance_to_end(consumer, fetch);
        }
        self.partitions.retain(|_, rows| rows.pending + rows.complete > 0);
    }

    /// Completes the batch that the decoder is building.
    fn finish(&mut self) -> Result<()> {
        flush(&mut self.decoder)?;
        let batches: Vec<DecodedBatch> = std::iter::from_fn(|| self.decoder.pop()).collect();
        self.add_complete(batches);
        Ok(())
    }

    fn add_complete(&mut self, batches: Vec<DecodedBatch>) {
        for span in batches.iter().flat_map(|batch| &batch.spans) {
            let partition = (span.topic.clone(), span.partition);
            if let Some(rows) = self.partitions.get_mut(&partition) {
                rows.pending = rows.pending.saturating_sub(span.rows);
                rows.complete += span.rows;
            }
        }
        self.complete.extend(batches);
    }

    /// Moves the position past the end of a fetch along with its last row: markers and aborted records may
    /// follow that row. The decoder does this itself for rows of the batch that it is building.
    fn advance_to_end(&mut self, consumer: &Consumer, fetch: &CompletedFetch) {
        let Some(rows) = self.partitions.get(&fetch.partition) else { return };
        if rows.pending > 0 {
            return;
        }
        if rows.complete == 0 {
            consumer.mark_empty(&fetch.partition, rows.version, fetch.start, fetch.end, fetch.epoch);
            return;
        }
        let of_fetch = |span: &&mut PartitionSpan| {
            span.topic == fetch.partition.0 && span.partition == fetch.partition.1
        };
        let mut spans = self.complete.iter_mut().rev().flat_map(|batch| batch.spans.iter_mut().rev());
        if let Some(last) = spans.find(of_fetch) {
            last.next_offset = fetch.end;
        }
    }
}

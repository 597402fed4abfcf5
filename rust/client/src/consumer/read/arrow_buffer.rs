//! Arrow batches that were decoded and not delivered to the application yet.
//!
//! Invariants: one batch is decoded at a time, and the rest of its last fetch is put back. Positions move with the
//! delivered batches, by the spans of their rows, and past offsets without rows once all rows before them were
//! delivered. Buffered rows become stale when the consumer's version changes. Rows before a malformed record, or
//! before one that does not fit its schema, are delivered before the error is returned, and the rest stays buffered.

use std::collections::{HashMap, VecDeque};

use arrow_array::RecordBatch;
use ottla_arrow::{ArrowDecoder, DecodedBatch, RecordsCursor};

use crate::consumer::Consumer;
use crate::consumer::completed_fetch::CompletedFetch;
use crate::consumer::read::arrow_decoding::{ArrowLayout, decode_until_full, flush};
use crate::error::{Error, Result};
use crate::topic_partition::TopicPartition;
use crate::typed::{InvalidFields, TypedOutcome, UnwrittenLetters, bytes_columns, offset as offset_of};

/// The origin of the buffered rows of a partition.
#[derive(Debug)]
struct RowOrigin {
    version: u64,
    leader_epoch: i32,
}

/// A decoder, its complete batches and the origins of their rows.
#[derive(Debug)]
struct BatchBuilder {
    layout: ArrowLayout,
    decoder: ArrowDecoder,
    /// One batch, or what is left of it after an error in a typed column.
    complete: VecDeque<DecodedBatch>,
    /// The first batch with its typed columns, if the layout has any.
    typed: Option<DecodedBatch>,
    origins: HashMap<TopicPartition, RowOrigin>,
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

    /// Takes and decodes fetches until a batch is full or no fetch is left, if none is buffered.
    pub(super) fn fill(&mut self, consumer: &Consumer, layout: &ArrowLayout) -> Result<()> {
        self.drop_stale(consumer);
        if self.0.as_ref().is_some_and(|builder| builder.layout != *layout) {
            self.discard(consumer);
        }
        let builder = self.0.get_or_insert_with(|| BatchBuilder::new(consumer, layout.clone()));
        if builder.is_empty() {
            // Read before the rows are taken: any later change makes them stale.
            builder.version = consumer.version();
            builder.origins.clear();
        }
        while !builder.has_complete()
            && !builder.decoder.is_full()
            && builder.decode_error.is_none()
            && let Some(fetch) = consumer.take_fetch()
        {
            builder.decode(consumer, fetch);
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
    pub(super) fn decode_typed(
        &mut self,
        consumer: &Consumer,
        invalid: &InvalidFields,
    ) -> Result<UnwrittenLetters> {
        let none = UnwrittenLetters::new();
        self.drop_stale(consumer);
        let Some(batch) = self.undecoded() else { return Ok(none) };
        let Some(builder) = &mut self.0 else { return Ok(none) };
        let outcome = builder.layout.typed.decode(&builder.layout.columns, batch, invalid)?;
        let TypedOutcome { decoded, rest, error, dead_letters } = outcome;
        if !dead_letters.is_empty() {
            return Ok(dead_letters);
        }
        builder.complete.pop_front();
        builder.typed = decoded;
        if let Some(rest) = rest {
            builder.complete.push_front(rest);
        }
        match error {
            Some(error) if builder.typed.is_none() => Err(error),
            _ => Ok(none),
        }
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
        let Some(origin) = builder.origins.get(partition) else { return false };
        if skipped == span.rows || !consumer.skip_to(partition, origin.version, offset) {
            return false;
        }
        span.rows -= skipped;
        next.batch = next.batch.slice(skipped, next.batch.num_rows() - skipped);
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
            let Some(origin) = builder.origins.get(&partition) else { continue };
            consumer.mark_delivered(&partition, origin.version, span.next_offset, origin.leader_epoch);
        }
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
            origins: HashMap::new(),
            decode_error: None,
            version: 0,
        }
    }

    fn is_empty(&self) -> bool {
        self.decoder.pending_rows() == 0 && !self.has_complete() && self.decode_error.is_none()
    }

    fn has_complete(&self) -> bool {
        self.typed.is_some() || !self.complete.is_empty()
    }

    /// Decodes a fetch up to the end of a batch, and puts the rest back.
    fn decode(&mut self, consumer: &Consumer, mut fetch: CompletedFetch) {
        let before = self.decoder.pending_rows();
        let open = fetch.remaining.take().map(|open| *open);
        let mut cursor = RecordsCursor::resume(fetch.records.clone(), open, fetch.start).check_crcs(false);
        let (offsets, aborted) = (fetch.start..fetch.end, fetch.aborted.as_mut());
        let decoded = decode_until_full(&mut self.decoder, &fetch.partition, &mut cursor, offsets, aborted);
        self.complete.extend(self.decoder.pop());
        let complete = self.complete.back().map_or(0, |batch| batch.batch.num_rows());
        if self.decoder.pending_rows() + complete > before {
            let origin = RowOrigin { version: fetch.version(), leader_epoch: fetch.epoch };
            self.origins.insert(fetch.partition.clone(), origin);
        }
        let is_whole = match decoded {
            Ok(is_whole) => is_whole,
            Err(error) => {
                self.decode_error = Some((fetch.partition.clone(), fetch.version(), error));
                return;
            }
        };
        let end = if is_whole { fetch.end } else { cursor.next_offset() };
        // Rows carry the position past the markers and aborted records after them.
        if !self.origins.contains_key(&fetch.partition) {
            consumer.mark_empty(&fetch.partition, fetch.version(), fetch.start, end, fetch.epoch);
        }
        if is_whole {
            consumer.fetch_was_decoded();
            return;
        }
        let (records, open) = cursor.into_parts();
        (fetch.records, fetch.remaining, fetch.start) = (records, open.map(Box::new), end);
        consumer.put_back(fetch);
    }

    /// Completes the batch that the decoder is building.
    fn finish(&mut self) -> Result<()> {
        flush(&mut self.decoder)?;
        self.complete.extend(self.decoder.pop());
        Ok(())
    }
}

//! Arrow batches that were decoded and not returned to the application yet.
//!
//! Invariants: positions move with the returned batches, by the spans of their rows, and past offsets
//! without rows once all rows before them were returned. Buffered rows become stale when the core's
//! version changes. Rows before a malformed record are returned before the error is raised.

use std::collections::{HashMap, VecDeque};

use arrow_array::RecordBatch as ArrowBatch;
use ottla_arrow::{ArrowDecoder, Column, DecodedBatch, DecoderConfig, OffsetRange, PushOptions};
use ottla_client::consumer::{CompletedFetch, Consumer};
use ottla_client::{Error, Kind, TopicPartition};

use crate::convert::record_batch::undecodable;

/// The columns and the maximum number of rows of a batch.
#[derive(Clone, PartialEq)]
pub(super) struct BatchLayout {
    pub(super) columns: Vec<Column>,
    pub(super) max_rows: usize,
}

/// The buffered rows of a partition.
struct PartitionRows {
    version: u64,
    leader_epoch: i32,
    /// Rows in the batch that the decoder is building.
    pending: usize,
    /// Rows in complete batches.
    complete: usize,
}

/// A decoder, its complete batches and the origin of their rows.
struct BatchBuilder {
    layout: BatchLayout,
    decoder: ArrowDecoder,
    complete: VecDeque<DecodedBatch>,
    partitions: HashMap<TopicPartition, PartitionRows>,
    /// A decoding error of a partition, raised once all rows before it were returned.
    decode_error: Option<(TopicPartition, u64, Error)>,
    version: u64,
}

#[derive(Default)]
pub(super) struct ArrowBuffer(Option<BatchBuilder>);

impl ArrowBuffer {
    /// Drops stale rows; returns whether any are left.
    pub(super) fn drop_stale(&mut self, core: &Consumer) -> bool {
        match &self.0 {
            Some(builder) if builder.is_empty() => false,
            Some(builder) if builder.version == core.version() => true,
            Some(_) => {
                self.discard(core);
                false
            }
            None => false,
        }
    }

    /// Drops all rows; they are fetched again.
    pub(super) fn discard(&mut self, core: &Consumer) {
        if self.0.take().is_some_and(|builder| !builder.is_empty()) {
            core.discard_undelivered();
        }
    }

    /// Takes and decodes fetches until a batch is full or no fetch is left.
    pub(super) fn fill(&mut self, core: &Consumer, layout: &BatchLayout) -> Result<(), Error> {
        self.drop_stale(core);
        if self.0.as_ref().is_some_and(|builder| builder.layout != *layout) {
            self.discard(core);
        }
        let builder = self.0.get_or_insert_with(|| BatchBuilder::new(core, layout.clone()));
        if builder.is_empty() {
            // Read before the rows are taken: any later change makes them stale.
            builder.version = core.version();
        }
        while builder.complete.is_empty()
            && builder.decode_error.is_none()
            && let Some(mut fetch) = core.take_fetches(1).pop()
        {
            builder.decode(core, &mut fetch);
        }
        if builder.complete.is_empty() {
            builder.finish()?;
        }
        if builder.complete.is_empty()
            && let Some((partition, version, error)) = builder.decode_error.take()
        {
            core.fail_partition(&partition, version, error);
        }
        Ok(())
    }

    /// Returns the next complete batch, if there is one.
    pub(super) fn pop(&mut self, core: &Consumer) -> Option<ArrowBatch> {
        let builder = self.0.as_mut()?;
        let DecodedBatch { batch, spans } = builder.complete.pop_front()?;
        for span in spans {
            let partition = (span.topic, span.partition);
            let Some(rows) = builder.partitions.get_mut(&partition) else { continue };
            core.mark_delivered(&partition, rows.version, span.next_offset, rows.leader_epoch);
            rows.complete = rows.complete.saturating_sub(span.rows);
        }
        builder.partitions.retain(|_, rows| rows.pending + rows.complete > 0);
        Some(batch)
    }
}

fn protocol_error(cause: impl std::fmt::Display) -> Error {
    Error::new(Kind::Protocol, cause.to_string())
}

impl BatchBuilder {
    fn new(core: &Consumer, layout: BatchLayout) -> Self {
        let config = DecoderConfig {
            max_rows: layout.max_rows.max(1),
            max_decompressed: core.client().config().decompressed_batch_max,
            ..Default::default()
        };
        Self {
            decoder: ArrowDecoder::new(&layout.columns, config),
            layout,
            complete: VecDeque::new(),
            partitions: HashMap::new(),
            decode_error: None,
            version: 0,
        }
    }

    fn is_empty(&self) -> bool {
        self.partitions.is_empty() && self.complete.is_empty() && self.decode_error.is_none()
    }

    fn decode(&mut self, core: &Consumer, fetch: &mut CompletedFetch) {
        let before = self.decoder.pending_rows();
        let (topic, partition) = &fetch.partition;
        let range = OffsetRange { topic, partition: *partition, start: fetch.start, end: fetch.end };
        // The fetcher has checked the CRCs already: it can fetch a corrupt batch again.
        let options = PushOptions { check_crcs: false, aborted: fetch.aborted.as_mut() };
        let decoded = self.decoder.push(&fetch.records, &range, options);
        let is_decoded = decoded.is_ok();
        if let Err(error) = decoded {
            let error = undecodable(error).at(topic, *partition);
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
            self.advance_to_end(core, fetch);
        }
        self.partitions.retain(|_, rows| rows.pending + rows.complete > 0);
    }

    /// Completes the batch that the decoder is building.
    fn finish(&mut self) -> Result<(), Error> {
        self.decoder.flush().map_err(protocol_error)?;
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
    fn advance_to_end(&mut self, core: &Consumer, fetch: &CompletedFetch) {
        let Some(rows) = self.partitions.get(&fetch.partition) else { return };
        if rows.pending > 0 {
            return;
        }
        if rows.complete == 0 {
            core.mark_empty(&fetch.partition, rows.version, fetch.start, fetch.end, fetch.epoch);
            return;
        }
        let of_fetch = |span: &&mut ottla_arrow::PartitionSpan| {
            span.topic == fetch.partition.0 && span.partition == fetch.partition.1
        };
        let mut spans = self.complete.iter_mut().rev().flat_map(|batch| batch.spans.iter_mut().rev());
        if let Some(last) = spans.find(of_fetch) {
            last.next_offset = fetch.end;
        }
    }
}

//! Arrow batches that were decoded and are on their way to the program.
//!
//! Invariants: the positions of partitions move with the batches that are handed out, by the spans of
//! their rows, and past what has no rows once all rows before it are handed out. What was decoded is void
//! once the engine's version has changed. Rows before a malformed record are handed out before the error
//! is told.

use std::collections::{HashMap, VecDeque};

use arrow_array::RecordBatch as ArrowBatch;
use ottla_arrow::{ArrowDecoder, Column, DecodedBatch, DecoderConfig, OffsetRange, PushOptions};
use ottla_client::consumer::{CompletedFetch, Consumer};
use ottla_client::{Error, Kind, TopicPartition};

use crate::convert::record_batch::undecodable;

/// What batches look like.
#[derive(Clone, PartialEq)]
pub(super) struct Shape {
    pub(super) columns: Vec<Column>,
    pub(super) max_rows: usize,
}

/// A partition of which there are rows here.
struct Source {
    version: u64,
    leader_epoch: i32,
    /// Rows in the batch that is being filled.
    filling: usize,
    /// Rows in finished batches.
    finished: usize,
}

/// A decoder and what it holds.
struct Filling {
    shape: Shape,
    decoder: ArrowDecoder,
    finished: VecDeque<DecodedBatch>,
    sources: HashMap<TopicPartition, Source>,
    /// A partition that cannot be read on, which is told once all rows before are handed out.
    flaw: Option<(TopicPartition, u64, Error)>,
    version: u64,
}

#[derive(Default)]
pub(super) struct Columns(Option<Filling>);

impl Columns {
    /// Whether there are rows that may be handed out; drops those that may not be any more.
    pub(super) fn check(&mut self, core: &Consumer) -> bool {
        match &self.0 {
            Some(filling) if filling.is_empty() => false,
            Some(filling) if filling.version == core.version() => true,
            Some(_) => {
                self.give_back(core);
                false
            }
            None => false,
        }
    }

    /// Drops all; what was not handed out is fetched again.
    pub(super) fn give_back(&mut self, core: &Consumer) {
        if self.0.take().is_some_and(|filling| !filling.is_empty()) {
            core.discard_undelivered();
        }
    }

    /// Takes and decodes until a batch is full, or nothing is left to take.
    pub(super) fn fill(&mut self, core: &Consumer, shape: &Shape) -> Result<(), Error> {
        self.check(core);
        if self.0.as_ref().is_some_and(|filling| filling.shape != *shape) {
            self.give_back(core);
        }
        let filling = self.0.get_or_insert_with(|| Filling::new(core, shape.clone()));
        if filling.is_empty() {
            // What changes from here on makes the rows void.
            filling.version = core.version();
        }
        while filling.finished.is_empty()
            && filling.flaw.is_none()
            && let Some(mut piece) = core.take_fetches(1).pop()
        {
            filling.decode(core, &mut piece);
        }
        if filling.finished.is_empty() {
            filling.finish()?;
        }
        if filling.finished.is_empty()
            && let Some((partition, version, error)) = filling.flaw.take()
        {
            core.fail_partition(&partition, version, error);
        }
        Ok(())
    }

    /// The next batch.
    pub(super) fn hand_out(&mut self, core: &Consumer) -> Option<ArrowBatch> {
        let filling = self.0.as_mut()?;
        let DecodedBatch { batch, spans } = filling.finished.pop_front()?;
        for span in spans {
            let partition = (span.topic, span.partition);
            let Some(source) = filling.sources.get_mut(&partition) else { continue };
            core.mark_delivered(&partition, source.version, span.next_offset, source.leader_epoch);
            source.finished = source.finished.saturating_sub(span.rows);
        }
        filling.sources.retain(|_, source| source.filling + source.finished > 0);
        Some(batch)
    }
}

fn arrow(cause: impl std::fmt::Display) -> Error {
    Error::new(Kind::Protocol, cause.to_string())
}

impl Filling {
    fn new(core: &Consumer, shape: Shape) -> Self {
        let config = DecoderConfig {
            max_rows: shape.max_rows.max(1),
            max_decompressed: core.client().config().decompressed_batch_max,
            ..Default::default()
        };
        Self {
            decoder: ArrowDecoder::new(&shape.columns, config),
            shape,
            finished: VecDeque::new(),
            sources: HashMap::new(),
            flaw: None,
            version: 0,
        }
    }

    fn is_empty(&self) -> bool {
        self.sources.is_empty() && self.finished.is_empty() && self.flaw.is_none()
    }

    fn decode(&mut self, core: &Consumer, piece: &mut CompletedFetch) {
        let before = self.decoder.pending_rows();
        let (topic, partition) = &piece.partition;
        let range = OffsetRange { topic, partition: *partition, start: piece.start, end: piece.end };
        // The CRCs were checked when the piece came, and a bad one could still be fetched again.
        let options = PushOptions { check_crcs: false, aborted: piece.aborted.as_mut() };
        let pushed = self.decoder.push(&piece.records, &range, options);
        let passed = pushed.is_ok();
        if let Err(error) = pushed {
            let error = undecodable(error).at(topic, *partition);
            self.flaw = Some((piece.partition.clone(), piece.version(), error));
        }
        let done: Vec<DecodedBatch> = std::iter::from_fn(|| self.decoder.pop()).collect();
        let rows: usize = done.iter().map(|batch| batch.batch.num_rows()).sum();
        let source = self.sources.entry(piece.partition.clone()).or_insert(Source {
            version: piece.version(),
            leader_epoch: piece.epoch,
            filling: 0,
            finished: 0,
        });
        source.leader_epoch = piece.epoch;
        source.filling += (self.decoder.pending_rows() + rows).saturating_sub(before);
        self.take_finished(done);
        if passed {
            self.pass_the_end(core, piece);
        }
        self.sources.retain(|_, source| source.filling + source.finished > 0);
    }

    /// Finishes the batch that is being filled.
    fn finish(&mut self) -> Result<(), Error> {
        self.decoder.flush().map_err(arrow)?;
        let done: Vec<DecodedBatch> = std::iter::from_fn(|| self.decoder.pop()).collect();
        self.take_finished(done);
        Ok(())
    }

    fn take_finished(&mut self, done: Vec<DecodedBatch>) {
        for span in done.iter().flat_map(|batch| &batch.spans) {
            let partition = (span.topic.clone(), span.partition);
            if let Some(source) = self.sources.get_mut(&partition) {
                source.filling = source.filling.saturating_sub(span.rows);
                source.finished += span.rows;
            }
        }
        self.finished.extend(done);
    }

    /// What a piece has behind its last row, markers and aborted records, belongs to the row before it;
    /// the decoder knows only the rows of the batch that it is filling.
    fn pass_the_end(&mut self, core: &Consumer, piece: &CompletedFetch) {
        let Some(source) = self.sources.get(&piece.partition) else { return };
        if source.filling > 0 {
            return;
        }
        if source.finished == 0 {
            core.mark_empty(&piece.partition, source.version, piece.start, piece.end, piece.epoch);
            return;
        }
        let of_piece = |span: &&mut ottla_arrow::PartitionSpan| {
            span.topic == piece.partition.0 && span.partition == piece.partition.1
        };
        let mut spans = self.finished.iter_mut().rev().flat_map(|batch| batch.spans.iter_mut().rev());
        if let Some(last) = spans.find(of_piece) {
            last.next_offset = piece.end;
        }
    }
}

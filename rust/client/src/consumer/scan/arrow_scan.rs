//! A scan as a stream of Arrow batches.
//!
//! Invariants: batches have the rows of all ranges, each once, in the order of each partition. A chunk is decoded
//! batch by batch: what a batch has no room for stays compressed. After an error,
//! every later call returns it again: reading on would miss records. A batch whose schemas could not be looked
//! up is kept, and the next call tries it again.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use ottla_arrow::{ArrowDecoder, Column, DecodedBatch, RecordsCursor};
use ottla_protocol::records::AbortedTransactions;

use crate::cluster::Client;
use crate::consumer::read::arrow_decoding::{ArrowLayout, decode_until_full, flush};
use crate::consumer::scan::{Chunk, ChunkScan, FOLLOW, Gap, Range, ScanOptions};
use crate::error::{Error, Result};
use crate::typed::{TypedColumns, TypedOutcome};

/// A chunk, and how far it was decoded.
#[derive(Debug)]
struct OpenChunk {
    chunk: Chunk,
    cursor: RecordsCursor,
    aborted: Option<AbortedTransactions>,
}

/// A read of ranges of partitions, as Arrow batches. Dropping it ends it.
///
/// The scan's task fetches chunks while [`Scan::next_batch`] decodes earlier ones on the caller's thread.
#[derive(Debug)]
pub struct Scan {
    chunks: ChunkScan,
    decoder: ArrowDecoder,
    /// A chunk that was decoded in part.
    open: Option<OpenChunk>,
    columns: Vec<Column>,
    typed: TypedColumns,
    /// A batch whose typed columns are not decoded yet.
    undecoded: Option<DecodedBatch>,
    read_committed: bool,
    /// Whether the scan follows the log: available rows are returned before it waits for more.
    follows: bool,
    /// Whether all chunks were decoded.
    is_drained: bool,
    /// The error that ended the scan.
    error: Option<Error>,
}

impl Scan {
    /// Starts reading `ranges` on the current runtime.
    #[must_use]
    pub fn start(client: Client, ranges: Vec<Range>, options: ScanOptions, layout: &ArrowLayout) -> Self {
        let decoder = layout.decoder(client.config());
        let follows = ranges.iter().any(|range| range.end == FOLLOW);
        let chunks = ChunkScan::start(client, ranges, options);
        Self {
            chunks,
            decoder,
            open: None,
            columns: layout.columns.clone(),
            typed: layout.typed.clone(),
            undecoded: None,
            read_committed: options.read_committed,
            follows,
            is_drained: false,
            error: None,
        }
    }

    /// The schema of the batches. Of typed columns, the readers' schemas must have been resolved.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        match self.typed.schema(&self.columns) {
            Some(schema) if !self.typed.is_empty() => schema,
            _ => Column::schema(&self.columns),
        }
    }

    /// Takes the gaps recorded since the last call.
    #[must_use]
    pub fn take_gaps(&self) -> Vec<Gap> {
        self.chunks.take_gaps()
    }

    /// The next batch of rows; `None` after all ranges were read. Cancel-safe.
    pub async fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        let next = match self.typed.is_empty() {
            true => self.next_bytes().await.map(|next| next.map(|next| next.batch)),
            false => self.next_typed().await,
        };
        if let Err(error) = &next
            && self.undecoded.is_none()
        {
            self.error = Some(error.clone());
        }
        next
    }

    /// The next batch with its typed columns. After an error the batch is still the next: its schemas may be
    /// found by then.
    async fn next_typed(&mut self) -> Result<Option<RecordBatch>> {
        if self.undecoded.is_none() {
            self.undecoded = self.next_bytes().await?;
        }
        let (decoded, rest, error) = loop {
            let Some(batch) = &self.undecoded else { return Ok(None) };
            let invalid = self.typed.load(&self.columns, batch).await?;
            let outcome = self.typed.decode(&self.columns, batch.clone(), &invalid)?;
            let TypedOutcome { decoded, rest, error, dead_letters } = outcome;
            if dead_letters.is_empty() {
                break (decoded, rest, error);
            }
            TypedColumns::write(dead_letters).await?;
        };
        match (decoded, error) {
            (Some(decoded), _) => {
                self.undecoded = rest;
                Ok(Some(decoded.batch))
            }
            (None, Some(error)) => Err(error),
            (None, None) => Ok(None),
        }
    }

    async fn next_bytes(&mut self) -> Result<Option<DecodedBatch>> {
        loop {
            if let Some(decoded) = self.next_decoded()? {
                return Ok(Some(decoded));
            }
            if self.is_drained {
                return Ok(None);
            }
            match self.chunks.next().await {
                Some(chunk) => self.open(chunk?),
                None => {
                    self.is_drained = true;
                    flush(&mut self.decoder)?;
                }
            }
        }
    }

    /// The next batch from the chunks that are available: a full one, or any if the scan follows the log.
    fn next_decoded(&mut self) -> Result<Option<DecodedBatch>> {
        loop {
            if let Some(decoded) = self.decoder.pop() {
                return Ok(Some(decoded));
            }
            if self.decoder.is_full() {
                flush(&mut self.decoder)?;
            } else if let Some(open) = &mut self.open {
                if open.decode(&mut self.decoder)? {
                    self.open = None;
                }
            } else if !self.follows || self.decoder.pending_rows() == 0 {
                return Ok(None);
            } else if let Some(chunk) = self.chunks.ready() {
                self.open(chunk?);
            } else {
                flush(&mut self.decoder)?;
            }
        }
    }

    fn open(&mut self, chunk: Chunk) {
        let cursor = RecordsCursor::new(chunk.records.clone(), chunk.start).check_crcs(false);
        let aborted = self.read_committed.then(|| AbortedTransactions::new(chunk.aborted.iter().copied()));
        self.open = Some(OpenChunk { chunk, cursor, aborted });
    }
}

impl OpenChunk {
    /// Decodes up to the end of a batch, or of the chunk, and then returns true.
    fn decode(&mut self, decoder: &mut ArrowDecoder) -> Result<bool> {
        let Self { chunk, cursor, aborted } = self;
        decode_until_full(decoder, &chunk.partition, cursor, chunk.start..chunk.end, aborted.as_mut())
    }
}

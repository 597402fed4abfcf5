//! A scan as a stream of Arrow batches.
//!
//! Invariants: batches have the rows of all ranges, each once, in the order of each partition. After an error,
//! every later call returns it again: reading on would miss records.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use ottla_arrow::ArrowDecoder;
use ottla_protocol::records::AbortedTransactions;

use crate::cluster::Client;
use crate::consumer::read::arrow_decoding::{ArrowLayout, decode_batches, flush};
use crate::consumer::scan::{Chunk, ChunkScan, FOLLOW, Gap, Range, ScanOptions};
use crate::error::{Error, Result};

/// A read of ranges of partitions, as Arrow batches. Dropping it ends it.
///
/// The scan's task fetches chunks while [`Scan::next_batch`] decodes earlier ones on the caller's thread.
#[derive(Debug)]
pub struct Scan {
    chunks: ChunkScan,
    decoder: ArrowDecoder,
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
        let read_committed = options.read_committed;
        Self { chunks, decoder, read_committed, follows, is_drained: false, error: None }
    }

    /// The schema of the batches.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        self.decoder.schema()
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
        let next = self.decode_next().await;
        self.error = next.as_ref().err().cloned();
        next
    }

    async fn decode_next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(decoded) = self.decoder.pop() {
                return Ok(Some(decoded.batch));
            }
            if self.is_drained {
                return Ok(None);
            }
            match self.chunks.next().await {
                Some(chunk) => {
                    self.decode(&chunk?)?;
                    if self.follows {
                        self.flush_available()?;
                    }
                }
                None => {
                    self.is_drained = true;
                    flush(&mut self.decoder)?;
                }
            }
        }
    }

    /// Finishes a batch from the chunks that are available.
    fn flush_available(&mut self) -> Result<()> {
        while self.decoder.ready_count() == 0
            && let Some(chunk) = self.chunks.ready()
        {
            self.decode(&chunk?)?;
        }
        flush(&mut self.decoder)
    }

    fn decode(&mut self, chunk: &Chunk) -> Result<()> {
        let mut aborted =
            self.read_committed.then(|| AbortedTransactions::new(chunk.aborted.iter().copied()));
        let offsets = chunk.start..chunk.end;
        decode_batches(&mut self.decoder, &chunk.partition, &chunk.records, offsets, aborted.as_mut())
    }
}

//! Reads ranges of partitions straight from their leaders, bounded or following the log.
//!
//! One task keeps a fetch in flight to each leader with something left to read. Chunks reach the caller
//! through a short queue, which bounds memory. A chunk holds the undecoded record batches of one partition
//! in one buffer; `arrow_scan` decodes them to Arrow batches.
//!
//! Invariants: chunks of a partition come in order, without gaps or overlaps. A batch with a wrong CRC is
//! fetched again and never skipped. No data loss is silent: it ends the scan with an error, or is recorded
//! as a [`Gap`] if the caller chose so.

#[cfg(feature = "arrow")]
mod arrow_scan;
mod cursor;
mod deleted_topics;
mod fetch_size;
mod scan_fetcher;

use std::sync::Arc;

use bytes::Bytes;
use ottla_protocol::records::AbortedTransaction;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::Duration;

#[cfg(feature = "arrow")]
pub use self::arrow_scan::Scan;
use crate::cluster::Client;
use crate::consumer::scan::scan_fetcher::ScanFetcher;
use crate::error::{Error, Kind, Result};
use crate::tasks::panics::try_catch;
use crate::topic_partition::TopicPartition;

/// Chunks that wait for the caller.
const QUEUED_CHUNKS: usize = 2;

/// A range of a partition: from `start` up to, but excluding, `end`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    /// The partition.
    pub partition: TopicPartition,
    /// The first offset.
    pub start: i64,
    /// The offset after the last; with [`FOLLOW`] the scan reads on as the log grows, until it is dropped.
    pub end: i64,
}

/// The end of an unbounded range.
pub const FOLLOW: i64 = i64::MAX;

/// Options of a scan.
#[derive(Debug, Clone, Copy)]
pub struct ScanOptions {
    /// Fail when records of the range or its topic were deleted, instead of recording a gap.
    pub fail_on_data_loss: bool,
    /// Skip records of open and aborted transactions.
    pub read_committed: bool,
    /// The largest response, in bytes.
    pub max_bytes: i32,
    /// The longest time without progress. At the end of a log that is followed, an empty response is
    /// progress.
    pub timeout: Duration,
}

/// Undecoded record batches of one partition.
#[derive(Debug)]
pub struct Chunk {
    /// The partition.
    pub partition: TopicPartition,
    /// The batches, CRC-checked if so configured. The first may start before `start`, the last may end
    /// after `end`.
    pub records: Bytes,
    /// The first offset to read.
    pub start: i64,
    /// The offset after the last to read.
    pub end: i64,
    /// With `read_committed`, the aborted transactions among them.
    pub aborted: Vec<AbortedTransaction>,
}

/// A range of offsets that was skipped because its records are gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// The partition.
    pub partition: TopicPartition,
    /// The first skipped offset.
    pub from: i64,
    /// The offset at which reading continued.
    pub to: i64,
}

/// A message from the scan's task; the last one is `End`.
#[derive(Debug)]
pub(crate) enum ScanEvent {
    Chunk(Chunk),
    End(Result<()>),
}

/// Where the scan's task puts its results.
#[derive(Debug)]
pub(crate) struct ScanOutput {
    pub(crate) chunks: mpsc::Sender<ScanEvent>,
    pub(crate) gaps: Arc<Mutex<Vec<Gap>>>,
}

/// A running scan, as chunks of undecoded record batches. Dropping it ends it.
#[derive(Debug)]
pub struct ChunkScan {
    gaps: Arc<Mutex<Vec<Gap>>>,
    chunks: mpsc::Receiver<ScanEvent>,
    /// The result, once the scan has ended.
    end: Option<Result<()>>,
    task: AbortHandle,
}

impl Drop for ChunkScan {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl ChunkScan {
    /// Starts reading `ranges` on the current runtime.
    #[must_use]
    pub fn start(client: Client, ranges: Vec<Range>, options: ScanOptions) -> Self {
        let (sender, chunks) = mpsc::channel(QUEUED_CHUNKS);
        let gaps = Arc::new(Mutex::new(Vec::new()));
        let output = ScanOutput { chunks: sender.clone(), gaps: Arc::clone(&gaps) };
        let task = tokio::spawn(async move {
            let fetcher = ScanFetcher::new(client, ranges, options, output);
            let end = try_catch("the task of a scan", fetcher.run()).await;
            // Nobody needs the result if the scan was dropped.
            let _ = sender.send(ScanEvent::End(end)).await;
        });
        Self { gaps, chunks, end: None, task: task.abort_handle() }
    }

    /// Takes the gaps recorded since the last call.
    #[must_use]
    pub fn take_gaps(&self) -> Vec<Gap> {
        std::mem::take(&mut *self.gaps.lock())
    }

    /// A chunk that is already queued.
    pub fn ready(&mut self) -> Option<Result<Chunk>> {
        let event = self.chunks.try_recv().ok()?;
        self.take(event)
    }

    /// The next chunk; `None` after all ranges were read. An error ends the scan, and every later call
    /// returns it again. Cancel-safe.
    pub async fn next(&mut self) -> Option<Result<Chunk>> {
        if self.end.is_none() {
            let lost =
                || ScanEvent::End(Err(Error::new(Kind::Closed, "the client's runtime is shutting down")));
            let event = self.chunks.recv().await.unwrap_or_else(lost);
            return self.take(event);
        }
        self.ended()
    }

    fn take(&mut self, event: ScanEvent) -> Option<Result<Chunk>> {
        match event {
            ScanEvent::Chunk(chunk) => Some(Ok(chunk)),
            ScanEvent::End(end) => {
                self.end = Some(end);
                self.ended()
            }
        }
    }

    fn ended(&self) -> Option<Result<Chunk>> {
        match &self.end {
            Some(Err(error)) => Some(Err(error.clone())),
            _ => None,
        }
    }
}

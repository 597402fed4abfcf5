//! A scan: reads of partitions' ranges, straight from their leaders; bounded, or following the log.
//!
//! One task keeps a fetch on its way to each leader that has something left to read; chunks go to
//! the reader through a short queue, which is also the bound on memory. A chunk is one partition's
//! record batches as they came, in one buffer.
//!
//! Invariants: per partition, chunks come in order and without gap or overlap. A batch with a bad
//! CRC is fetched again and never skipped. Nothing is lost silently: records that are gone end the
//! scan with an error, or are told as a warning if the caller asked for that.

mod cursor;
mod deleted_topics;
mod scan_fetcher;

use std::sync::Arc;

use bytes::Bytes;
use ottla_protocol::records::AbortedTransaction;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::Duration;

use crate::cluster::Client;
use crate::consumer::scan::scan_fetcher::Reader;
use crate::error::{Error, Kind, Result};
use crate::tasks::panics::try_catch;
use crate::topic_partition::TopicPartition;

/// Chunks that wait for the reader.
const QUEUE: usize = 2;

/// What to read of a partition: from `start` up to, but without, `end`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    /// The partition.
    pub partition: TopicPartition,
    /// The first offset.
    pub start: i64,
    /// The offset after the last; [`FOLLOW`] reads on as the log grows, until the scan is dropped.
    pub end: i64,
}

/// The end of a range that has none.
pub const FOLLOW: i64 = i64::MAX;

/// How to read.
#[derive(Debug, Clone, Copy)]
pub struct ScanOptions {
    /// End with an error when records of the range are gone, or its topic, instead of a warning.
    pub fail_on_data_loss: bool,
    /// Leave out what open and aborted transactions wrote.
    pub read_committed: bool,
    /// Bytes that one answer may bring.
    pub max_bytes: i32,
    /// How long a scan may make no progress at all; at the end of a log that is followed, an
    /// answer without records is progress.
    pub timeout: Duration,
}

/// Record batches of one partition, as they came.
#[derive(Debug)]
pub struct Chunk {
    /// The partition.
    pub partition: TopicPartition,
    /// The batches; their CRCs have been checked if the configuration says so. The first may
    /// start before `start`, the last may end after `end`.
    pub records: Bytes,
    /// The first offset that is wanted.
    pub start: i64,
    /// The offset after the last that is wanted.
    pub end: i64,
    /// The aborted transactions among them, for `read_committed`.
    pub aborted: Vec<AbortedTransaction>,
}

/// Offsets whose records are gone and were skipped, because the caller asked for that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// The partition.
    pub partition: TopicPartition,
    /// The first offset that was skipped.
    pub from: i64,
    /// The offset at which reading went on.
    pub to: i64,
}

/// What a scan's reader says; its last word is an end or an error.
#[derive(Debug)]
pub(crate) enum Event {
    Chunk(Chunk),
    End(Result<()>),
}

/// Where a scan's reader puts what it finds.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) chunks: mpsc::Sender<Event>,
    pub(crate) gaps: Arc<Mutex<Vec<Gap>>>,
}

/// A scan under way. Dropping it ends it.
#[derive(Debug)]
pub struct Scan {
    gaps: Arc<Mutex<Vec<Gap>>>,
    chunks: mpsc::Receiver<Event>,
    /// How it has ended, once it has.
    end: Option<Result<()>>,
    task: AbortHandle,
}

impl Drop for Scan {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Scan {
    /// Starts reading `ranges` on the current runtime.
    #[must_use]
    pub fn start(client: Client, ranges: Vec<Range>, options: ScanOptions) -> Self {
        let (sender, chunks) = mpsc::channel(QUEUE);
        let gaps = Arc::new(Mutex::new(Vec::new()));
        let output = Output { chunks: sender.clone(), gaps: Arc::clone(&gaps) };
        let task = tokio::spawn(async move {
            let reader = Reader::new(client, ranges, options, output);
            let end = try_catch("the task behind a scan", reader.run()).await;
            // Whoever reads may have gone; then nobody wants to know.
            let _ = sender.send(Event::End(end)).await;
        });
        Self { gaps, chunks, end: None, task: task.abort_handle() }
    }

    /// What was skipped since the last call.
    #[must_use]
    pub fn take_gaps(&self) -> Vec<Gap> {
        std::mem::take(&mut *self.gaps.lock())
    }

    /// A chunk that is there already. Of what is not, nothing is known.
    pub fn ready(&mut self) -> Option<Result<Chunk>> {
        let event = self.chunks.try_recv().ok()?;
        self.take(event)
    }

    /// The next chunk; `None` when all ranges were read. An error is the end: each later call returns it
    /// again. Cancel-safe.
    pub async fn next(&mut self) -> Option<Result<Chunk>> {
        if self.end.is_none() {
            let lost = || Event::End(Err(Error::new(Kind::Closed, "the client's runtime is shutting down")));
            let event = self.chunks.recv().await.unwrap_or_else(lost);
            return self.take(event);
        }
        self.ended()
    }

    fn take(&mut self, event: Event) -> Option<Result<Chunk>> {
        match event {
            Event::Chunk(chunk) => Some(Ok(chunk)),
            Event::End(end) => {
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

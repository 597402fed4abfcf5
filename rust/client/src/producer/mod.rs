//! The producer: `send` puts a record into inner partition's open batch and returns a promise.
//!
//! `partitioner/` chooses the partition, `append.rs` puts records into the batches that
//! `accumulator.rs` holds, `drain.rs` and `queue.rs` say which may leave, `sender.rs` takes them to the leaders in the requests of
//! `produce.rs`, `produce_result.rs` is the promise, `memory.rs` the bound. `idempotence.rs` gives batches
//! their numbers, under the id that `identity.rs` gets.
//!
//! Invariant: a record that was accepted is acknowledged or fails with a reason, on close too.

mod accumulator;
mod append;
mod batch;
mod buffer_memory;
mod buffer_pool;
mod compression_ratio;
mod drain;
mod idempotence;
mod metrics;
pub mod partitioner;
mod produce;
mod produce_result;
mod producer_id;
mod queue;
mod rejection;
mod sender;
mod split;
mod unobserved_failures;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use ottla_protocol::records::{Compression, Compressor};
use parking_lot::Mutex;
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::{Duration, Instant, timeout_at};

pub use accumulator::Record;
pub use append::{AppendResult, Appender};
pub use buffer_memory::BufferReservation;
pub use partitioner::{murmur2, partition_for_key};
pub use produce_result::{AppendInfo, Delivery, ProduceResult};
pub use unobserved_failures::UnobservedFailure;

use crate::cluster::Client;
use crate::cluster::IfMissing;
use crate::config::Config;
use crate::error::{Error, Kind, Result};
use crate::metadata::{Topic, Want};
use crate::metrics::Metric;
use crate::retry::deadline;
use crate::tasks::panics::catch;
use accumulator::{Accumulator, closed};
use partitioner::PartitionerState;
use queue::PartitionQueue;
use sender::Shared;

/// What came of an attempt to send without waiting.
#[derive(Debug)]
pub enum SendResult {
    /// Accepted.
    Accepted(Delivery),
    /// `buffer.memory` has no room for this many bytes now: wait with [`Producer::reserve_buffer`].
    BufferFull(usize),
}

/// A topic that a producer writes to: what a record's way needs, looked up once.
#[derive(Debug)]
pub struct TopicWriter {
    topic: Arc<Topic>,
    partitioner: Arc<PartitionerState>,
    queues: Box<[Arc<PartitionQueue>]>,
    /// The number of the metadata's changes up to which it is known to be current.
    seen_changes: AtomicU64,
}

impl TopicWriter {
    /// How many partitions the topic has.
    #[must_use]
    pub fn partition_count(&self) -> usize {
        self.queues.len()
    }

    /// Whether a partition is beyond those that are known: it may have been added since.
    #[must_use]
    pub fn lacks_partition(&self, partition: Option<i32>) -> bool {
        partition.is_some_and(|partition| usize::try_from(partition).is_ok_and(|at| at >= self.queues.len()))
    }

    fn queue(&self, partition: i32) -> Option<&Arc<PartitionQueue>> {
        self.queues.get(usize::try_from(partition).ok()?)
    }
}

/// How long `close` waits for requests that it has aborted.
const ABORT_TIMEOUT: Duration = Duration::from_secs(5);

/// A producer. Dropping it fails what is unsent; [`Producer::close`] waits for it first.
#[derive(Debug)]
pub struct Producer {
    shared: Arc<Shared>,
    sender_abort: AbortHandle,
    /// The sender's end, for the first `close` to wait for.
    sender_task: Mutex<Option<JoinHandle<()>>>,
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.shared.accumulator.close();
        let batches = self.shared.accumulator.incomplete().len();
        if batches > 0 {
            tracing::warn!(target: "ottla.producer", batches, "a producer is dropped with records that are not acknowledged: close it first");
        }
        self.stop();
    }
}

/// A compressor as the configuration wants it.
fn compressor(config: &Config) -> Result<Compressor> {
    let codec = config.compression_type;
    let level = match codec {
        // -1 is the codec's own.
        Compression::Gzip if config.compression_gzip_level != -1 => Some(config.compression_gzip_level),
        Compression::Lz4 => Some(config.compression_lz4_level),
        Compression::Zstd => Some(config.compression_zstd_level),
        Compression::None | Compression::Gzip | Compression::Snappy => None,
    };
    let made = match level {
        Some(level) => Compressor::with_level(codec, level),
        None => Compressor::new(codec),
    };
    made.map_err(|error| Error::new(Kind::Config, format!("compression.{codec}.level: {error}")))
}

impl Producer {
    /// A producer on a client, with inner sender running on the current runtime.
    pub fn new(client: Client) -> Result<Self> {
        // A wrong level is told now and not with the first record.
        compressor(client.config())?;
        let accumulator = Accumulator::new(client.config());
        let shared = Arc::new(Shared::new(client, accumulator));
        let inner = Arc::clone(&shared);
        let sender = tokio::spawn(async move {
            let sending = sender::run(Arc::clone(&inner));
            if let Err(died) = catch("the task that sends for a producer", sending).await {
                inner.accumulator.abort(died);
            }
        });
        Ok(Self { shared, sender_abort: sender.abort_handle(), sender_task: Mutex::new(Some(sender)) })
    }

    /// The client underneath.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.shared.client
    }

    /// Bytes that wait to be written.
    #[must_use]
    pub fn buffered_bytes(&self) -> usize {
        self.shared.accumulator.memory.used()
    }

    /// What was counted and measured, by the Java client's names; what a client measures, too, is of
    /// this producer's requests alone.
    #[must_use]
    pub fn metrics(&self) -> Vec<Metric> {
        let own = self.accumulator().metrics.snapshot(&self.accumulator().memory);
        let mut all = self.client().metrics();
        all.retain(|metric| own.iter().all(|own| own.name != metric.name));
        all.extend(own);
        all
    }

    /// What was counted of each topic that was written to.
    #[must_use]
    pub fn topic_metrics(&self) -> Vec<(Arc<str>, Vec<Metric>)> {
        self.accumulator().metrics.topics()
    }

    fn accumulator(&self) -> &Accumulator {
        &self.shared.accumulator
    }

    /// What is known of a topic, without waiting; `None` if it has to be looked up first.
    #[must_use]
    pub fn cached_topic_writer(&self, topic: &str) -> Option<Arc<TopicWriter>> {
        let metadata = &self.client().inner.metadata;
        let changes = metadata.changes();
        let writer = Arc::clone(self.shared.topic_writers.read().get(topic)?);
        if writer.seen_changes.load(Ordering::Acquire) == changes {
            return Some(writer);
        }
        // Partitions may have been added, or leaders changed, since it was made.
        let current = Arc::clone(metadata.peek().topic(topic)?);
        if Arc::ptr_eq(&current, &writer.topic) {
            writer.seen_changes.store(changes, Ordering::Release);
            return Some(writer);
        }
        if current.partitions.is_empty() {
            // A moment's gap in the metadata is no reason to fail what can wait.
            return Some(writer);
        }
        Some(self.store_topic_writer(current, Some(&writer)))
    }

    /// Until when a call that begins now may wait for metadata and for room: `max.block.ms`.
    #[must_use]
    pub fn max_block_deadline(&self) -> Instant {
        deadline(self.client().config().max_block)
    }

    /// Looks a topic up, until a deadline.
    pub async fn topic_writer(&self, topic: &str, deadline: Instant) -> Result<Arc<TopicWriter>> {
        if let Some(writer) = self.cached_topic_writer(topic) {
            return Ok(writer);
        }
        if self.accumulator().closed.load(Ordering::Acquire) {
            return Err(self.accumulator().closed_error());
        }
        let name: Arc<str> = topic.into();
        let client = self.client();
        let began = Instant::now();
        let timeout = deadline.saturating_duration_since(began);
        let found = client.topics(std::slice::from_ref(&name), IfMissing::Create, timeout).await;
        self.accumulator().metrics.metadata_wait.record(began.elapsed().as_nanos() as f64);
        let found = found?;
        let found = found.into_iter().next();
        let found =
            found.ok_or_else(|| Error::new(Kind::UnknownTopic, "the topic has vanished").topic(topic))?;
        Ok(self.store_topic_writer(found, None))
    }

    /// Looks a topic up for records that go to partitions up to this one. If it is beyond those that are
    /// known, a broker is asked first, as it may have been added since; but not again and again.
    pub async fn topic_writer_for(
        &self,
        topic: &str,
        partition: Option<i32>,
        deadline: Instant,
    ) -> Result<Arc<TopicWriter>> {
        let writer = self.topic_writer(topic, deadline).await?;
        if !writer.lacks_partition(partition) || !self.shared.may_look_up_partition(Instant::now()) {
            return Ok(writer);
        }
        let (client, name) = (self.client(), Arc::clone(&writer.topic.name));
        let refresh = client.refresh(client.snapshot().generation, Want::Topics(std::slice::from_ref(&name)));
        if let Ok(Err(error)) = timeout_at(deadline, refresh).await {
            tracing::debug!(target: "ottla.producer", %error, "cannot look for a partition");
        }
        Ok(self.cached_topic_writer(topic).unwrap_or(writer))
    }

    fn store_topic_writer(&self, topic: Arc<Topic>, before: Option<&TopicWriter>) -> Arc<TopicWriter> {
        let accumulator = &self.shared.accumulator;
        let queues = topic
            .partitions
            .iter()
            .map(|partition| accumulator.queue(&topic.name, partition.index))
            .collect();
        let partitioner = before.map_or_else(Default::default, |before| Arc::clone(&before.partitioner));
        let writer =
            Arc::new(TopicWriter { partitioner, queues, topic, seen_changes: AtomicU64::new(u64::MAX) });
        self.shared.topic_writers.write().insert(Arc::clone(&writer.topic.name), Arc::clone(&writer));
        writer
    }

    /// Sends a record without waiting, with room that was waited for. `partition` overrides the
    /// partitioner.
    pub fn try_send(
        &self,
        writer: &TopicWriter,
        partition: Option<i32>,
        record: &Record<'_>,
        room: Option<BufferReservation>,
    ) -> Result<SendResult> {
        Ok(match Appender::single(self, writer, room).send(partition, record)? {
            AppendResult::BufferFull(bytes) => SendResult::BufferFull(bytes),
            AppendResult::Accepted(produce_result, index) => {
                SendResult::Accepted(Delivery { produce_result: Arc::clone(produce_result), index })
            }
        })
    }

    /// Sends many records of one topic in a row, cheaper than one by one, the first of them with room
    /// that was waited for.
    #[must_use]
    pub fn appender<'a>(&'a self, writer: &'a TopicWriter, room: Option<BufferReservation>) -> Appender<'a> {
        Appender::many(self, writer, room)
    }

    /// Waits for room in the buffer for `bytes`, in turn, until a deadline: that of
    /// [`Producer::max_block_deadline`] at the beginning of the call that needs it.
    pub async fn reserve_buffer(&self, bytes: usize, deadline: Instant) -> Result<BufferReservation> {
        let config = self.client().config();
        let memory = &self.shared.accumulator.memory;
        // Whoever waits for room must not wait for batches that linger.
        let _waiting = memory.register_waiter();
        self.shared.wake.notify_one();
        let began = Instant::now();
        let room = timeout_at(deadline, memory.reserve(bytes)).await;
        let metrics = &self.accumulator().metrics;
        metrics.buffer_wait.record(began.elapsed().as_nanos() as f64);
        if room.is_err() {
            metrics.buffer_exhausted.count();
        }
        match room {
            Ok(()) => Ok(BufferReservation::new(Arc::clone(&self.shared), bytes)),
            Err(_) => {
                let message = format!(
                    "buffer.memory ({} bytes) stayed full for max.block.ms ({} ms)",
                    config.buffer_memory,
                    config.max_block.as_millis()
                );
                Err(match self.shared.failure_since(began) {
                    Some(error) => error.because(message).as_kind(Kind::Timeout),
                    None => {
                        let why = "records come faster than the brokers take them";
                        Error::new(Kind::Timeout, format!("{message}: {why}"))
                    }
                })
            }
        }
    }

    /// Sends a record, waiting for metadata and for room, for up to `max.block.ms` together.
    pub async fn send(&self, topic: &str, partition: Option<i32>, record: &Record<'_>) -> Result<Delivery> {
        let deadline = self.max_block_deadline();
        let writer = self.topic_writer_for(topic, partition, deadline).await?;
        let mut room = None;
        loop {
            match self.try_send(&writer, partition, record, room.take())? {
                SendResult::Accepted(delivery) => return Ok(delivery),
                SendResult::BufferFull(bytes) => room = Some(self.reserve_buffer(bytes, deadline).await?),
            }
        }
    }

    /// Sends everything without lingering and waits until all that was sent before is
    /// acknowledged or failed.
    pub async fn flush(&self, timeout: Duration) -> Result<()> {
        let deadline = deadline(timeout);
        let accumulator = &self.shared.accumulator;
        let _flushing = self.suspend_linger();
        let all = async {
            // What is sent from now on is not waited for, or a busy producer could never flush.
            for produce_result in accumulator.incomplete() {
                // How it went is told to whoever sent the records.
                produce_result.wait().await;
            }
        };
        let began = Instant::now();
        let flushed = timeout_at(deadline, all).await;
        accumulator.metrics.flush_time.record(began.elapsed().as_nanos() as f64);
        match flushed {
            Ok(()) => Ok(()),
            Err(_) => Err(Error::new(
                Kind::Timeout,
                format!(
                    "flush: {} bytes are still unacknowledged after {} ms",
                    self.buffered_bytes(),
                    timeout.as_millis()
                ),
            )),
        }
    }

    /// Logs failures of records that nobody has asked about: once each, one line for each place and cause.
    pub fn warn_unobserved_failures(&self) {
        self.accumulator().failures.take_unreported(Duration::ZERO).iter().for_each(UnobservedFailure::warn);
    }

    /// The first failure of a record that nobody has asked about, and how many such records there are.
    #[must_use]
    pub fn unobserved_failure(&self) -> Option<UnobservedFailure> {
        self.accumulator().failures.first()
    }

    /// The promise of a record of several that was refused alone: inner failure counts as unseen until
    /// somebody asks for it.
    #[must_use]
    pub fn reject(&self, writer: &TopicWriter, error: Error) -> Arc<ProduceResult> {
        let produce_result = ProduceResult::rejected(&writer.topic.name, error.clone());
        self.accumulator().failures.add(&produce_result, 0, 1, &error);
        produce_result
    }

    /// Keeps batches from lingering until the guard is dropped.
    #[must_use]
    pub fn suspend_linger(&self) -> impl Drop + Send + '_ {
        let flushing = self.shared.accumulator.begin_flush();
        self.shared.wake.notify_one();
        flushing
    }

    /// Accepts nothing more, waits for what was sent, and fails what is still unsent at the end.
    pub async fn close(&self, timeout: Duration) -> Result<()> {
        self.shared.accumulator.close();
        let flushed = self.flush(timeout).await;
        self.stop();
        let sender_task = self.sender_task.lock().take();
        if let Some(sender_task) = sender_task {
            // It was aborted, and inner requests with it: what they carry fails as they are dropped,
            // each by a worker of the runtime.
            let _ = sender_task.await;
            let dropped = async {
                for produce_result in self.shared.accumulator.incomplete() {
                    produce_result.wait().await;
                }
            };
            let _ = timeout_at(Instant::now() + ABORT_TIMEOUT, dropped).await;
        }
        flushed
    }

    fn stop(&self) {
        self.sender_abort.abort();
        for batch in self.shared.accumulator.take_unsent() {
            self.shared.accumulator.fail_unsent(batch, closed().because("not sent"));
        }
    }
}

/// The current time as records carry it: milliseconds since 1970.
#[must_use]
pub fn now_millis() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}

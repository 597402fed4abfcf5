//! The accumulator: appends records to the open batch of their partition, and tracks every batch
//! until it completes. No I/O; the time is an argument. `drain.rs` takes batches out, and
//! `returned_batches.rs` gets them back.
//!
//! Invariants: batches of a partition leave in the order in which they were opened (`queue.rs`). All
//! batches together stay within `buffer.memory`.

use std::collections::{BTreeMap, HashMap};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use ottla_protocol::records::{BatchBuilder, Compression, Compressor, RecordError};
use parking_lot::{Mutex, RwLock};
use tokio::sync::Notify;
use tokio::time::{Duration, Instant};

use super::batch::{Batch, BatchKey};
use super::buffer_memory::BufferMemory;
use super::buffer_pool::BufferPool;
use super::compression_ratio::CompressionRatio;
use super::errors::{closed, delivery_timed_out};
use super::metrics::Metrics;
use super::produce_result::ProduceResult;
use super::queue::{PartitionQueue, QueueState};
use super::record::Record;
use super::transaction::{TransactionManager, TransactionalId};
use super::unobserved_failures::UnobservedFailures;
use crate::config::Config;
use crate::error::{Error, Kind, Result};
use crate::topic_partition::TopicPartition;

/// The most bytes to allocate for a batch before records need them: there may be thousands of
/// partitions.
const CAPACITY: usize = 64 * 1024;

/// The queues by partition, and in a fixed order to drain them round robin.
#[derive(Debug, Default)]
pub(super) struct PartitionQueues {
    by_partition: HashMap<TopicPartition, Arc<PartitionQueue>>,
    compression: HashMap<Arc<str>, Arc<CompressionRatio>>,
    pub(super) order: Vec<Arc<PartitionQueue>>,
}

#[derive(Debug)]
pub(super) struct Accumulator {
    pub(super) queues: RwLock<PartitionQueues>,
    /// The indexes of the queues that have batches: the sender visits no others.
    pub(super) active: Mutex<Vec<usize>>,
    /// Where the next drain starts: at another queue each time, so that none starves.
    pub(super) drain_index: AtomicUsize,
    pub(super) memory: BufferMemory,
    pub(super) buffer_pool: BufferPool,
    pub(super) metrics: Metrics,
    pub(super) batch_size: usize,
    batch_max_size: usize,
    compresses: bool,
    max_record_size: usize,
    pub(super) linger: Duration,
    pub(super) delivery_timeout: Duration,
    /// The maximum number of batches of a partition in flight.
    pub(super) max_in_flight: usize,
    idempotent: bool,
    /// The incomplete batches, which `flush` waits for.
    pub(super) incomplete: Mutex<BTreeMap<BatchKey, Arc<ProduceResult>>>,
    next_id: AtomicU64,
    /// Failures whose results the application has not checked.
    pub(super) failures: Arc<UnobservedFailures>,
    /// The number of running flushes: while there are any, no batch lingers.
    pub(super) flushing: AtomicUsize,
    pub(super) closed: AtomicBool,
    /// Nothing is sent any more.
    pub(super) finished: AtomicBool,
    /// The error that ended the sender, if one did.
    pub(super) fatal_error: OnceLock<Error>,
    /// The producer's transactions, with `transactional.id`.
    pub(super) transaction: Option<Arc<TransactionManager>>,
    /// Notified when the last incomplete batch completes.
    pub(super) emptied: Notify,
}

impl Accumulator {
    pub(super) fn new(config: &Config, transactional_id: Option<TransactionalId>) -> Self {
        Self {
            queues: RwLock::default(),
            active: Mutex::default(),
            drain_index: AtomicUsize::new(0),
            memory: BufferMemory::new(config.buffer_memory),
            buffer_pool: BufferPool::default(),
            metrics: Metrics::from(config),
            batch_size: config.batch_size,
            batch_max_size: config.batch_max_size.min(config.max_request_size).max(config.batch_size),
            compresses: config.compression_type != Compression::None,
            max_record_size: config.max_request_size,
            linger: config.linger,
            delivery_timeout: config.delivery_timeout,
            max_in_flight: config.max_in_flight,
            idempotent: config.enable_idempotence,
            incomplete: Mutex::default(),
            next_id: AtomicU64::new(0),
            failures: Arc::default(),
            flushing: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
            finished: AtomicBool::new(false),
            fatal_error: OnceLock::new(),
            transaction: transactional_id.map(|id| Arc::new(TransactionManager::new(id))),
            emptied: Notify::new(),
        }
    }

    /// Returns the queue of a partition.
    pub(super) fn queue(&self, topic: &Arc<str>, partition: i32) -> Arc<PartitionQueue> {
        let key = (Arc::clone(topic), partition);
        if let Some(queue) = self.queues.read().by_partition.get(&key) {
            return Arc::clone(queue);
        }
        let mut queues = self.queues.write();
        if let Some(queue) = queues.by_partition.get(&key) {
            return Arc::clone(queue);
        }
        let compression = Arc::clone(queues.compression.entry(Arc::clone(topic)).or_default());
        let of = (queues.order.len(), compression);
        let queue = Arc::new(PartitionQueue::new(key.clone(), of, self.batch_max_size, self.idempotent));
        queues.by_partition.insert(key, Arc::clone(&queue));
        queues.order.push(Arc::clone(&queue));
        queue
    }

    /// Rejects a record that can never be sent, or that the Java producer would reject.
    pub(super) fn validate(&self, queue: &PartitionQueue, record: &Record<'_>, bytes: usize) -> Result<()> {
        if record.timestamp < 0 {
            let message =
                format!("timestamp is {}: expected milliseconds since 1970, 0 or more", record.timestamp);
            return Err(Error::new(Kind::Config, message).at(&queue.partition.0, queue.partition.1));
        }
        if bytes > self.max_record_size || bytes > self.memory.limit() {
            let message = format!(
                "a record of {bytes} bytes is larger than max.request.size ({}) or buffer.memory ({}): raise them, and the topic's max.message.bytes, or send smaller records",
                self.max_record_size,
                self.memory.limit()
            );
            return Err(Error::new(Kind::RecordTooLarge, message).at(&queue.partition.0, queue.partition.1));
        }
        Ok(())
    }

    /// Appends a record, for which `bytes` are reserved, to its partition. Returns its index in the
    /// open batch, and whether to wake the sender. After an error the caller still owns the bytes.
    pub(super) fn append(
        &self,
        queue: &PartitionQueue,
        state: &mut QueueState,
        record: &Record<'_>,
        bytes: usize,
    ) -> Result<(usize, bool)> {
        // Checked under the lock, so that closing cannot miss a record.
        if self.closed.load(Ordering::Acquire) {
            return Err(self.closed_error());
        }
        if let Some(transaction) = &self.transaction {
            transaction.add_record_to(&queue.partition, state)?;
        }
        let full = state.open.as_ref().is_some_and(|open| open.size() + bytes > state.max_size);
        if full && let Some(open) = state.open.take() {
            state.close(open);
        }
        let first = state.open.is_none();
        if !std::mem::replace(&mut state.is_active, true) {
            self.active.lock().push(queue.index);
        }
        let last_size = state.last_size;
        let batch = state.open.get_or_insert_with(|| self.open_batch(queue, bytes.max(last_size)));
        let was_sendable = !first && batch.size() >= batch.sendable_size;
        let appended = match batch.builder() {
            Some(builder) => builder.append(record.timestamp, record.key, record.value, record.headers),
            None => Err(RecordError::NotABatch { reason: "the open batch was closed" }),
        };
        if let Err(error) = appended {
            if first && let Some(empty) = state.open.take() {
                self.incomplete.lock().remove(&empty.key());
            }
            return Err(Error::from(error).at(&queue.partition.0, queue.partition.1));
        }
        batch.reserved += bytes;
        batch.largest_record = batch.largest_record.max(bytes);
        let index = batch.builder().map_or(0, |builder| builder.len() - 1);
        // Wake the sender once: a batch that cannot be sent keeps growing.
        let is_sendable = !was_sendable && batch.size() >= batch.sendable_size;
        Ok((index, full || first || is_sendable))
    }

    /// Opens a batch that is expected to hold `bytes`.
    fn open_batch(&self, queue: &PartitionQueue, bytes: usize) -> Batch {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let least = self.batch_size.min(CAPACITY);
        let builder =
            BatchBuilder::in_buffer(self.buffer_pool.allocate(BatchBuilder::capacity(bytes.max(least))));
        let failures = Arc::clone(&self.failures);
        let mut batch = Batch::new(id, queue.partition.clone(), failures, builder, Instant::now());
        batch.sendable_size = queue.compression.uncompressed_size(self.batch_size).min(self.batch_max_size);
        self.incomplete.lock().insert(batch.key(), Arc::clone(batch.part.produce_result()));
        batch
    }

    /// Whether a new batch is sent without lingering.
    pub(super) fn sends_at_once(&self) -> bool {
        self.linger.is_zero() || self.flushing.load(Ordering::Acquire) > 0
    }

    /// The batches that are not complete yet.
    pub(super) fn incomplete(&self) -> Vec<Arc<ProduceResult>> {
        self.incomplete.lock().values().cloned().collect()
    }

    /// Closes a batch if it is open.
    pub(super) fn close_batch(&self, batch: &mut Batch, compressor: &mut Compressor) -> Result<()> {
        let was_open = batch.builder().is_some();
        let buffer = batch.close(compressor)?;
        if was_open && self.compresses {
            self.queue_for(batch).compression.observe(batch.compression_ratio());
        }
        self.buffer_pool.deallocate(buffer, self.unused_memory());
        Ok(())
    }

    /// The free bytes of `buffer.memory`.
    pub(super) fn unused_memory(&self) -> usize {
        self.memory.limit().saturating_sub(self.memory.used())
    }

    /// The error of records that were not acknowledged in time.
    pub(super) fn delivery_timed_out(&self, last_error: Option<&Error>) -> Error {
        delivery_timed_out(self.delivery_timeout, last_error)
    }

    /// A record was not accepted: its transaction would lack it.
    pub(super) fn record_refused(&self, error: &Error) {
        if let Some(transaction) = &self.transaction {
            transaction.record_failed(error, false);
        }
    }

    /// Waits until every batch is complete and none is on the wire, or nothing is sent any more.
    pub(super) async fn wait_until_empty(&self) {
        loop {
            let mut emptied = pin!(self.emptied.notified());
            // Enabled before the check, so that no notification is missed.
            emptied.as_mut().enable();
            if self.finished.load(Ordering::Acquire) || self.incomplete.lock().is_empty() {
                return;
            }
            emptied.await;
        }
    }

    /// Waits for appends that have begun.
    pub(super) fn wait_for_appends(&self) {
        for queue in &self.queues.read().order {
            drop(queue.state.lock());
        }
    }

    /// Disables lingering until the guard is dropped.
    pub(super) fn begin_flush(&self) -> FlushGuard<'_> {
        self.flushing.fetch_add(1, Ordering::AcqRel);
        FlushGuard(self)
    }

    /// Closes the accumulator after the sender has failed: every later call reports `error`.
    pub(super) fn abort(&self, error: Error) {
        if let Some(transaction) = &self.transaction {
            transaction.fail_fatally(&error);
        }
        let _ = self.fatal_error.set(error);
        self.close();
        for batch in self.take_unsent() {
            self.fail_unsent(batch, self.closed_error());
        }
    }

    /// The error for records that come after the accumulator was closed.
    pub(super) fn closed_error(&self) -> Error {
        self.fatal_error.get().cloned().unwrap_or_else(closed)
    }

    /// Rejects records from now on.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    /// Takes all queued batches. Batches that come back later fail at once.
    pub(super) fn take_unsent(&self) -> Vec<Batch> {
        self.finished.store(true, Ordering::Release);
        self.emptied.notify_waiters();
        let mut all = Vec::new();
        for queue in &self.queues.read().order {
            let mut state = queue.state.lock();
            all.extend(state.ready.drain(..));
            all.extend(state.open.take());
        }
        all
    }
}

/// Disables lingering until it is dropped.
pub(super) struct FlushGuard<'a>(&'a Accumulator);

impl Drop for FlushGuard<'_> {
    fn drop(&mut self) {
        self.0.flushing.fetch_sub(1, Ordering::AcqRel);
    }
}

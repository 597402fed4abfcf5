//! The producer: `send` appends a record to its partition's open batch and returns a `Delivery`.
//!
//! - `partitioner/` chooses the partition; `topic_writer.rs` is a topic, looked up once.
//! - `append.rs` appends records to the batches of `accumulator.rs`, within `buffer_memory.rs`.
//! - `drain.rs` and `queue.rs` decide which batches may be sent; `sending.rs` sends them to the partition leaders:
//!   at once (`immediate.rs`), or by the task of `sender.rs`, in the requests of `produce.rs`, whose outcomes
//!   `produce_response.rs` processes.
//! - `refused_writes.rs` decides when refused writes are reported, `refusal_message.rs` what is said.
//! - `returned_batches.rs` completes batches, or queues them again; `purge.rs` gives them up.
//! - `idempotence.rs` assigns sequence numbers under the id of `producer_id.rs`.
//! - `transaction/` begins and ends transactions, under `transactional.id`.
//! - `metrics.rs` measures, `telemetry_source.rs` names what is pushed.
//! - `produce_result.rs` is the result of a batch; `split_part.rs` completes it.
//!
//! Invariant: every accepted record is acknowledged or fails with a reason, on close too.

mod accumulator;
mod adaptive_partitioning;
mod append;
mod batch;
mod buffer_memory;
mod buffer_pool;
mod buffer_wait;
mod compression_ratio;
mod drain;
mod errors;
mod idempotence;
mod immediate;
mod inner;
mod metrics;
mod partition_transaction;
pub mod partitioner;
mod produce;
mod produce_response;
mod produce_result;
mod producer_id;
mod purge;
mod queue;
mod record;
mod refusal_message;
mod refused_writes;
mod reservation;
mod returned_batches;
mod send_due;
mod sender;
mod sending;
mod split;
mod split_part;
mod telemetry_source;
mod topic_writer;
mod transaction;
mod unobserved_failures;

use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use ottla_protocol::wire::Uuid;
use parking_lot::Mutex;
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::{Duration, Instant, timeout_at};

pub use append::{AppendResult, Appender};
pub use buffer_wait::SendResult;
pub use partitioner::{murmur2, partition_for_key};
pub use produce_result::{AppendInfo, Delivery, ProduceResult};
pub use record::Record;
pub use reservation::BufferReservation;
pub use topic_writer::TopicWriter;
pub use transaction::{PreparedTransaction, TransactionalId};
pub(crate) use transaction::{end_txn_version, lacks_v2};
pub use unobserved_failures::UnobservedFailure;

use crate::cluster::Client;
use crate::config::Config;
use crate::error::{Error, Kind, Result};
use crate::metrics::Metric;
use crate::retry::deadline;
use crate::tasks::panics::catch;
use crate::telemetry::Telemetry;
use crate::telemetry::source::Source;
use accumulator::Accumulator;
use errors::closed;
use inner::{ProducerInner, compressor};

/// How long `close` waits for requests that it aborted.
const ABORT_TIMEOUT: Duration = Duration::from_secs(5);

/// A producer. Dropping it fails unsent records; [`Producer::close`] sends them first.
#[derive(Debug)]
pub struct Producer {
    inner: Arc<ProducerInner>,
    /// From the first topic or transaction on: creating a producer needs no runtime.
    running: OnceLock<Running>,
}

/// What runs for a producer.
#[derive(Debug)]
struct Running {
    sender_abort: AbortHandle,
    /// The sender task, for the first `close` to wait for.
    sender_task: Mutex<Option<JoinHandle<()>>>,
    telemetry: Option<Telemetry>,
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.inner.accumulator.close();
        let batches = self.inner.accumulator.incomplete().len();
        if batches > 0 {
            tracing::warn!(target: "ottla.producer", batches, "the producer was dropped with unacknowledged records: close it first");
        }
        if self.inner.accumulator.transaction.as_ref().is_some_and(|transaction| transaction.is_open()) {
            tracing::warn!(target: "ottla.transaction", "the producer was dropped with an open transaction: close it first; the brokers abort it after transaction.timeout.ms");
        }
        self.stop();
    }
}

impl Producer {
    /// Creates a producer on a client. Its sender runs on the runtime of the first call that looks up a topic or
    /// begins transactions.
    pub fn new(client: Client) -> Result<Self> {
        let Config { transactional_id: id, transaction_timeout, .. } = client.config();
        let transactional_id =
            (!id.is_empty()).then(|| TransactionalId { id: id.clone(), timeout: *transaction_timeout });
        Self::create(client, transactional_id)
    }

    /// Creates a producer with a transactional id of its own on a client that others share.
    ///
    /// # Errors
    /// [`Kind::Config`]: the client's configuration does not allow transactions.
    pub fn with_transactional_id(client: Client, id: TransactionalId) -> Result<Self> {
        if id.id.is_empty() {
            return Err(Error::new(Kind::Config, "transactional.id is empty"));
        }
        client.config().check_transactions()?;
        Self::create(client, Some(id))
    }

    fn create(client: Client, transactional_id: Option<TransactionalId>) -> Result<Self> {
        client.config().check_brokers("a producer")?;
        // Report a wrong level now and not with the first batch.
        compressor(client.config())?;
        let accumulator = Accumulator::new(client.config(), transactional_id);
        Ok(Self { inner: Arc::new(ProducerInner::new(client, accumulator)), running: OnceLock::new() })
    }

    /// Starts the sender on the current runtime, unless it runs.
    fn start(&self) -> &Running {
        self.running.get_or_init(|| {
            let inner = Arc::clone(&self.inner);
            let sender = tokio::spawn(async move {
                let sending = sender::run(Arc::clone(&inner));
                if let Err(panicked) = catch("the producer's sender task", sending).await {
                    inner.accumulator.abort(panicked);
                }
            });
            let telemetry = self.client().start_telemetry(Arc::clone(&self.inner) as Arc<dyn Source>);
            Running { sender_abort: sender.abort_handle(), sender_task: Mutex::new(Some(sender)), telemetry }
        })
    }

    /// The client that the producer uses.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.inner.client
    }

    /// Whether the producer was closed, or is closing.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.accumulator().closed.load(Ordering::Acquire)
    }

    /// The bytes of records that are not acknowledged yet.
    #[must_use]
    pub fn buffered_bytes(&self) -> usize {
        self.inner.accumulator.memory.used()
    }

    /// The producer's metrics, by the Java client's names. Where the client has a metric of the same
    /// name, the value covers only this producer's requests.
    #[must_use]
    pub fn metrics(&self) -> Vec<Metric> {
        self.inner.metrics()
    }

    /// The id under which the cluster receives this producer's metrics (KIP-714). Connects to a broker if none is
    /// connected.
    ///
    /// # Errors
    /// [`Kind::Config`] with `enable.metrics.push=false`; [`Kind::Timeout`]; UNSUPPORTED_VERSION if the brokers
    /// do not support it.
    pub async fn client_instance_id(&self, timeout: Duration) -> Result<Uuid> {
        self.client().instance_id(self.start().telemetry.as_ref(), timeout).await
    }

    /// The metrics of each topic that the producer has written to.
    #[must_use]
    pub fn topic_metrics(&self) -> Vec<(Arc<str>, Vec<Metric>)> {
        self.accumulator().metrics.topics()
    }

    fn accumulator(&self) -> &Accumulator {
        &self.inner.accumulator
    }

    /// The deadline of a call that starts now to wait for metadata and for buffer memory:
    /// `max.block.ms`.
    #[must_use]
    pub fn max_block_deadline(&self) -> Instant {
        deadline(self.client().config().max_block)
    }

    /// Sends a record without waiting, with memory that was reserved for it. `partition` overrides
    /// the partitioner.
    pub fn try_send(
        &self,
        writer: &TopicWriter,
        partition: Option<i32>,
        record: &Record<'_>,
        reservation: Option<BufferReservation>,
    ) -> Result<SendResult> {
        Ok(match Appender::single(self, writer, reservation).send(partition, record)? {
            AppendResult::BufferFull(bytes) => SendResult::BufferFull(bytes),
            AppendResult::Accepted(produce_result, index) => {
                SendResult::Accepted(Delivery { produce_result: Arc::clone(produce_result), index })
            }
        })
    }

    /// Returns an appender, which sends many records of one topic cheaper than one by one.
    /// `reservation` is for the first record.
    #[must_use]
    pub fn appender<'a>(
        &'a self,
        writer: &'a TopicWriter,
        reservation: Option<BufferReservation>,
    ) -> Appender<'a> {
        Appender::many(self, writer, reservation)
    }

    /// Sends a record, and waits for metadata and memory for at most `max.block.ms` in total.
    pub async fn send(&self, topic: &str, partition: Option<i32>, record: &Record<'_>) -> Result<Delivery> {
        let deadline = self.max_block_deadline();
        let writer = self.topic_writer_for(topic, partition, deadline).await?;
        let attempt = |reservation| self.try_send(&writer, partition, record, reservation);
        self.append_when_free(Some(deadline), attempt).await
    }

    /// Sends all buffered records without lingering, and waits until they are acknowledged or failed.
    pub async fn flush(&self, timeout: Duration) -> Result<()> {
        self.flush_by(deadline(timeout), "flush", timeout).await
    }

    /// As `flush`, for a call that waits for more: its error names the call and its timeout.
    pub async fn flush_by(&self, deadline: Instant, call: &str, timeout: Duration) -> Result<()> {
        let accumulator = &self.inner.accumulator;
        let _flushing = self.suspend_linger();
        let all = async {
            // Later records are not waited for: otherwise a busy producer could never flush.
            for produce_result in accumulator.incomplete() {
                // Errors are reported with each record's own result.
                produce_result.wait().await;
            }
        };
        let began = Instant::now();
        let flushed = timeout_at(deadline, all).await;
        accumulator.metrics.flush_time.record_nanos_since(began);
        match flushed {
            Ok(()) => Ok(()),
            Err(_) => Err(Error::new(
                Kind::Timeout,
                format!(
                    "{call}: {} bytes are still unacknowledged after {} ms",
                    self.buffered_bytes(),
                    timeout.as_millis()
                ),
            )),
        }
    }

    /// Logs failures of records whose results were not checked: once each, one line per partition and
    /// cause.
    pub fn warn_unobserved_failures(&self) {
        self.accumulator().failures.take_unreported(Duration::ZERO).iter().for_each(UnobservedFailure::warn);
    }

    /// The first failure of a record whose result was not checked, with the number of such records.
    #[must_use]
    pub fn unobserved_failure(&self) -> Option<UnobservedFailure> {
        self.accumulator().failures.first()
    }

    /// The result of a record that is rejected on its own, out of many. Its failure is unobserved
    /// until the application checks it.
    #[must_use]
    pub fn reject(&self, writer: &TopicWriter, error: Error) -> Arc<ProduceResult> {
        self.accumulator().record_refused(&error);
        let produce_result = ProduceResult::rejected(&writer.topic.name, error.clone());
        self.accumulator().failures.add(&produce_result, 0, 1, &error);
        produce_result
    }

    /// Disables lingering until the guard is dropped.
    #[must_use]
    pub fn suspend_linger(&self) -> impl Drop + Send + '_ {
        let flushing = self.inner.accumulator.begin_flush();
        self.inner.wake.notify_one();
        flushing
    }

    /// Rejects new records, waits for the accepted ones, and fails those that are unsent at the
    /// deadline.
    pub async fn close(&self, timeout: Duration) -> Result<()> {
        self.close_by(deadline(timeout), timeout).await
    }

    /// As `close`, for a call that waits for more: its error has the call's timeout.
    pub async fn close_by(&self, deadline: Instant, timeout: Duration) -> Result<()> {
        self.inner.accumulator.close();
        let aborted = self.abort_open_transaction(deadline).await;
        let flushed = self.flush_by(deadline, "close", timeout).await.and(aborted);
        self.stop();
        let sender_task = self.running.get().and_then(|running| running.sender_task.lock().take());
        if let Some(sender_task) = sender_task {
            // The sender was aborted, and its requests with it: the runtime's workers drop their
            // batches, which fails the records.
            let _ = sender_task.await;
            let dropped = async {
                for produce_result in self.inner.accumulator.incomplete() {
                    produce_result.wait().await;
                }
            };
            let _ = timeout_at(Instant::now() + ABORT_TIMEOUT, dropped).await;
        }
        if let Some(telemetry) = self.running.get().and_then(|running| running.telemetry.as_ref()) {
            telemetry.close(deadline).await;
        }
        flushed
    }

    fn stop(&self) {
        if let Some(transaction) = &self.inner.accumulator.transaction {
            transaction.stop();
        }
        if let Some(running) = self.running.get() {
            running.sender_abort.abort();
        }
        let stopped = self.inner.sending.lock().stop();
        drop(stopped);
        for batch in self.inner.accumulator.take_unsent() {
            self.inner.accumulator.fail_unsent(batch, closed().prefixed("not sent"));
        }
    }
}

/// The current time as a record timestamp: milliseconds since 1970.
#[must_use]
pub fn now_millis() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}

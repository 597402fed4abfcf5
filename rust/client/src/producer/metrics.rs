//! The producer's metrics, by the Java client's names, in total and per topic as in Java.
//!
//! Metrics are recorded per batch or request, never per record.
//!
//! Invariant: an accepted record that fails counts as one error, however many attempts it took; so
//! does a record that `send` rejects, as in Java.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::RwLock;
use tokio::time::{Duration, Instant};

use super::batch::Batch;
use super::buffer_memory::BufferMemory;
use crate::config::Config;
use crate::metrics::{Metric, Sensor};

/// Sensors for records, of one topic or in total.
#[derive(Debug)]
struct RecordSensors {
    /// Records of each batch sent.
    sent: Sensor,
    /// Bytes of each batch sent.
    bytes: Sensor,
    /// Compression ratio of each batch sent.
    compression: Sensor,
    retried: Sensor,
    failed: Sensor,
}

/// The sensors of one producer.
#[derive(Debug)]
pub(super) struct Metrics {
    total: RecordSensors,
    topics: RwLock<HashMap<Arc<str>, Arc<RecordSensors>>>,
    samples: usize,
    window: Duration,
    /// The number of requests in flight.
    pub(super) in_flight: AtomicUsize,
    /// Bytes of the largest record of each batch.
    largest_record: Sensor,
    records_per_request: Sensor,
    /// Milliseconds from a batch's first record to its request.
    queue_time: Sensor,
    /// Milliseconds from a request to its response.
    latency: Sensor,
    /// Milliseconds that brokers asked the producer to wait.
    pub(super) throttled: Sensor,
    pub(super) split: Sensor,
    /// Nanoseconds that senders waited for buffer memory, and the waits that timed out.
    pub(super) buffer_wait: Sensor,
    pub(super) buffer_exhausted: Sensor,
    /// Nanoseconds in `flush`.
    pub(super) flush_time: Sensor,
    /// Nanoseconds that senders waited for metadata.
    pub(super) metadata_wait: Sensor,
    /// Nanoseconds in the calls about transactions.
    pub(super) transactions: TransactionTimes,
}

/// Nanoseconds in each of the calls about transactions.
#[derive(Debug)]
pub(super) struct TransactionTimes {
    pub(super) init: Sensor,
    pub(super) begin: Sensor,
    pub(super) send_offsets: Sensor,
    pub(super) commit: Sensor,
    pub(super) abort: Sensor,
}

/// A duration in milliseconds.
fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

impl RecordSensors {
    fn new(samples: usize, window: Duration) -> Self {
        let sensor = || Sensor::new(samples, window);
        Self { sent: sensor(), bytes: sensor(), compression: sensor(), retried: sensor(), failed: sensor() }
    }
}

impl From<&Config> for Metrics {
    fn from(config: &Config) -> Self {
        let (samples, window) = (config.metrics_num_samples, config.metrics_sample_window);
        let sensor = || Sensor::new(samples, window);
        Self {
            total: RecordSensors::new(samples, window),
            topics: RwLock::default(),
            samples,
            window,
            in_flight: AtomicUsize::new(0),
            largest_record: sensor(),
            records_per_request: sensor(),
            queue_time: sensor(),
            latency: sensor(),
            throttled: sensor(),
            split: sensor(),
            buffer_wait: sensor(),
            buffer_exhausted: sensor(),
            flush_time: sensor(),
            metadata_wait: sensor(),
            transactions: TransactionTimes {
                init: sensor(),
                begin: sensor(),
                send_offsets: sensor(),
                commit: sensor(),
                abort: sensor(),
            },
        }
    }
}

impl Metrics {
    fn topic(&self, topic: &Arc<str>) -> Arc<RecordSensors> {
        if let Some(known) = self.topics.read().get(topic) {
            return Arc::clone(known);
        }
        let made = || Arc::new(RecordSensors::new(self.samples, self.window));
        Arc::clone(self.topics.write().entry(Arc::clone(topic)).or_insert_with(made))
    }

    /// A request with these batches is sent.
    pub(super) fn sent(&self, batches: &[Batch], now: Instant) {
        let mut records = 0;
        for batch in batches {
            let (count, bytes) = (batch.count() as f64, batch.size() as f64);
            let topic = self.topic(&batch.part.partition().0);
            for of in [&self.total, &*topic] {
                of.sent.record(count);
                of.bytes.record(bytes);
                of.compression.record(batch.compression_ratio());
            }
            self.largest_record.record(batch.largest_record as f64);
            self.queue_time.record(millis(now.saturating_duration_since(batch.created)));
            records += batch.count();
        }
        self.records_per_request.record(records as f64);
    }

    /// A response has arrived.
    pub(super) fn response_received(&self, after: Duration, throttle: Duration) {
        self.latency.record(millis(after));
        self.throttled.record(millis(throttle));
    }

    /// Records of a topic are sent again.
    pub(super) fn retried(&self, topic: &Arc<str>, count: usize) {
        self.total.retried.record(count as f64);
        self.topic(topic).retried.record(count as f64);
    }

    /// Records of a topic have failed.
    pub(super) fn failed(&self, topic: &Arc<str>, count: usize) {
        self.total.failed.record(count as f64);
        self.topic(topic).failed.record(count as f64);
    }

    /// The current values of all metrics.
    pub(super) fn snapshot(&self, memory: &BufferMemory) -> Vec<Metric> {
        let times = &self.transactions;
        let now = Instant::now();
        let read = |sensor: &Sensor| sensor.read(now);
        let RecordSensors { sent, bytes, compression, retried, failed } = &self.total;
        let (sent, bytes, compression) = (read(sent), read(bytes), read(compression));
        let (retried, failed, split) = (read(retried), read(failed), read(&self.split));
        let (largest_record, records_per_request) =
            (read(&self.largest_record), read(&self.records_per_request));
        let (queue_time, latency, throttled) =
            (read(&self.queue_time), read(&self.latency), read(&self.throttled));
        let (buffer_wait, buffer_exhausted) = (read(&self.buffer_wait), read(&self.buffer_exhausted));
        let (total, used) = (memory.limit() as f64, memory.used() as f64);
        let metric = |(name, value, doc)| Metric { name, value, doc };
        [
            ("record-send-rate", sent.sum_rate, "Records sent per second."),
            ("record-send-total", sent.sum, "Records sent."),
            ("record-retry-rate", retried.sum_rate, "Records sent again, per second."),
            ("record-retry-total", retried.sum, "Records sent again."),
            ("record-error-rate", failed.sum_rate, "Records that failed, per second."),
            ("record-error-total", failed.sum, "Records that failed."),
            (
                "record-size-avg",
                largest_record.average,
                "Average size of the largest record of a batch, in bytes.",
            ),
            ("record-size-max", largest_record.max, "Size of the largest record, in bytes."),
            (
                "records-per-request-avg",
                records_per_request.average,
                "Average number of records per request.",
            ),
            (
                "record-queue-time-avg",
                queue_time.average,
                "Average time of a batch in the buffer, in milliseconds.",
            ),
            (
                "record-queue-time-max",
                queue_time.max,
                "Longest time of a batch in the buffer, in milliseconds.",
            ),
            ("batch-size-avg", bytes.average, "Average size of a batch as sent, in bytes."),
            ("batch-size-max", bytes.max, "Size of the largest batch as sent, in bytes."),
            ("batch-split-rate", split.rate, "Batches split because they were too large, per second."),
            ("batch-split-total", split.count, "Batches split because they were too large."),
            (
                "compression-rate-avg",
                compression.average,
                "Average compression ratio: bytes of a batch divided by those before compression.",
            ),
            ("request-latency-avg", latency.average, "Average time until the response, in milliseconds."),
            ("request-latency-max", latency.max, "Longest time until the response, in milliseconds."),
            ("requests-in-flight", self.in_flight.load(Ordering::Relaxed) as f64, "Requests in flight."),
            (
                "produce-throttle-time-avg",
                throttled.average,
                "Average time that a broker asked to wait, in milliseconds.",
            ),
            (
                "produce-throttle-time-max",
                throttled.max,
                "Longest time that a broker asked to wait, in milliseconds.",
            ),
            ("waiting-threads", memory.waiters() as f64, "Senders that wait for buffer memory."),
            ("buffer-total-bytes", total, "Size of the buffer (buffer.memory), in bytes."),
            ("buffer-available-bytes", total - used, "Free bytes of the buffer."),
            (
                "bufferpool-wait-time-ns-total",
                buffer_wait.sum,
                "Nanoseconds that senders waited for buffer memory.",
            ),
            (
                "bufferpool-wait-ratio",
                buffer_wait.sum_rate / 1e9,
                "Fraction of the time that senders waited for buffer memory.",
            ),
            (
                "buffer-exhausted-rate",
                buffer_exhausted.rate,
                "Waits for buffer memory that timed out, per second.",
            ),
            ("buffer-exhausted-total", buffer_exhausted.count, "Waits for buffer memory that timed out."),
            ("flush-time-ns-total", read(&self.flush_time).sum, "Nanoseconds spent in flush."),
            (
                "metadata-wait-time-ns-total",
                read(&self.metadata_wait).sum,
                "Nanoseconds that senders waited for metadata.",
            ),
            ("txn-init-time-ns-total", read(&times.init).sum, "Nanoseconds spent in init_transactions."),
            ("txn-begin-time-ns-total", read(&times.begin).sum, "Nanoseconds spent in begin_transaction."),
            (
                "txn-send-offsets-time-ns-total",
                read(&times.send_offsets).sum,
                "Nanoseconds spent in send_offsets_to_transaction.",
            ),
            ("txn-commit-time-ns-total", read(&times.commit).sum, "Nanoseconds spent in commit_transaction."),
            ("txn-abort-time-ns-total", read(&times.abort).sum, "Nanoseconds spent in abort_transaction."),
        ]
        .map(metric)
        .to_vec()
    }

    /// The current values of each topic's metrics.
    pub(super) fn topics(&self) -> Vec<(Arc<str>, Vec<Metric>)> {
        let now = Instant::now();
        let topics = self.topics.read();
        let values = |of: &RecordSensors| {
            let (sent, bytes) = (of.sent.read(now), of.bytes.read(now));
            let (retried, failed) = (of.retried.read(now), of.failed.read(now));
            let metric = |(name, value, doc)| Metric { name, value, doc };
            [
                ("record-send-rate", sent.sum_rate, "Records sent per second."),
                ("record-send-total", sent.sum, "Records sent."),
                ("byte-rate", bytes.sum_rate, "Bytes of batches sent per second."),
                ("byte-total", bytes.sum, "Bytes of batches sent."),
                (
                    "compression-rate",
                    of.compression.read(now).average,
                    "Average compression ratio: bytes of a batch divided by those before compression.",
                ),
                ("record-retry-rate", retried.sum_rate, "Records sent again, per second."),
                ("record-retry-total", retried.sum, "Records sent again."),
                ("record-error-rate", failed.sum_rate, "Records that failed, per second."),
                ("record-error-total", failed.sum, "Records that failed."),
            ]
            .map(metric)
            .to_vec()
        };
        topics.iter().map(|(topic, of)| (Arc::clone(topic), values(of))).collect()
    }
}

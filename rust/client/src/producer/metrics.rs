//! What a producer counts and measures, by the Java client's names.
//!
//! Recording is by batch or by request, never by record. What Java has per topic is here per topic.
//!
//! Invariant: a record that was accepted and fails is counted once as an error, whatever was tried; a
//! record that `send` refuses is counted too, as with Java.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::RwLock;
use tokio::time::{Duration, Instant};

use super::batch::Batch;
use crate::config::Config;
use crate::metrics::{Metric, Sensor};
use crate::producer::buffer_memory::BufferMemory;

/// What is counted of records, of one topic or of all.
#[derive(Debug)]
struct RecordSensors {
    /// Batches that went into a request, by their records.
    sent: Sensor,
    /// The same, by their bytes.
    bytes: Sensor,
    /// The same, by their bytes divided by those before compression.
    compression: Sensor,
    retried: Sensor,
    failed: Sensor,
}

/// What one producer counts.
#[derive(Debug)]
pub(super) struct Metrics {
    total: RecordSensors,
    topics: RwLock<HashMap<Arc<str>, Arc<RecordSensors>>>,
    samples: usize,
    window: Duration,
    /// Requests on their way.
    pub(super) in_flight: AtomicUsize,
    /// Bytes of the largest record of each batch.
    largest_record: Sensor,
    records_per_request: Sensor,
    /// Milliseconds from a batch's first record to its request.
    queue_time: Sensor,
    /// Milliseconds from a request to its answer.
    latency: Sensor,
    /// Milliseconds for which brokers asked the producer to wait.
    pub(super) throttled: Sensor,
    pub(super) split: Sensor,
    /// Nanoseconds that senders have buffer_wait for room, and how often in vain.
    pub(super) buffer_wait: Sensor,
    pub(super) buffer_exhausted: Sensor,
    /// Nanoseconds in `flush`.
    pub(super) flush_time: Sensor,
    /// Nanoseconds that senders have buffer_wait for metadata.
    pub(super) metadata_wait: Sensor,
}

/// A duration as the sensors of milliseconds have it.
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

    /// A request with these batches goes out.
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

    /// A request was answered.
    pub(super) fn response_received(&self, after: Duration, throttle: Duration) {
        self.latency.record(millis(after));
        self.throttled.record(millis(throttle));
    }

    /// RecordSensors of a topic go again.
    pub(super) fn retried(&self, topic: &Arc<str>, count: usize) {
        self.total.retried.record(count as f64);
        self.topic(topic).retried.record(count as f64);
    }

    /// RecordSensors of a topic have failed.
    pub(super) fn failed(&self, topic: &Arc<str>, count: usize) {
        self.total.failed.record(count as f64);
        self.topic(topic).failed.record(count as f64);
    }

    /// All values now.
    pub(super) fn snapshot(&self, memory: &BufferMemory) -> Vec<Metric> {
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
            ("record-send-rate", sent.sum_rate, "RecordSensors sent per second."),
            ("record-send-total", sent.sum, "RecordSensors sent."),
            ("record-retry-rate", retried.sum_rate, "RecordSensors sent again per second."),
            ("record-retry-total", retried.sum, "RecordSensors sent again."),
            ("record-error-rate", failed.sum_rate, "RecordSensors that failed, per second."),
            ("record-error-total", failed.sum, "RecordSensors that failed."),
            ("record-size-avg", largest_record.average, "Bytes of a batch's largest record, on average."),
            ("record-size-max", largest_record.max, "Bytes of the largest record."),
            (
                "records-per-request-avg",
                records_per_request.average,
                "RecordSensors of a request, on average.",
            ),
            (
                "record-queue-time-avg",
                queue_time.average,
                "Milliseconds of a batch in the buffer, on average.",
            ),
            ("record-queue-time-max", queue_time.max, "Milliseconds of a batch in the buffer, at most."),
            ("batch-size-avg", bytes.average, "Bytes of a batch in its request, on average."),
            ("batch-size-max", bytes.max, "Bytes of the largest batch in its request."),
            ("batch-split-rate", split.rate, "Batches split, as they were too large, per second."),
            ("batch-split-total", split.count, "Batches split, as they were too large."),
            (
                "compression-rate-avg",
                compression.average,
                "Bytes of a batch divided by those before compression, on average.",
            ),
            ("request-latency-avg", latency.average, "Milliseconds until an answer came, on average."),
            ("request-latency-max", latency.max, "Milliseconds until an answer came, at most."),
            ("requests-in-flight", self.in_flight.load(Ordering::Relaxed) as f64, "Requests on their way."),
            (
                "produce-throttle-time-avg",
                throttled.average,
                "Milliseconds for which a broker asked to wait, on average.",
            ),
            (
                "produce-throttle-time-max",
                throttled.max,
                "Milliseconds for which a broker asked to wait, at most.",
            ),
            ("waiting-threads", memory.waiters() as f64, "Senders that wait for room in the buffer."),
            ("buffer-total-bytes", total, "Bytes of the buffer: buffer.memory."),
            ("buffer-available-bytes", total - used, "Bytes of the buffer that are free."),
            (
                "bufferpool-wait-time-ns-total",
                buffer_wait.sum,
                "Nanoseconds for which senders buffer_wait for room in the buffer.",
            ),
            (
                "bufferpool-wait-ratio",
                buffer_wait.sum_rate / 1e9,
                "The part of the time in which a sender buffer_wait for room in the buffer.",
            ),
            (
                "buffer-buffer_exhausted-rate",
                buffer_exhausted.rate,
                "Waits for room that were in vain, per second.",
            ),
            ("buffer-buffer_exhausted-total", buffer_exhausted.count, "Waits for room that were in vain."),
            ("flush-time-ns-total", read(&self.flush_time).sum, "Nanoseconds in flush."),
            (
                "metadata-wait-time-ns-total",
                read(&self.metadata_wait).sum,
                "Nanoseconds for which senders buffer_wait for metadata.",
            ),
        ]
        .map(metric)
        .to_vec()
    }

    /// All values of each topic that records were sent to.
    pub(super) fn topics(&self) -> Vec<(Arc<str>, Vec<Metric>)> {
        let now = Instant::now();
        let topics = self.topics.read();
        let values = |of: &RecordSensors| {
            let (sent, bytes) = (of.sent.read(now), of.bytes.read(now));
            let (retried, failed) = (of.retried.read(now), of.failed.read(now));
            let metric = |(name, value, doc)| Metric { name, value, doc };
            [
                ("record-send-rate", sent.sum_rate, "RecordSensors sent per second."),
                ("record-send-total", sent.sum, "RecordSensors sent."),
                ("byte-rate", bytes.sum_rate, "Bytes of batches sent per second."),
                ("byte-total", bytes.sum, "Bytes of batches sent."),
                (
                    "compression-rate",
                    of.compression.read(now).average,
                    "Bytes of a batch divided by those before compression, on average.",
                ),
                ("record-retry-rate", retried.sum_rate, "RecordSensors sent again per second."),
                ("record-retry-total", retried.sum, "RecordSensors sent again."),
                ("record-error-rate", failed.sum_rate, "RecordSensors that failed, per second."),
                ("record-error-total", failed.sum, "RecordSensors that failed."),
            ]
            .map(metric)
            .to_vec()
        };
        topics.iter().map(|(topic, of)| (Arc::clone(topic), values(of))).collect()
    }
}

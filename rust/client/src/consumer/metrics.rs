//! The measurements of a consumer for pushed metrics, by the Java client's names.
//!
//! Recorded per request or poll, never per record.

use tokio::time::{Duration, Instant};

use crate::config::Config;
use crate::metrics::{Metric, Sensor};

/// The sensors of one consumer.
#[derive(Debug)]
pub(super) struct Metrics {
    /// Milliseconds of a fetch, with the time that the broker waits for records.
    pub(super) fetch_latency: Sensor,
    /// Milliseconds of a successful commit.
    pub(super) commit_latency: Sensor,
    /// The fraction of the time from the end of a poll to the end of the next that the application waited in it.
    poll_idle_ratio: Sensor,
}

impl From<&Config> for Metrics {
    fn from(config: &Config) -> Self {
        let sensor = || Sensor::new(config.metrics_num_samples, config.metrics_sample_window);
        Self { fetch_latency: sensor(), commit_latency: sensor(), poll_idle_ratio: sensor() }
    }
}

/// A duration in milliseconds.
pub(super) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

impl Metrics {
    /// Records a poll, given the end of the one before it.
    pub(super) fn record_poll(&self, before: Instant, began: Instant, ended: Instant) {
        let all = ended.saturating_duration_since(before);
        if !all.is_zero() {
            let waited = ended.saturating_duration_since(began);
            self.poll_idle_ratio.record(waited.as_secs_f64() / all.as_secs_f64());
        }
    }

    /// The metrics of polls.
    pub(super) fn polls(&self) -> [Metric; 1] {
        let value = self.poll_idle_ratio.read(Instant::now()).average;
        let doc =
            "Average fraction of the time that the application waits in polls, and does not process records.";
        [Metric { name: "poll-idle-ratio-avg", value, doc }]
    }

    /// The metrics of the group's coordinator.
    pub(super) fn coordinator(&self, assigned: usize) -> [Metric; 3] {
        let commit = self.commit_latency.read(Instant::now());
        [
            ("assigned-partitions", assigned as f64, "Assigned partitions."),
            ("commit-latency-avg", commit.average, "Average time of a commit, in milliseconds."),
            ("commit-latency-max", commit.max, "Longest time of a commit, in milliseconds."),
        ]
        .map(|(name, value, doc)| Metric { name, value, doc })
    }

    /// The metrics of fetches. `lag` is that of the partition with the most unread records.
    pub(super) fn fetch(&self, lag: Option<i64>) -> [Metric; 3] {
        let fetch = self.fetch_latency.read(Instant::now());
        let lag = lag.map_or(f64::NAN, |lag| lag as f64);
        [
            ("fetch-latency-avg", fetch.average, "Average time of a fetch, in milliseconds."),
            ("fetch-latency-max", fetch.max, "Longest time of a fetch, in milliseconds."),
            ("records-lag-max", lag, "Unread records of the partition with the most."),
        ]
        .map(|(name, value, doc)| Metric { name, value, doc })
    }
}

//! The client's metrics, under the Java client's names.
//!
//! As in Java, rates, averages and maxima cover a sliding window of `metrics.num.samples` samples of
//! `metrics.sample.window.ms` each. Recording takes a short lock; no task is needed.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::{Duration, Instant};

use crate::config::Config;
use crate::request_statistics::RequestCounters;

/// A metric and its value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Metric {
    /// The Java client's name.
    pub name: &'static str,
    /// The value; NaN before the first measurement.
    pub value: f64,
    /// Its meaning and unit.
    pub doc: &'static str,
}

/// The sensors of one client.
#[derive(Debug)]
pub(crate) struct Metrics {
    pub(crate) opened: Sensor,
    pub(crate) closed: Sensor,
    pub(crate) authenticated: Sensor,
    pub(crate) authentication_failed: Sensor,
    pub(crate) reauthenticated: Sensor,
    pub(crate) reauthentication_failed: Sensor,
    /// Requests and their size in bytes.
    pub(crate) sent: Sensor,
    /// Responses and their size in bytes.
    pub(crate) received: Sensor,
    /// Milliseconds from the last byte of a request to its response.
    pub(crate) latency: Sensor,
    pub(crate) requests: RequestCounters,
    /// The latency for each broker; `None` if no metrics are pushed.
    nodes: Option<Mutex<BTreeMap<i32, Arc<Sensor>>>>,
    samples: usize,
    window: Duration,
}

impl From<&Config> for Metrics {
    fn from(config: &Config) -> Self {
        let sensor = || Sensor::new(config.metrics_num_samples, config.metrics_sample_window);
        Self {
            opened: sensor(),
            closed: sensor(),
            authenticated: sensor(),
            authentication_failed: sensor(),
            reauthenticated: sensor(),
            reauthentication_failed: sensor(),
            sent: sensor(),
            received: sensor(),
            latency: sensor(),
            requests: RequestCounters::default(),
            nodes: config.enable_metrics_push.then(Mutex::default),
            samples: config.metrics_num_samples,
            window: config.metrics_sample_window,
        }
    }
}

impl Metrics {
    /// The latencies of a broker; `None` if no metrics are pushed.
    pub(crate) fn node(&self, broker: i32) -> Option<Arc<Sensor>> {
        let mut nodes = self.nodes.as_ref()?.lock();
        let made = || Arc::new(Sensor::new(self.samples, self.window));
        Some(Arc::clone(nodes.entry(broker).or_insert_with(made)))
    }

    /// The average and the maximum latency of each broker, in milliseconds; NaN without requests.
    pub(crate) fn node_latencies(&self) -> Vec<(i32, f64, f64)> {
        let now = Instant::now();
        let Some(nodes) = &self.nodes else { return Vec::new() };
        let latencies = |(broker, sensor): (&i32, &Arc<Sensor>)| {
            let reading = sensor.read(now);
            (*broker, reading.average, reading.max)
        };
        nodes.lock().iter().map(latencies).collect()
    }

    /// The values of all metrics. `age` is the age of the metadata.
    pub(crate) fn snapshot(&self, age: Option<Duration>) -> Vec<Metric> {
        let now = Instant::now();
        let read = |sensor: &Sensor| sensor.read(now);
        let (opened, closed) = (read(&self.opened), read(&self.closed));
        let (sent, received, latency) = (read(&self.sent), read(&self.received), read(&self.latency));
        let authenticated = read(&self.authenticated);
        let failed = read(&self.authentication_failed);
        let reauthenticated = read(&self.reauthenticated);
        let reauthentication_failed = read(&self.reauthentication_failed);
        let age = age.map_or(f64::NAN, |age| age.as_secs_f64());
        let metric = |(name, value, doc)| Metric { name, value, doc };
        [
            ("connection-count", opened.count - closed.count, "Open connections."),
            ("connection-creation-rate", opened.rate, "Connections opened per second."),
            ("connection-creation-total", opened.count, "Connections opened."),
            ("connection-close-rate", closed.rate, "Connections closed per second."),
            ("connection-close-total", closed.count, "Connections closed."),
            (
                "successful-authentication-rate",
                authenticated.rate,
                "Successful authentications by TLS or SASL, per second.",
            ),
            (
                "successful-authentication-total",
                authenticated.count,
                "Successful authentications by TLS or SASL.",
            ),
            ("failed-authentication-rate", failed.rate, "Failed authentications by TLS or SASL, per second."),
            ("failed-authentication-total", failed.count, "Failed authentications by TLS or SASL."),
            (
                "successful-reauthentication-rate",
                reauthenticated.rate,
                "Successful reauthentications per second.",
            ),
            ("successful-reauthentication-total", reauthenticated.count, "Successful reauthentications."),
            (
                "failed-reauthentication-rate",
                reauthentication_failed.rate,
                "Failed reauthentications per second.",
            ),
            ("failed-reauthentication-total", reauthentication_failed.count, "Failed reauthentications."),
            ("network-io-rate", sent.rate + received.rate, "Requests and responses per second."),
            ("network-io-total", sent.count + received.count, "Requests and responses."),
            ("request-rate", sent.rate, "Requests per second."),
            ("request-total", sent.count, "Requests."),
            ("request-size-avg", sent.average, "Average size of a request in bytes."),
            ("request-size-max", sent.max, "Maximum size of a request in bytes."),
            ("request-latency-avg", latency.average, "Average time until a response, in milliseconds."),
            ("request-latency-max", latency.max, "Maximum time until a response, in milliseconds."),
            ("response-rate", received.rate, "Responses per second."),
            ("response-total", received.count, "Responses."),
            ("outgoing-byte-rate", sent.sum_rate, "Bytes sent per second."),
            ("outgoing-byte-total", sent.sum, "Bytes sent."),
            ("incoming-byte-rate", received.sum_rate, "Bytes received per second."),
            ("incoming-byte-total", received.sum, "Bytes received."),
            ("metadata-age", age, "Seconds since the metadata was last refreshed."),
        ]
        .map(metric)
        .to_vec()
    }
}

/// The values of a sensor. The totals cover its whole life, the other values the window.
pub(crate) struct Reading {
    pub(crate) count: f64,
    pub(crate) sum: f64,
    pub(crate) rate: f64,
    pub(crate) sum_rate: f64,
    pub(crate) average: f64,
    pub(crate) max: f64,
}

/// Counts events and aggregates their sizes.
#[derive(Debug)]
pub(crate) struct Sensor {
    samples: usize,
    window: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    total: Sample,
    recent: VecDeque<(Instant, Sample)>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sample {
    count: u64,
    sum: f64,
    max: f64,
}

impl Sample {
    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }
}

impl Sensor {
    pub(crate) fn new(samples: usize, window: Duration) -> Self {
        // Prevents a division by zero, whatever the configuration allows.
        Self {
            samples: samples.max(1),
            window: window.max(Duration::from_millis(1)),
            state: Mutex::default(),
        }
    }

    /// Records an event without a size.
    pub(crate) fn count(&self) {
        self.record(0.0);
    }

    /// Records an event of this size.
    pub(crate) fn record(&self, size: f64) {
        self.record_at(size, Instant::now());
    }

    /// Records the nanoseconds since a call began.
    pub(crate) fn record_nanos_since(&self, began: Instant) {
        self.record(began.elapsed().as_nanos() as f64);
    }

    fn record_at(&self, size: f64, now: Instant) {
        let sample = Sample { count: 1, sum: size, max: size };
        let mut state = self.state.lock();
        state.total.add(sample);
        match state.recent.back_mut() {
            Some((started, last)) if now.saturating_duration_since(*started) < self.window => {
                last.add(sample)
            }
            _ => {
                state.recent.push_back((now, sample));
                if state.recent.len() > self.samples {
                    state.recent.pop_front();
                }
            }
        }
    }

    pub(crate) fn read(&self, now: Instant) -> Reading {
        let state = self.state.lock();
        let span = self.window.saturating_mul(u32::try_from(self.samples).unwrap_or(u32::MAX));
        let age = |started: Instant| now.saturating_duration_since(started);
        let recent = state.recent.iter().filter(|(started, _)| age(*started) < span);
        let mut within = Sample::default();
        recent.clone().for_each(|(_, sample)| within.add(*sample));
        // A window that has just begun counts as if the windows before it had been empty.
        let oldest = recent.clone().map(|(started, _)| age(*started)).max().unwrap_or_default();
        let least = span.saturating_sub(self.window);
        let full = self.window.saturating_mul((oldest.as_nanos() / self.window.as_nanos()) as u32);
        let seconds = (oldest + least.saturating_sub(full)).max(Duration::from_millis(1)).as_secs_f64();
        let measured = |value: f64| if within.count == 0 { f64::NAN } else { value };
        Reading {
            count: state.total.count as f64,
            sum: state.total.sum,
            rate: within.count as f64 / seconds,
            sum_rate: within.sum / seconds,
            average: measured(within.sum / within.count as f64),
            max: measured(within.max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration::from_secs(30);

    #[test]
    fn rates_are_over_the_window_and_totals_over_all() {
        let (sensor, start) = (Sensor::new(2, WINDOW), Instant::now());
        assert!(sensor.read(start).average.is_nan());
        for second in 0..90 {
            sensor.record_at(10.0, start + Duration::from_secs(second));
        }
        sensor.record_at(70.0, start + Duration::from_secs(90));
        let now = start + Duration::from_secs(90);
        let reading = sensor.read(now);
        assert_eq!((reading.count, reading.sum), (91.0, 970.0));
        // The sample that began 30 s ago, and the one that begins now.
        assert!((reading.rate - 31.0 / 30.0).abs() < 1e-9, "{}", reading.rate);
        assert!((reading.average - 370.0 / 31.0).abs() < 1e-9);
        assert_eq!(reading.max, 70.0);
        let later = sensor.read(start + Duration::from_secs(200));
        assert_eq!((later.rate, later.count), (0.0, 91.0));
        assert!(later.max.is_nan());
    }

    #[test]
    fn what_has_only_begun_is_no_burst() {
        let (sensor, start) = (Sensor::new(2, WINDOW), Instant::now());
        sensor.record_at(1.0, start);
        let rate = sensor.read(start + Duration::from_secs(1)).rate;
        assert!((rate - 1.0 / 31.0).abs() < 1e-9, "{rate}");
    }
}

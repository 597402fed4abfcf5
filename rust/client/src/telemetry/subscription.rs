//! A subscription: the metrics that the cluster requests from this client, and how it wants them.
//!
//! Invariant: values from the broker are bounded before they are used.

use ottla_protocol::messages::get_telemetry_subscriptions::GetTelemetrySubscriptionsResponse;
use ottla_protocol::records::Compression;
use tokio::time::Duration;

/// The interval without a valid one from a broker, as in Java.
pub(super) const DEFAULT_INTERVAL: Duration = Duration::from_secs(300);
/// The shortest interval that brokers allow.
const MIN_INTERVAL: Duration = Duration::from_millis(100);
/// What a broker sends for all metrics.
const ALL: [&str; 2] = ["*", ""];

/// What a broker requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Subscription {
    pub(super) id: i32,
    pub(super) interval: Duration,
    /// The most bytes of a push, compressed; 0 for no limit.
    pub(super) max_bytes: usize,
    /// Whether totals cover the time since the last push only.
    pub(super) delta: bool,
    pub(super) compression: Compression,
    prefixes: Vec<String>,
}

impl Subscription {
    pub(super) fn new(response: &GetTelemetrySubscriptionsResponse) -> Self {
        let accepted = |id: &i8| u8::try_from(*id).ok().and_then(Compression::from_id);
        Self {
            id: response.subscription_id,
            interval: interval(response.push_interval_ms),
            max_bytes: usize::try_from(response.telemetry_max_bytes).unwrap_or(0),
            delta: response.delta_temporality,
            // The broker lists its preferred codec first.
            compression: response.accepted_compression_types.iter().find_map(accepted).unwrap_or_default(),
            prefixes: response.requested_metrics.clone(),
        }
    }

    /// Whether no metrics are requested.
    pub(super) fn is_empty(&self) -> bool {
        self.prefixes.is_empty()
    }

    /// Whether a metric is requested: by a prefix of its name.
    pub(super) fn matches(&self, name: &str) -> bool {
        let matches = |prefix: &String| ALL.contains(&prefix.as_str()) || name.starts_with(prefix.as_str());
        self.prefixes.iter().any(matches)
    }
}

fn interval(millis: i32) -> Duration {
    match u64::try_from(millis) {
        Ok(millis @ 1..) => Duration::from_millis(millis).max(MIN_INTERVAL),
        _ => DEFAULT_INTERVAL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subscription(requested: &[&str]) -> Subscription {
        Subscription::new(&GetTelemetrySubscriptionsResponse {
            requested_metrics: requested.iter().map(|prefix| (*prefix).to_owned()).collect(),
            accepted_compression_types: vec![9, -1, 3, 1],
            telemetry_max_bytes: -1,
            ..GetTelemetrySubscriptionsResponse::default()
        })
    }

    #[test]
    fn prefixes_select_metrics_and_a_star_or_an_empty_prefix_selects_all() {
        let name = "org.apache.kafka.producer.record.queue.time.avg";
        assert!(subscription(&[]).is_empty() && !subscription(&[]).matches(name));
        for all in ["*", ""] {
            assert!(subscription(&[all]).matches(name), "{all:?}");
        }
        assert!(subscription(&["x", "org.apache.kafka.producer.record"]).matches(name));
        assert!(!subscription(&["org.apache.kafka.consumer"]).matches(name));
    }

    #[test]
    fn values_of_a_broker_are_bounded() {
        let of_broker = subscription(&["*"]);
        assert_eq!((of_broker.compression, of_broker.max_bytes), (Compression::Lz4, 0));
        assert_eq!(of_broker.interval, DEFAULT_INTERVAL);
        assert_eq!((interval(1), interval(-5)), (MIN_INTERVAL, DEFAULT_INTERVAL));
    }
}

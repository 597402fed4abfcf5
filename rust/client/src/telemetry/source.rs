//! What can be pushed: the metrics of an instance under the names of KIP-714, and its attributes.
//!
//! The names are those of Java's client: `org.apache.kafka.`, the group of the metric, and its name with dots.

use std::fmt::Debug;

use crate::metrics::Metric;

/// The value of a metric.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Measurement {
    pub(crate) name: String,
    pub(crate) value: f64,
    /// Whether the value is a total, which never shrinks.
    pub(crate) is_total: bool,
    pub(crate) attributes: Vec<(&'static str, String)>,
}

/// An instance whose metrics are pushed.
pub(crate) trait Source: Debug + Send + Sync {
    /// The current values, the most important ones first: a push that is too large drops the last ones.
    fn measure(&self) -> Vec<Measurement>;

    /// The attributes of the instance.
    fn attributes(&self) -> Vec<(&'static str, String)>;
}

/// Names metrics of one group of Java's client (`producer`, `consumer.coordinator`). Values that were not measured
/// yet are left out.
pub(crate) fn named(group: &str, metrics: impl IntoIterator<Item = Metric>) -> Vec<Measurement> {
    let measured = metrics.into_iter().filter(|metric| metric.value.is_finite());
    let named = measured.map(|metric| Measurement {
        name: format!("org.apache.kafka.{group}.{}", metric.name.replace('-', ".")),
        value: metric.value,
        is_total: metric.name.ends_with("-total"),
        attributes: Vec::new(),
    });
    named.collect()
}

/// The latencies of each broker, in milliseconds.
pub(crate) fn node_latencies(group: &str, latencies: &[(i32, f64, f64)]) -> Vec<Measurement> {
    let of = |suffix: &str, value: fn(&(i32, f64, f64)) -> f64| {
        let name = format!("org.apache.kafka.{group}.node.request.latency.{suffix}");
        let measured = latencies.iter().filter(move |latency| value(latency).is_finite());
        let measurement = move |latency: &(i32, f64, f64)| Measurement {
            name: name.clone(),
            value: value(latency),
            is_total: false,
            attributes: vec![("node_id", format!("node-{}", latency.0))],
        };
        measured.map(measurement).collect::<Vec<_>>()
    };
    let mut all = of("avg", |latency| latency.1);
    all.extend(of("max", |latency| latency.2));
    all
}

/// The attributes that are set, out of `all`.
pub(crate) fn attributes<const N: usize>(all: [(&'static str, &str); N]) -> Vec<(&'static str, String)> {
    let set = all.into_iter().filter(|(_, value)| !value.is_empty());
    set.map(|(key, value)| (key, value.to_owned())).collect()
}

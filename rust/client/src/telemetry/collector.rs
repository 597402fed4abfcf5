//! The values of a push: measurements that the subscription selects, as totals since the start or as deltas.
//!
//! Invariant: a delta begins where the last push ended that a broker has taken. What was not pushed, or was not
//! taken, is part of the next delta.

use std::collections::HashMap;

use ottla_protocol::otlp::{AggregationTemporality, Data, Gauge, KeyValue, Metric, NumberDataPoint, Sum};

use super::source::Measurement;
use super::subscription::Subscription;

/// Identifies the values of one metric: its name and attributes.
type Series = (String, Vec<(&'static str, String)>);

/// The value of a series, and the total that the next delta starts from if it is taken.
#[derive(Debug, Clone)]
pub(super) struct Collected {
    series: Series,
    pub(super) metric: Metric,
    total: Option<f64>,
}

/// The metrics that brokers have accepted.
#[derive(Debug)]
pub(super) struct Collector {
    started: u64,
    /// The last total and its time, in nanoseconds since 1970.
    taken: HashMap<Series, (f64, u64)>,
}

impl Collector {
    /// Starts at a time, in nanoseconds since 1970.
    pub(super) fn new(started: u64) -> Self {
        Self { started, taken: HashMap::new() }
    }

    /// The values to push at a time, in nanoseconds since 1970.
    pub(super) fn collect(
        &self,
        measurements: Vec<Measurement>,
        subscription: &Subscription,
        now: u64,
    ) -> Vec<Collected> {
        let selected = measurements.into_iter().filter(|measured| subscription.matches(&measured.name));
        selected.map(|measured| self.value(measured, subscription.delta, now)).collect()
    }

    fn value(&self, measured: Measurement, delta: bool, now: u64) -> Collected {
        let Measurement { name, value, is_total, attributes } = measured;
        let attribute = |(key, value): &(&'static str, String)| KeyValue::new(*key, value.as_str());
        let mut point = NumberDataPoint {
            attributes: attributes.iter().map(attribute).collect(),
            start_time_unix_nano: 0,
            time_unix_nano: now,
            value: None,
        };
        let series = (name, attributes);
        let mut number = value;
        if is_total {
            point.start_time_unix_nano = self.started;
            if delta && let Some((before, at)) = self.taken.get(&series) {
                (number, point.start_time_unix_nano) = (value - before, *at);
            }
        }
        point.value = Some(ottla_protocol::otlp::Number::AsDouble(number));
        let data_points = vec![point];
        let temporality =
            if delta { AggregationTemporality::Delta } else { AggregationTemporality::Cumulative };
        let data = match is_total {
            true => Data::Sum(Sum {
                data_points,
                aggregation_temporality: temporality.into(),
                is_monotonic: true,
            }),
            false => Data::Gauge(Gauge { data_points }),
        };
        let metric = Metric { name: series.0.clone(), data: Some(data) };
        Collected { series, metric, total: is_total.then_some(value) }
    }

    /// Records that a broker has taken these values, which were collected at `at`.
    pub(super) fn taken(&mut self, values: Vec<Collected>, at: u64) {
        for Collected { series, total, .. } in values {
            if let Some(total) = total {
                self.taken.insert(series, (total, at));
            }
        }
    }
}

/// One metric of each name, with the values of all its series.
pub(super) fn merge<'a>(values: impl IntoIterator<Item = &'a Collected>) -> Vec<Metric> {
    let mut merged: Vec<Metric> = Vec::new();
    for Collected { metric, .. } in values {
        match (merged.last_mut(), &metric.data) {
            (Some(last), Some(data)) if last.name == metric.name => match (&mut last.data, data) {
                (Some(Data::Gauge(last)), Data::Gauge(next)) => {
                    last.data_points.extend_from_slice(&next.data_points);
                }
                (Some(Data::Sum(last)), Data::Sum(next)) => {
                    last.data_points.extend_from_slice(&next.data_points);
                }
                _ => merged.push(metric.clone()),
            },
            _ => merged.push(metric.clone()),
        }
    }
    merged
}

#[cfg(test)]
mod tests;

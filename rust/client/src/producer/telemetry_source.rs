//! The metrics that a producer pushes: its own and those of its client's connections, in the group of Java's producer.

use super::inner::ProducerInner;
use crate::metrics::Metric;
use crate::telemetry::source::{self, Measurement, Source};

impl ProducerInner {
    /// The metrics of the producer, and the metrics of its client that the producer lacks.
    pub(super) fn metrics(&self) -> Vec<Metric> {
        let own = self.accumulator.metrics.snapshot(&self.accumulator.memory);
        let mut all = self.client.metrics();
        all.retain(|metric| own.iter().all(|own| own.name != metric.name));
        all.extend(own);
        all
    }
}

impl Source for ProducerInner {
    fn measure(&self) -> Vec<Measurement> {
        let latencies = self.client.inner.settings.metrics.node_latencies();
        let mut all = source::named("producer", self.metrics());
        all.extend(source::node_latencies("producer", &latencies));
        all
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        let transactional_id = self.accumulator.transaction.as_ref().map_or("", |it| it.transactional_id());
        let client_rack = self.client.config().client_rack.as_str();
        source::attributes([("client_rack", client_rack), ("transactional_id", transactional_id)])
    }
}

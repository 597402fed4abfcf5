//! What tests do with client telemetry on a `MockCluster`.

use std::collections::BTreeMap;

use ottla_mock::PushedMetrics;
use pyo3::prelude::*;

use super::{MockCluster, to_config_error};

/// Name, attributes, value.
type MetricTuple = (String, BTreeMap<String, String>, f64);
/// Client instance id, client id, broker, whether it is the last, codec, attributes, metrics.
type PushTuple = (String, String, i32, bool, &'static str, BTreeMap<String, String>, Vec<MetricTuple>);

fn owned(attributes: Vec<(&str, &str)>) -> BTreeMap<String, String> {
    attributes.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

fn plain(push: &PushedMetrics) -> PushTuple {
    let metrics = push.values().map(|(name, attributes, value)| (name.to_owned(), owned(attributes), value));
    (
        push.client_instance_id.to_string(),
        push.client_id.clone(),
        push.broker,
        push.terminating,
        push.compression.name(),
        owned(push.attributes()),
        metrics.collect(),
    )
}

#[pymethods]
impl MockCluster {
    /// Set configurations of a client metrics subscription.
    fn subscribe_to_metrics(
        &self,
        py: Python<'_>,
        name: &str,
        configs: BTreeMap<String, String>,
    ) -> PyResult<()> {
        let pairs: Vec<_> = configs.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        self.with(|core| core.subscribe_to_metrics(name, &pairs).map_err(|error| to_config_error(py, &error)))
    }

    /// Return the pushed metrics as plain values.
    fn pushed_metrics(&self) -> PyResult<Vec<PushTuple>> {
        self.with(|core| Ok(core.pushed_metrics().iter().map(plain).collect()))
    }
}

//! Metrics as dicts: `metrics()` of every client, producer and consumer, and a producer's `topic_metrics()`.

use ottla_client::metrics::Metric;
use ottla_client::producer::Producer;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Returns metrics by the Java client's names.
pub(crate) fn metrics(py: Python<'_>, all: Vec<Metric>) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    for metric in all {
        dict.set_item(metric.name, metric.value)?;
    }
    Ok(dict)
}

/// Returns a producer's metrics by topic.
pub(crate) fn topic_metrics<'py>(py: Python<'py>, core: &Producer) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (topic, all) in core.topic_metrics() {
        dict.set_item(&*topic, metrics(py, all)?)?;
    }
    Ok(dict)
}

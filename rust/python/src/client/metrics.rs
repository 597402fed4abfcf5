//! Metrics as dicts, for `metrics()` of every class and `topic_metrics()` of producers.

use ottla_client::metrics::Metric;
use ottla_client::producer::Producer;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// What was counted and measured, by name.
pub(crate) fn metrics(py: Python<'_>, all: Vec<Metric>) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    for metric in all {
        dict.set_item(metric.name, metric.value)?;
    }
    Ok(dict)
}

/// The same of a producer's topics.
pub(crate) fn topic_metrics<'py>(py: Python<'py>, core: &Producer) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (topic, all) in core.topic_metrics() {
        dict.set_item(&*topic, metrics(py, all)?)?;
    }
    Ok(dict)
}

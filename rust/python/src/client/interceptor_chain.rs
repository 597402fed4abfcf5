//! The interceptors of a producer or consumer as one object, whose class is in
//! `python/ottla/interceptors.py`.

use ottla_client::config::Config;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Creates a chain of the given class; `None` without interceptors.
pub(crate) fn new(interceptors: Option<&Bound<'_, PyAny>>, class: &str) -> PyResult<Option<Py<PyAny>>> {
    let Some(interceptors) = interceptors.filter(|given| !given.is_none()) else { return Ok(None) };
    let chain = interceptors.py().import("ottla.interceptors")?.getattr(class)?.call1((interceptors,))?;
    Ok(Some(chain.unbind()))
}

/// Passes the interceptors the part of the configuration that identifies the client.
pub(crate) fn configure(py: Python<'_>, chain: &Py<PyAny>, config: &Config) -> PyResult<()> {
    let configs = PyDict::new(py);
    configs.set_item("bootstrap.servers", config.bootstrap_servers.join(","))?;
    configs.set_item("client.id", &config.client_id)?;
    if !config.group_id.is_empty() {
        configs.set_item("group.id", &config.group_id)?;
    }
    chain.call_method1(py, "configure", (configs,)).map(drop)
}

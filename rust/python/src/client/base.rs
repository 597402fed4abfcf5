//! `ClientBase`: the methods that do not wait, shared by `Client` and `AsyncClient`.

use std::time::Duration;

use ottla_client::Client as Core;
use pyo3::PyVisit;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::client::connections::{Connections, connections};
use crate::client::docs::docs;
use crate::client::metrics::metrics;
use crate::client::request_statistics::{RequestStatistics, request_statistics};
use crate::client::sasl_credentials::set_sasl_credentials;
use crate::convert::errors;
use crate::convert::number;
use crate::convert::renamed;
use crate::garbage::Visited;
use crate::runtime::{ProcessLocal, seconds};
use crate::token_callback;

/// The methods that ``Client`` and ``AsyncClient`` share; none of them waits.
#[pyclass(frozen, subclass, module = "ottla._core")]
pub(crate) struct ClientBase {
    core: ProcessLocal<Core>,
}

impl ClientBase {
    pub(super) fn new(core: Core) -> Self {
        Self { core: ProcessLocal::new(core) }
    }

    /// Returns the core, unless the client was closed.
    pub(crate) fn core(&self) -> PyResult<&Core> {
        let core = self.core.get()?;
        if core.is_closed() { Err(errors::closed("this client was closed")) } else { Ok(core) }
    }

    /// Returns the core, even if the client was closed.
    pub(super) fn core_even_if_closed(&self) -> PyResult<&Core> {
        self.core.get()
    }

    /// Converts a call's timeout.
    pub(super) fn timeout(&self, timeout: Option<f64>) -> PyResult<Duration> {
        seconds(timeout, self.core()?.config().default_api_timeout)
    }

    /// Returns a core to move into a call's future, and the call's timeout.
    pub(super) fn call(&self, timeout: Option<f64>) -> PyResult<(Core, Duration)> {
        Ok((self.core()?.clone(), self.timeout(timeout)?))
    }
}

#[pymethods]
impl ClientBase {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Visited {
        self.core.peek().map_or(Ok(()), |core| token_callback::traverse(core, &visit))
    }

    /// The old name of ``topic_names()``, which raises an ``AttributeError``.
    #[getter]
    fn list_topics(this: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        Err(renamed::old_method(this.as_any(), "list_topics", "topic_names"))
    }

    /// Return the id of a partition's leader from cached metadata, without waiting.
    ///
    /// Args:
    ///     topic: the topic's name.
    ///     partition: the partition's number.
    ///
    /// Returns:
    ///     The id, or None if the partition has no leader or is not known.
    fn leader(
        &self,
        topic: &str,
        #[pyo3(from_py_with = number::partition)] partition: i32,
    ) -> PyResult<Option<i32>> {
        Ok(self.core()?.leader(topic, partition))
    }

    #[doc = docs!(set_sasl_credentials)]
    fn set_sasl_credentials(&self, py: Python<'_>, username: String, password: String) -> PyResult<()> {
        set_sasl_credentials(py, self.core()?, username, password)
    }

    /// Return the state of each connection, by broker, without waiting.
    fn connections(&self) -> PyResult<Connections> {
        Ok(connections(self.core()?))
    }

    /// Return the client's metrics, by the Java client's names, without waiting.
    ///
    /// See ``ottla.Metrics`` for their meaning.
    fn metrics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        metrics(py, self.core()?.metrics())
    }

    /// Return statistics of the client's requests: by API, the slowest, and retries.
    fn request_statistics(&self, py: Python<'_>) -> PyResult<RequestStatistics> {
        request_statistics(py, self.core()?)
    }

    fn __repr__(this: &Bound<'_, Self>) -> PyResult<String> {
        let class = this.get_type().name()?;
        let Some(core) = this.get().core.peek() else {
            return Ok(format!("{class}(created in another process)"));
        };
        let snapshot = core.snapshot();
        Ok(format!(
            "{class}(bootstrap={:?}, cluster_id={:?}, brokers={}{})",
            core.config().addresses().join(","),
            snapshot.cluster_id.as_deref().unwrap_or_default(),
            snapshot.brokers.len(),
            if core.is_closed() { ", closed" } else { "" }
        ))
    }
}

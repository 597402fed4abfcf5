//! `ProducerBase`: the methods that do not wait, shared by `Producer` and `AsyncProducer`.

use std::sync::Arc;

use ottla_client::Client;
use ottla_client::producer::Producer as CoreProducer;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::client::connections::{Connections, connections};
use crate::client::docs::docs as client_docs;
use crate::client::metrics::{metrics, topic_metrics};
use crate::client::request_statistics::{RequestStatistics, request_statistics};
use crate::client::sasl_credentials::set_sasl_credentials;
use crate::convert::errors;
use crate::runtime::ProcessLocal;

/// A producer's state: a `ProducerHandle`, or the core itself.
///
/// The base shares it as it is: an `Arc` of the core in the handle would be one more pointer for `send` to follow.
pub(super) trait HasCore: Send + Sync {
    fn core(&self) -> &CoreProducer;
}

/// The methods that ``Producer`` and ``AsyncProducer`` share; none of them waits.
#[pyclass(frozen, subclass, module = "ottla._core")]
pub(crate) struct ProducerBase {
    state: ProcessLocal<Arc<dyn HasCore>>,
}

impl ProducerBase {
    pub(super) fn new(state: Arc<dyn HasCore>) -> Self {
        Self { state: ProcessLocal::new(state) }
    }

    fn core(&self) -> PyResult<&CoreProducer> {
        Ok(self.state.get()?.core())
    }

    /// Returns the client, unless the producer was closed.
    pub(crate) fn client(&self) -> PyResult<&Client> {
        let core = self.core()?;
        if core.is_closed() { Err(errors::closed("this producer was closed")) } else { Ok(core.client()) }
    }
}

#[pymethods]
impl ProducerBase {
    /// Begin a transaction; the records sent from now on belong to it. Costs no request.
    ///
    /// Raises:
    ///     FencedError: a newer producer with the same id has taken over; close this one.
    ///     StateError: ``init_transactions`` was not called, or a transaction is open.
    ///     TransactionAbortableError: the open transaction has failed; abort it.
    fn begin_transaction(&self, py: Python<'_>) -> PyResult<()> {
        self.core()?.begin_transaction().map_err(|error| errors::raise(py, &error))
    }

    #[doc = client_docs!(set_sasl_credentials)]
    fn set_sasl_credentials(&self, py: Python<'_>, username: String, password: String) -> PyResult<()> {
        set_sasl_credentials(py, self.client()?, username, password)
    }

    /// Return the state of each connection, by broker, without waiting.
    ///
    /// The connections of a shared client include those of its other users.
    fn connections(&self) -> PyResult<Connections> {
        Ok(connections(self.core()?.client()))
    }

    /// Return the metrics of this producer and its client, by the Java client's names.
    ///
    /// ``ottla.ProducerMetrics`` describes them.
    fn metrics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        metrics(py, self.core()?.metrics())
    }

    /// Return the metrics of each topic that this producer has sent to, by topic.
    ///
    /// ``ottla.TopicMetrics`` describes them.
    fn topic_metrics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        topic_metrics(py, self.core()?)
    }

    /// Return statistics of the client's requests: by API, the slowest, and retries.
    ///
    /// On a shared client, they include its other users.
    fn request_statistics(&self, py: Python<'_>) -> PyResult<RequestStatistics> {
        request_statistics(py, self.core()?.client())
    }

    /// The bytes of ``buffer.memory`` that hold unacknowledged records.
    #[getter]
    fn buffered_bytes(&self) -> PyResult<usize> {
        Ok(self.core()?.buffered_bytes())
    }

    fn __repr__(this: &Bound<'_, Self>) -> PyResult<String> {
        let class = this.get_type().name()?;
        let Some(state) = this.get().state.peek() else {
            return Ok(format!("{class}(created in another process)"));
        };
        let core = state.core();
        let servers = core.client().config().bootstrap_servers.join(",");
        Ok(format!("{class}(bootstrap={servers:?}, buffered_bytes={})", core.buffered_bytes()))
    }
}

//! `DeadLetters`: the topic to which a format writes records that it cannot decode.

use std::sync::Arc;

use ottla_client::producer::Producer;
use ottla_client::typed::{DeadLetterTopic, DeadLetters as Core};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::client::client_arg::resolve_client;
use crate::convert::errors;
use crate::runtime::runtime;
use crate::typed::DeadLettersCore;

/// A topic for records that cannot be decoded, as the ``mode`` of a format.
///
/// Before a batch is returned without such records, each is written to the topic, and was
/// acknowledged: with its key, value, headers and timestamp, and with the headers
/// ``__ottla.errors.message``, ``__ottla.errors.topic``, ``__ottla.errors.partition`` and
/// ``__ottla.errors.offset``. If it cannot be written, the poll or the scan raises the error, and
/// the position stays before it. A batch that is read again is written again.
///
/// Args:
///     topic: the topic, which must not be one that is read.
///     bootstrap: a client whose connections the producer uses, or addresses as ``host:port``
///         (``bootstrap.servers``).
///     config: configuration by Kafka's dotted names. Keyword arguments are the same names with
///         underscores and take precedence.
///
/// Raises:
///     ConfigError: a key or a value is invalid, or the configuration has a transactional id.
#[pyclass(frozen, module = "ottla.schema")]
pub(crate) struct DeadLetters {
    topic: String,
    core: Py<DeadLettersCore>,
}

#[pymethods]
impl DeadLetters {
    #[new]
    #[pyo3(signature = (topic, bootstrap=None, config=None, **kwargs))]
    fn new(
        py: Python<'_>,
        topic: String,
        bootstrap: Option<&Bound<'_, PyAny>>,
        config: Option<&Bound<'_, PyAny>>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let (client, _) = resolve_client(py, "DeadLetters", bootstrap, config, kwargs)?;
        if !client.config().transactional_id.is_empty() {
            let message = "dead letters are not written in transactions: leave out transactional.id";
            return Err(errors::config(py, message));
        }
        let runtime = runtime()?;
        let _entered = runtime.enter();
        let producer = Producer::new(client).map_err(|error| errors::raise(py, &error))?;
        let core = Arc::new(Core::new(Arc::new(DeadLetterTopic::new(producer, topic.as_str()))));
        Ok(Self { topic, core: Py::new(py, DeadLettersCore::new(core))? })
    }

    /// For formats.
    #[getter]
    fn _core(&self, py: Python<'_>) -> Py<DeadLettersCore> {
        self.core.clone_ref(py)
    }

    /// The topic.
    #[getter]
    fn topic(&self) -> &str {
        &self.topic
    }

    fn __repr__(&self) -> String {
        format!("DeadLetters({:?})", self.topic)
    }
}

//! The core's errors as Python exceptions: the classes of `ottla.errors`, with their fields.

use ottla_client::{Error, Kind};
use pyo3::exceptions::PyException;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Returns the name of the class in `ottla.errors`.
fn class(kind: Kind) -> &'static str {
    match kind {
        Kind::Config => "ConfigError",
        Kind::Bootstrap => "BootstrapError",
        Kind::Connection => "ConnectionError",
        Kind::Authentication => "AuthenticationError",
        Kind::Authorization => "AuthorizationError",
        Kind::Timeout => "TimeoutError",
        Kind::Broker => "BrokerError",
        Kind::UnknownTopic => "UnknownTopicError",
        Kind::TopicExists => "TopicExistsError",
        Kind::RecordTooLarge => "RecordTooLargeError",
        Kind::CommitFailed => "CommitFailedError",
        Kind::DataLoss => "DataLossError",
        Kind::Fenced => "FencedError",
        Kind::TransactionAbortable => "TransactionAbortableError",
        Kind::TransactionAborted => "TransactionAbortedError",
        Kind::Purged => "PurgedError",
        Kind::Protocol => "ProtocolError",
        Kind::Schema => "SchemaError",
        Kind::Serialization => "SerializationError",
        Kind::Offset => "OffsetError",
        Kind::State => "StateError",
        Kind::Wakeup => "WakeupError",
        Kind::Closed => "ClosedError",
        Kind::Internal => "InternalError",
    }
}

/// Converts an error to an exception to raise.
pub(crate) fn raise(py: Python<'_>, error: &Error) -> PyErr {
    value(py, error).map_or_else(|failure| failure, |value| PyErr::from_value(value.into_bound(py)))
}

/// Converts an error to an exception object.
pub(crate) fn value(py: Python<'_>, error: &Error) -> PyResult<Py<PyAny>> {
    value_at(py, error, None)
}

/// Converts an error of the record at `index` of a batch to an exception object.
pub(crate) fn value_at(py: Python<'_>, error: &Error, index: Option<usize>) -> PyResult<Py<PyAny>> {
    let make = MAKE.get_or_try_init(py, || -> PyResult<_> {
        Ok(py.import("ottla.errors")?.getattr("_from_core")?.unbind())
    })?;
    let context = PyDict::new(py);
    let source = error.context();
    context.set_item("topic", source.topic.as_deref())?;
    context.set_item("partition", source.partition)?;
    context.set_item("offset", source.offset)?;
    context.set_item("broker", source.broker)?;
    context.set_item("address", source.address.as_deref())?;
    context.set_item("api", source.api.map(|api| api.name()))?;
    context.set_item("index", index)?;
    context.set_item("subject", source.subject.as_deref())?;
    context.set_item("schema_id", source.schema_id.as_deref())?;
    context.set_item("registry_code", source.registry_code)?;
    context.set_item("phase", source.phase.map(|phase| phase.to_string()))?;
    let attempts: Vec<_> = error
        .attempts()
        .iter()
        .map(|attempt| {
            let source = attempt.context();
            let phase = source.phase.map(|phase| phase.to_string());
            (source.address.as_deref(), phase, class(attempt.kind()), attempt.message())
        })
        .collect();
    let code = error.code().map(|code| (code.code(), code.name()));
    let arguments = (
        class(error.kind()),
        error.to_string(),
        code,
        error.is_retriable(),
        error.is_fatal(),
        error.is_maybe_done(),
        context,
        attempts,
    );
    make.call1(py, arguments)
}

/// Adds the delivery of the accepted records to the exception of a `send_batch` that ended early. The caller
/// can continue after them; repeating the whole call would write them twice.
pub(crate) fn with_partial_delivery<'py, T>(
    py: Python<'py>,
    error: PyErr,
    accepted: usize,
    delivery: T,
) -> PyErr
where
    T: IntoPyObject<'py>,
{
    let value = error.value(py);
    // An exception that refuses attributes is raised unchanged.
    let _ = value.setattr(intern!(py, "delivery"), delivery);
    if let Ok(context) = value.getattr(intern!(py, "context")) {
        let _ = context.set_item("index", accepted).and_then(|()| context.set_item("accepted", accepted));
        if accepted > 0 {
            let _ = value.setattr(intern!(py, "retriable"), false);
            let _ = value.setattr(intern!(py, "maybe_done"), true);
        }
    }
    error
}

/// Logs the error of closing at the end of a `with` block that raised, so that it does not replace the
/// block's exception. Other errors than `Exception`, such as Ctrl-C, are raised.
pub(crate) fn prefer_block_error(
    py: Python<'_>,
    closed: PyResult<()>,
    log: impl FnOnce(&str),
) -> PyResult<()> {
    match closed {
        Err(error) if error.is_instance_of::<PyException>(py) => {
            log(&error.value(py).str()?.to_string());
            Ok(())
        }
        closed => closed,
    }
}

/// Returns the exception for the use of a closed object.
pub(crate) fn closed(message: &str) -> PyErr {
    Python::attach(|py| raise(py, &Error::new(Kind::Closed, message)))
}

/// Returns the exception for an invalid argument.
pub(crate) fn config(py: Python<'_>, message: impl Into<String>) -> PyErr {
    raise(py, &Error::new(Kind::Config, message))
}

/// Returns the exception for an argument of the wrong type: an `ottla.errors.ConfigError` that is a
/// `TypeError`, too.
pub(crate) fn argument_type(py: Python<'_>, message: String) -> PyErr {
    let class = py.import("ottla.errors").and_then(|errors| errors.getattr("ArgumentTypeError"));
    match class.and_then(|class| class.call1((message,))) {
        Ok(value) => PyErr::from_value(value),
        Err(error) => error,
    }
}

/// Returns the exception for an error of Arrow's PyCapsule interface.
pub(crate) fn capsule(py: Python<'_>, error: ottla_capsules::Error) -> PyErr {
    use ottla_capsules::Error as Failure;
    match error {
        Failure::Raised(error) => error,
        Failure::Invalid(message) => argument_type(py, message),
        Failure::Stream(message) => config(py, message),
        Failure::Inexpressible(message) => raise(py, &Error::new(Kind::Schema, message)),
    }
}

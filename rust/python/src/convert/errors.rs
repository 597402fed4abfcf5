//! The client's errors as Python exceptions: the classes of `ottla.errors`, with their fields.

use ottla_client::{Error, Kind};
use ottla_protocol::ErrorCode;
use pyo3::exceptions::PyException;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The name of the class in `ottla.errors`.
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
        Kind::Protocol => "ProtocolError",
        Kind::Offset => "OffsetError",
        Kind::State => "StateError",
        Kind::Wakeup => "WakeupError",
        Kind::Closed => "ClosedError",
        Kind::Internal => "InternalError",
    }
}

/// The exception for an error.
pub(crate) fn raise(py: Python<'_>, error: &Error) -> PyErr {
    value(py, error).map_or_else(|failure| failure, |value| PyErr::from_value(value.into_bound(py)))
}

/// The exception object for an error.
pub(crate) fn value(py: Python<'_>, error: &Error) -> PyResult<Py<PyAny>> {
    value_at(py, error, None)
}

/// The exception object for an error of the record at `index` of what was passed to a call.
pub(crate) fn value_at(py: Python<'_>, error: &Error, index: Option<usize>) -> PyResult<Py<PyAny>> {
    let make = MAKE.get_or_try_init(py, || -> PyResult<_> {
        Ok(py.import("ottla.errors")?.getattr("_from_core")?.unbind())
    })?;
    let context = PyDict::new(py);
    let place = error.context();
    context.set_item("topic", place.topic.as_deref())?;
    context.set_item("partition", place.partition)?;
    context.set_item("broker", place.broker)?;
    context.set_item("address", place.address.as_deref())?;
    context.set_item("api", place.api.map(|api| api.name()))?;
    context.set_item("index", index)?;
    context.set_item("phase", place.phase.map(|phase| phase.to_string()))?;
    let attempts: Vec<_> = error
        .attempts()
        .iter()
        .map(|attempt| {
            let place = attempt.context();
            let phase = place.phase.map(|phase| phase.to_string());
            (place.address.as_deref(), phase, class(attempt.kind()), attempt.message())
        })
        .collect();
    let code = error.code().map(|code| (code.code(), code.name()));
    // A group that has members refuses commits of others for as long as it has.
    let fatal = match error.kind() {
        Kind::Fenced => error.code() != Some(ErrorCode::UnknownMemberId),
        kind => matches!(kind, Kind::Closed | Kind::Internal),
    };
    let arguments = (
        class(error.kind()),
        error.to_string(),
        code,
        error.is_retriable(),
        fatal,
        error.is_maybe_done(),
        context,
        attempts,
    );
    make.call1(py, arguments)
}

/// The exception of a `send_batch` that ended early, with the promise of the records that were accepted, so
/// that the caller can go on exactly behind them. To repeat the whole call would write those twice.
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
    // Any exception can have attributes; one that refuses them is raised as it is.
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

/// At the end of a `with` block that an exception ends: what closing failed with is logged, so that it does
/// not take the place of that exception. What is no `Exception`, Ctrl-C say, is raised.
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

/// The exception for the use of something that is closed.
pub(crate) fn closed(message: &str) -> PyErr {
    Python::attach(|py| raise(py, &Error::new(Kind::Closed, message)))
}

/// The exception for an argument that makes no sense.
pub(crate) fn config(py: Python<'_>, message: impl Into<String>) -> PyErr {
    raise(py, &Error::new(Kind::Config, message))
}

//! `AdminCall`: the requests of one call of `Admin`, which Python builds and reads.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use ottla_client::error::permission::either;
use ottla_client::requests::untyped::{
    Destination, Operation, UntypedRequest, UntypedResponse, with_broker_message,
};
use ottla_client::{Client, Error, ListedOffset, Result, TopicPartition};
use ottla_protocol::{ApiKey, ErrorCode};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::asyncio::{FutureResult, start};
use crate::convert::item_errors::ItemErrors;
use crate::convert::{errors, offsets, values};
use crate::runtime::{ProcessLocal, wait, wait_for};

/// The requests of one call of ``Admin``, under one deadline.
///
/// Requests are tuples of the name of an API, the destination (``"any"``, ``"controller"`` or the
/// id of a broker), forms of the message as dicts, the highest version, whether it changes
/// something, and whether to check only that the broker supports it. The first form is sent whose
/// fields all exist in the version. For each, the result is a tuple of the version, the response as
/// a dict, and whether an earlier attempt may have taken effect; or the error.
#[pyclass(frozen, module = "ottla._core")]
pub(crate) struct AdminCall(ProcessLocal<Arc<Operation>>);

impl AdminCall {
    pub(super) fn new(client: Client, what: String, timeout: Duration) -> Self {
        Self(ProcessLocal::new(Arc::new(Operation::new(client, what, timeout))))
    }
}

type Listed = BTreeMap<TopicPartition, Result<ListedOffset>>;

impl AdminCall {
    fn listing(
        &self,
        py: Python<'_>,
        specs: &Bound<'_, PyAny>,
        isolation_level: Option<&str>,
    ) -> PyResult<impl Future<Output = Listed> + Send + use<>> {
        let operation = Arc::clone(self.0.get()?);
        let read_committed = offsets::read_committed(py, operation.client(), isolation_level)?;
        let specs = offsets::specs(specs, "specs")?;
        Ok(async move { operation.list_offsets(specs, read_committed).await })
    }
}

type RequestArguments<'py> = (String, Bound<'py, PyAny>, Vec<Bound<'py, PyAny>>, i16, bool, bool);

#[pymethods]
impl AdminCall {
    /// Send requests at the same time, and wait for all responses.
    ///
    /// Args:
    ///     requests: the requests.
    ///
    /// Returns:
    ///     The responses and errors, in the order of the requests.
    fn send(&self, py: Python<'_>, requests: Vec<RequestArguments<'_>>) -> PyResult<Py<PyAny>> {
        let (operation, requests) = (Arc::clone(self.0.get()?), convert(requests)?);
        let responses = wait(py, operation.send(requests))?;
        to_python(py, responses)
    }

    /// Send requests at the same time, for asyncio.
    ///
    /// Args:
    ///     requests: the requests.
    ///
    /// Returns:
    ///     A future of the responses and errors, in the order of the requests.
    fn send_async<'py>(&self, py: Python<'py>, requests: Vec<RequestArguments<'py>>) -> FutureResult<'py> {
        let (operation, requests) = (Arc::clone(self.0.get()?), convert(requests)?);
        start(py, async move { Ok(operation.send(requests).await) }, to_python)
    }

    /// Look up offsets of partitions, as ``Client.list_offsets``.
    ///
    /// Args:
    ///     specs: which offset, by ``(topic, partition)``.
    ///     isolation_level: None for the client's.
    ///
    /// Returns:
    ///     The offsets and errors by ``(topic, partition)``.
    fn list_offsets(
        &self,
        py: Python<'_>,
        specs: &Bound<'_, PyAny>,
        isolation_level: Option<&str>,
    ) -> PyResult<Py<PyAny>> {
        let listing = self.listing(py, specs, isolation_level)?;
        let listed = wait(py, listing)?;
        offsets::to_dict(py, listed, ItemErrors::Return)
    }

    /// Look up offsets of partitions, for asyncio.
    ///
    /// Args:
    ///     specs: which offset, by ``(topic, partition)``.
    ///     isolation_level: None for the client's.
    ///
    /// Returns:
    ///     A future of the offsets and errors by ``(topic, partition)``.
    fn list_offsets_async<'py>(
        &self,
        py: Python<'py>,
        specs: &Bound<'py, PyAny>,
        isolation_level: Option<&str>,
    ) -> FutureResult<'py> {
        let listing = self.listing(py, specs, isolation_level)?;
        start(py, async move { Ok(listing.await) }, |py, listed| {
            offsets::to_dict(py, listed, ItemErrors::Return)
        })
    }

    /// Wait before something is tried again, and refresh the metadata.
    ///
    /// Args:
    ///     code: Kafka's error code.
    ///     message: what failed.
    ///
    /// Raises:
    ///     TimeoutError: the deadline leaves no time.
    fn pause(&self, py: Python<'_>, code: i16, message: String) -> PyResult<()> {
        let operation = Arc::clone(self.0.get()?);
        wait_for(py, async move { operation.pause(ErrorCode::from(code), message).await })
    }

    /// Wait before something is tried again, for asyncio.
    ///
    /// Args:
    ///     code: Kafka's error code.
    ///     message: what failed.
    ///
    /// Raises:
    ///     TimeoutError: the deadline leaves no time.
    fn pause_async<'py>(&self, py: Python<'py>, code: i16, message: String) -> FutureResult<'py> {
        let operation = Arc::clone(self.0.get()?);
        start(
            py,
            async move { operation.pause(ErrorCode::from(code), message).await },
            |py, ()| Ok(py.None()),
        )
    }
}

/// Return the error for an error code of a broker.
///
/// Args:
///     code: Kafka's error code.
///     message: what the broker says about it, or None.
///     request: Kafka's name of the API of the refused request, and the group that it is
///         about or an empty string; or None.
///     topic: the topic, or None.
///     partition: the partition, or None.
///     maybe_done: whether the operation may have taken effect nevertheless.
///
/// Returns:
///     The exception.
#[pyfunction]
#[pyo3(signature = (code, message=None, *, request=None, topic=None, partition=None, maybe_done=false))]
pub(crate) fn error_of_code(
    py: Python<'_>,
    code: i16,
    message: Option<&str>,
    request: Option<(&str, &str)>,
    topic: Option<&str>,
    partition: Option<i32>,
    maybe_done: bool,
) -> PyResult<Py<PyAny>> {
    let code = ErrorCode::from(code);
    let error = Error::from_code(code);
    let error = match request {
        Some((api, group)) => {
            let name = either(code, topic.unwrap_or_default(), group);
            error.lacking(api_of(api)?, name)
        }
        None => error,
    };
    let error = with_broker_message(error, message);
    let error = match (topic, partition) {
        (Some(topic), Some(partition)) => error.at(&Arc::from(topic), partition),
        (Some(topic), None) => error.topic(topic),
        (None, _) => error,
    };
    errors::value(py, &if maybe_done { error.maybe_done() } else { error })
}

/// Return the error of a call for what only brokers know, while the cluster has none.
///
/// Returns:
///     The exception, a ``ConnectionError``.
#[pyfunction]
pub(crate) fn no_broker_to_ask(py: Python<'_>) -> PyResult<Py<PyAny>> {
    errors::value(py, &ottla_client::requests::no_broker_to_ask())
}

fn api_of(name: &str) -> PyResult<ApiKey> {
    let known = ApiKey::ALL.iter().copied().find(|known| known.name() == name);
    known.ok_or_else(|| PyValueError::new_err(format!("no API is named {name:?}")))
}

fn convert(requests: Vec<RequestArguments<'_>>) -> PyResult<Vec<UntypedRequest>> {
    let convert = |(api, to, bodies, max_version, changes, check_only): RequestArguments<'_>| {
        let api = api_of(&api)?;
        let to = match to.extract::<i32>() {
            Ok(broker) => Destination::Broker(broker),
            Err(_) => match &*to.extract::<String>()? {
                "any" => Destination::Any,
                "controller" => Destination::Controller,
                other => return Err(PyValueError::new_err(format!("no destination is named {other:?}"))),
            },
        };
        let bodies = bodies.iter().map(values::from_python).collect::<PyResult<_>>()?;
        Ok(UntypedRequest { api, to, bodies, max_version, changes, check_only })
    };
    requests.into_iter().map(convert).collect()
}

fn to_python(py: Python<'_>, responses: Vec<Result<UntypedResponse>>) -> PyResult<Py<PyAny>> {
    let response = |result: Result<UntypedResponse>| match result {
        Ok(UntypedResponse { version, body, is_repeated }) => {
            (version, values::to_python(py, body)?, is_repeated).into_py_any(py)
        }
        Err(error) => errors::value(py, &error),
    };
    let responses: PyResult<Vec<_>> = responses.into_iter().map(response).collect();
    PyList::new(py, responses?)?.into_py_any(py)
}

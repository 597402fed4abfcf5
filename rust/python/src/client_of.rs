//! `client_of` and `async_client_of`: the client that a producer or a consumer uses, for tools that show what it sees.
//!
//! Invariant: the returned client is the same engine. It opens no connection by itself, and does not keep
//! a consumer's own connections open.

use ottla_client::Client as Core;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::client::asynchronous::AsyncClient;
use crate::client::base::ClientBase;
use crate::client::sync::Client;
use crate::consumer::ConsumerBase;
use crate::consumer::share::ShareConsumerBase;
use crate::convert::errors;
use crate::producer::base::ProducerBase;
use crate::token_callback;

/// Return a ``Client`` over the engine of a client, a producer or a consumer.
///
/// See ``async_client_of``.
///
/// Args:
///     handle: a client, a producer, a consumer or a share consumer, blocking or for asyncio.
///
/// Raises:
///     ClosedError: the handle was closed.
///     TypeError: the handle is another object.
#[pyfunction]
#[pyo3(signature = (handle))]
pub(crate) fn client_of(handle: &Bound<'_, PyAny>) -> PyResult<Py<Client>> {
    Py::new(handle.py(), Client::of(open_core_of(handle)?))
}

/// Return an ``AsyncClient`` over the engine of a client, a producer or a consumer.
///
/// It shares the metadata and the connections; it is not a second client. Dropping it closes
/// nothing. Closing either closes the engine for both; but on a shared client, closing a producer
/// or a consumer leaves the client open. Its requests use the connections that all users of a
/// client share, and ``connections()`` lists all of the client's connections, those of consumers
/// on a shared client too.
///
/// Args:
///     handle: a client, a producer, a consumer or a share consumer, blocking or for asyncio.
///
/// Raises:
///     ClosedError: the handle was closed.
///     TypeError: the handle is another object.
#[pyfunction]
#[pyo3(signature = (handle))]
pub(crate) fn async_client_of(handle: &Bound<'_, PyAny>) -> PyResult<Py<AsyncClient>> {
    Py::new(handle.py(), AsyncClient::of(open_core_of(handle)?))
}

/// Returns the engine, whose requests use the connections that all users share.
fn open_core_of(handle: &Bound<'_, PyAny>) -> PyResult<Core> {
    let Some(core) = engine_of(handle)? else {
        let ty = handle.get_type().name()?;
        let message = format!("handle is of type {ty}: expected a client, a producer or a consumer");
        return Err(PyTypeError::new_err(message));
    };
    match core.is_closed() {
        true => Err(errors::closed("this client was closed")),
        false => Ok(core.with_shared_connections()),
    }
}

/// Returns the engine of a client, a producer or a consumer; `None` for another object.
pub(crate) fn engine_of(handle: &Bound<'_, PyAny>) -> PyResult<Option<Core>> {
    let core = core_of(handle)?;
    core.iter().for_each(token_callback::share);
    Ok(core)
}

fn core_of(handle: &Bound<'_, PyAny>) -> PyResult<Option<Core>> {
    if let Ok(client) = handle.cast::<ClientBase>() {
        return client.get().core().cloned().map(Some);
    }
    if let Ok(producer) = handle.cast::<ProducerBase>() {
        return producer.get().client().cloned().map(Some);
    }
    if let Ok(consumer) = handle.cast::<ConsumerBase>() {
        return consumer.get().client().cloned().map(Some);
    }
    if let Ok(consumer) = handle.cast::<ShareConsumerBase>() {
        return consumer.get().client().cloned().map(Some);
    }
    Ok(None)
}

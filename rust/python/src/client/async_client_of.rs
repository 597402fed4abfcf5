//! `async_client_of`: the client that a producer or a consumer uses, for tools that show what it sees.
//!
//! Invariant: the returned client is the same engine. It opens no connection by itself, and does not keep
//! a consumer's own connections open.

use ottla_client::Client as Core;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::client::asynchronous::AsyncClient;
use crate::client::sync::Client;
use crate::consumer::ConsumerBase;
use crate::consumer::share::ShareConsumerBase;
use crate::convert::errors;
use crate::producer::asynchronous::AsyncProducer;
use crate::producer::sync::Producer;

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
pub(crate) fn async_client_of(handle: &Bound<'_, PyAny>) -> PyResult<AsyncClient> {
    let core = core_of(handle)?;
    if core.is_closed() {
        return Err(errors::closed("this client was closed"));
    }
    Ok(AsyncClient::of(core.with_shared_connections()))
}

fn core_of(handle: &Bound<'_, PyAny>) -> PyResult<Core> {
    if let Ok(client) = handle.cast::<Client>() {
        return client.get().core().cloned();
    }
    if let Ok(client) = handle.cast::<AsyncClient>() {
        return client.get().core().cloned();
    }
    if let Ok(producer) = handle.cast::<Producer>() {
        return producer.get().client().cloned();
    }
    if let Ok(producer) = handle.cast::<AsyncProducer>() {
        return producer.get().client().cloned();
    }
    if let Ok(consumer) = handle.cast::<ConsumerBase>() {
        return consumer.get().client().cloned();
    }
    if let Ok(consumer) = handle.cast::<ShareConsumerBase>() {
        return consumer.get().client().cloned();
    }
    let ty = handle.get_type().name()?;
    Err(PyTypeError::new_err(format!("handle is of type {ty}: expected a client, a producer or a consumer")))
}

//! `AsyncEvents`: `Events` for asyncio.
//!
//! Invariant: an event is removed only when it is delivered, so that a cancelled wait loses none.

use std::sync::Arc;
use std::time::Duration;

use ottla_client::metadata::Event as CoreEvent;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyStopAsyncIteration;
use pyo3::prelude::*;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::asyncio::{FutureResult, start};
use crate::client::events::{Event, EventSubscription};
use crate::convert::errors;
use crate::convert::number;
use crate::runtime::{ProcessLocal, seconds};

/// Changes of the cluster and of the client's connections, for asyncio.
///
/// ``async for event in await client.events()`` waits for the next event and ends when the client
/// is closed. At most 1,024 unread events are buffered; then the oldest are dropped, and an event
/// of kind ``missed`` reports it. Cancelling a wait loses no event. Several tasks may wait; each
/// event goes to one of them.
#[pyclass(frozen, module = "ottla")]
pub(crate) struct AsyncEvents {
    source: ProcessLocal<Arc<Mutex<EventSource>>>,
    _subscription: EventSubscription,
}

struct EventSource {
    receiver: Receiver<CoreEvent>,
    /// An event that was received and not delivered yet; `Closed`, the last one, stays.
    buffered: Option<CoreEvent>,
}

impl AsyncEvents {
    pub(super) fn new(receiver: Receiver<CoreEvent>, subscription: EventSubscription) -> Self {
        let source = EventSource { receiver, buffered: None };
        Self { source: ProcessLocal::new(Arc::new(Mutex::new(source))), _subscription: subscription }
    }

    /// Returns a future of what `to_value` makes of the next event, or of `None` if none comes in time.
    fn next_with<'py>(
        &self,
        py: Python<'py>,
        timeout: Option<f64>,
        to_value: impl FnOnce(Python<'_>, Option<CoreEvent>) -> PyResult<Py<PyAny>> + Send + 'static,
    ) -> FutureResult<'py> {
        let timeout = seconds(timeout, Duration::MAX)?;
        let event = wait_for_event(Arc::clone(self.source.get()?));
        let work = async move { Ok(tokio::time::timeout(timeout, event).await.ok()) };
        start(py, work, |py, source| to_value(py, source.and_then(|mut source| source.take_buffered())))
    }
}

/// Waits for an event, and locks the source until the event is delivered or the wait is cancelled.
async fn wait_for_event(source: Arc<Mutex<EventSource>>) -> OwnedMutexGuard<EventSource> {
    let mut source = source.lock_owned().await;
    if source.buffered.is_none() {
        source.buffered = Some(match source.receiver.recv().await {
            Ok(event) => event,
            Err(RecvError::Lagged(missed)) => CoreEvent::Missed(missed),
            Err(RecvError::Closed) => CoreEvent::Closed,
        });
    }
    source
}

impl EventSource {
    fn take_buffered(&mut self) -> Option<CoreEvent> {
        match &self.buffered {
            Some(CoreEvent::Closed) => Some(CoreEvent::Closed),
            _ => self.buffered.take(),
        }
    }
}

#[pymethods]
impl AsyncEvents {
    /// Return the next event.
    ///
    /// Args:
    ///     timeout: seconds to wait. Default: no limit.
    ///
    /// Returns:
    ///     The event, or None if none came in time.
    ///
    /// Raises:
    ///     ClosedError: the client was closed.
    #[pyo3(signature = (*, timeout=None))]
    fn next<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        self.next_with(py, timeout, |py, event| match event {
            Some(CoreEvent::Closed) => Err(errors::closed("the client was closed: there are no more events")),
            Some(event) => Event::from(&event).into_py_any(py),
            None => Ok(py.None()),
        })
    }

    fn __aiter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __anext__<'py>(&self, py: Python<'py>) -> FutureResult<'py> {
        self.next_with(py, None, |py, event| match event {
            Some(CoreEvent::Closed) | None => Err(PyStopAsyncIteration::new_err(())),
            Some(event) => Event::from(&event).into_py_any(py),
        })
    }
}

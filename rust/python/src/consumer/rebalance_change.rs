//! `RebalanceChange`: the steps of a rebalance, for `python/ottla/async_consumer.py` to await.
//!
//! Invariant: a change is finished once its callback returned or raised. Only then are revoked
//! partitions given up, and the membership continues.

use std::sync::Arc;

use ottla_client::consumer::group::RebalanceEvent;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::asyncio::start;
use crate::consumer::consumer_handle::{ConsumerHandle, PollOutcome};
use crate::consumer::rebalance_listener::changed_partitions;
use crate::convert::errors;
use crate::runtime::ProcessLocal;

/// A change of the assignment, which ``AsyncConsumer`` handles step by step.
#[pyclass(frozen, module = "ottla._core")]
pub(crate) struct RebalanceChange {
    handle: ProcessLocal<Arc<ConsumerHandle>>,
    change: RebalanceEvent,
}

impl RebalanceChange {
    pub(super) fn new(handle: Arc<ConsumerHandle>, change: RebalanceEvent) -> Self {
        Self { handle: ProcessLocal::new(handle), change }
    }
}

/// Converts the outcome of a poll: a change to handle, or whether there may be something to pop.
pub(super) fn poll_outcome(
    py: Python<'_>,
    handle: Arc<ConsumerHandle>,
    outcome: PollOutcome,
) -> PyResult<Py<PyAny>> {
    match outcome {
        PollOutcome::Ready => true.into_py_any(py),
        PollOutcome::Empty => false.into_py_any(py),
        PollOutcome::Rebalance(change) => RebalanceChange::new(handle, change).into_py_any(py),
    }
}

#[pymethods]
impl RebalanceChange {
    /// The partitions that were assigned, revoked or lost, as topic and number.
    #[getter]
    fn partitions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        changed_partitions(py, &self.change)
    }

    /// Do what comes before the callback: commit before a revocation, take up new partitions.
    fn begin<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (handle, change) = (Arc::clone(ConsumerHandle::open(&self.handle)?), self.change.clone());
        let work = async move {
            handle.core.prepare_rebalance(&change).await;
            Ok(())
        };
        start(py, work, |py, ()| Ok(py.None()))
    }

    /// Return the application's callback for this change, if there is one.
    fn callback(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        Ok(ConsumerHandle::open(&self.handle)?.listener.callback_for(py, &self.change))
    }

    /// Wait a few seconds at most for commits of the partitions to give up.
    fn wait_for_commits<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (handle, change) = (Arc::clone(ConsumerHandle::open(&self.handle)?), self.change.clone());
        let work = async move {
            handle.core.await_pending_commits(&change).await;
            Ok(())
        };
        start(py, work, |py, ()| Ok(py.None()))
    }

    /// Give up revoked or lost partitions, and let the membership continue.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let finished = ConsumerHandle::open(&self.handle)?.core.complete_rebalance(&self.change);
        finished.map_err(|error| errors::raise(py, &error))
    }
}

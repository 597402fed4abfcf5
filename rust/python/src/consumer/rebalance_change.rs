//! `RebalanceChange`: the steps of a rebalance, for `python/ottla/_internal/async_consumer.py` to await.
//!
//! Invariant: a change is finished once its callback returned or raised. Only then are revoked
//! partitions given up, and the membership continues.

use std::sync::Arc;

use ottla_client::consumer::group::RebalanceEvent;
use pyo3::prelude::*;
use pyo3::types::PyList;
use tokio::time::Instant;

use crate::asyncio::start;
use crate::consumer::consumer_handle::ConsumerHandle;
use crate::consumer::rebalance_listener::changed_partitions;
use crate::runtime::ProcessLocal;

/// A change of the assignment, which ``AsyncConsumer`` handles step by step.
#[pyclass(frozen, module = "ottla._core")]
pub(crate) struct RebalanceChange {
    handle: ProcessLocal<Arc<ConsumerHandle>>,
    change: RebalanceEvent,
    /// Until when the change must be finished, if the membership ends.
    deadline: Option<Instant>,
}

impl RebalanceChange {
    pub(super) fn new(
        handle: Arc<ConsumerHandle>,
        change: RebalanceEvent,
        deadline: Option<Instant>,
    ) -> Self {
        Self { handle: ProcessLocal::new(handle), change, deadline }
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

    /// Give up revoked or lost partitions, and let the membership continue.
    ///
    /// If the callback succeeded, wait for the commits of these partitions first, a few seconds
    /// at most.
    fn finish<'py>(&self, py: Python<'py>, succeeded: bool) -> PyResult<Bound<'py, PyAny>> {
        // The consumer may have closed while the callback ran.
        let (handle, change) = (Arc::clone(self.handle.get()?), self.change.clone());
        let deadline = self.deadline;
        let work = async move { handle.core.finish_rebalance(&change, succeeded, deadline).await };
        start(py, work, |py, ()| Ok(py.None()))
    }
}

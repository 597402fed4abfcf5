//! The callbacks of `subscribe`, Java's `ConsumerRebalanceListener`.

use ottla_client::consumer::group::RebalanceEvent;
use parking_lot::Mutex;
use pyo3::PyVisit;
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::partitions::to_list;
use crate::garbage::{Traverse, Visited};

#[derive(Default)]
struct Callbacks {
    on_assigned: Option<Py<PyAny>>,
    on_revoked: Option<Py<PyAny>>,
    on_lost: Option<Py<PyAny>>,
}

impl Traverse for Callbacks {
    fn traverse(&self, visit: &PyVisit<'_>) -> Visited {
        [&self.on_assigned, &self.on_revoked, &self.on_lost]
            .into_iter()
            .try_for_each(|one| one.traverse(visit))
    }
}

/// The rebalance callbacks of a consumer. Only threads with the GIL take the lock.
#[derive(Default)]
pub(super) struct RebalanceListener(Mutex<Callbacks>);

impl RebalanceListener {
    pub(super) fn set(
        &self,
        on_assigned: Option<Py<PyAny>>,
        on_revoked: Option<Py<PyAny>>,
        on_lost: Option<Py<PyAny>>,
    ) {
        // Dropped outside of the lock: dropping may run Python code.
        let previous = std::mem::replace(&mut *self.0.lock(), Callbacks { on_assigned, on_revoked, on_lost });
        drop(previous);
    }

    /// Returns the callback for a change, if there is one.
    pub(super) fn callback_for(&self, py: Python<'_>, change: &RebalanceEvent) -> Option<Py<PyAny>> {
        let callbacks = self.0.lock();
        let callback = match change {
            RebalanceEvent::Assign { .. } => &callbacks.on_assigned,
            RebalanceEvent::Revoke(_) => &callbacks.on_revoked,
            // As in Java, on_revoked is the default for lost partitions.
            RebalanceEvent::Lost(_) if callbacks.on_lost.is_none() => &callbacks.on_revoked,
            RebalanceEvent::Lost(_) => &callbacks.on_lost,
            RebalanceEvent::Failed(_) => return None,
        };
        callback.as_ref().map(|callback| callback.clone_ref(py))
    }
}

impl Traverse for RebalanceListener {
    fn traverse(&self, visit: &PyVisit<'_>) -> Visited {
        self.0.traverse(visit)
    }
}

/// Returns the partitions that a callback gets: those assigned, revoked or lost.
pub(super) fn changed_partitions<'py>(
    py: Python<'py>,
    change: &RebalanceEvent,
) -> PyResult<Bound<'py, PyList>> {
    match change {
        RebalanceEvent::Assign { added, .. } => to_list(py, added),
        RebalanceEvent::Revoke(partitions) | RebalanceEvent::Lost(partitions) => to_list(py, partitions),
        RebalanceEvent::Failed(_) => Ok(PyList::empty(py)),
    }
}

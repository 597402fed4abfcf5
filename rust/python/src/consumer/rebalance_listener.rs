//! The callbacks of `subscribe`, Java's `ConsumerRebalanceListener`.

use ottla_client::consumer::group::Change;
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::partitions::to_list;

#[derive(Default)]
struct Callbacks {
    on_assigned: Option<Py<PyAny>>,
    on_revoked: Option<Py<PyAny>>,
    on_lost: Option<Py<PyAny>>,
}

/// The rebalance callbacks of a consumer.
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
    pub(super) fn callback_for(&self, py: Python<'_>, change: &Change) -> Option<Py<PyAny>> {
        let callbacks = self.0.lock();
        let callback = match change {
            Change::Assign { .. } => &callbacks.on_assigned,
            Change::Revoke(_) => &callbacks.on_revoked,
            // As in Java, on_revoked is the default for lost partitions.
            Change::Lost(_) if callbacks.on_lost.is_none() => &callbacks.on_revoked,
            Change::Lost(_) => &callbacks.on_lost,
            Change::Failed(_) => return None,
        };
        callback.as_ref().map(|callback| callback.clone_ref(py))
    }
}

/// Returns the partitions that a callback gets: those assigned, revoked or lost.
pub(super) fn changed_partitions<'py>(py: Python<'py>, change: &Change) -> PyResult<Bound<'py, PyList>> {
    match change {
        Change::Assign { added, .. } => to_list(py, added),
        Change::Revoke(partitions) | Change::Lost(partitions) => to_list(py, partitions),
        Change::Failed(_) => Ok(PyList::empty(py)),
    }
}

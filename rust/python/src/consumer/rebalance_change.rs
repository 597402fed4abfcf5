//! Rebalances, and what a program wants to be called for.
//!
//! Invariant: a change is finished once its callback has returned or raised: what was revoked is not
//! callbacks up before, and the group goes on after.

use ottla_client::consumer::group::Change;
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::partitions::to_list;

/// What `subscribe` was callbacks.
#[derive(Default)]
struct Callbacks {
    assigned: Option<Py<PyAny>>,
    revoked: Option<Py<PyAny>>,
    lost: Option<Py<PyAny>>,
}

/// The callbacks of a consumer.
#[derive(Default)]
pub(super) struct RebalanceListener(Mutex<Callbacks>);

impl RebalanceListener {
    pub(super) fn set(
        &self,
        assigned: Option<Py<PyAny>>,
        revoked: Option<Py<PyAny>>,
        lost: Option<Py<PyAny>>,
    ) {
        // Dropped outside of the lock: that may call Python.
        let before = std::mem::replace(&mut *self.0.lock(), Callbacks { assigned, revoked, lost });
        drop(before);
    }

    /// What to call for a change.
    pub(super) fn callback_for(&self, py: Python<'_>, change: &Change) -> Option<Py<PyAny>> {
        let callbacks = self.0.lock();
        let callback = match change {
            Change::Assign { .. } => &callbacks.assigned,
            Change::Revoke(_) => &callbacks.revoked,
            // As in Java: who cares only for revocations hears of losses, too.
            Change::Lost(_) if callbacks.lost.is_none() => &callbacks.revoked,
            Change::Lost(_) => &callbacks.lost,
            Change::Failed(_) => return None,
        };
        callback.as_ref().map(|callback| callback.clone_ref(py))
    }
}

/// The partitions that a callback is told.
pub(super) fn changed_partitions<'py>(py: Python<'py>, change: &Change) -> PyResult<Bound<'py, PyList>> {
    match change {
        Change::Assign { added, .. } => to_list(py, added),
        Change::Revoke(partitions) | Change::Lost(partitions) => to_list(py, partitions),
        Change::Failed(_) => Ok(PyList::empty(py)),
    }
}

/// A change of the assignment for ``AsyncConsumer`` to handle.
#[pyclass(frozen, module = "ottla._core")]
pub(crate) struct RebalanceChange(pub(super) Change);

#[pymethods]
impl RebalanceChange {
    /// The partitions that were assigned, revoked or lost, as topic and number.
    #[getter]
    fn partitions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        changed_partitions(py, &self.0)
    }
}

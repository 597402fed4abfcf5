//! Rebalances, and what a program wants to be called for.
//!
//! Invariant: a change is finished once its callback has returned or raised: what was revoked is not
//! given up before, and the group goes on after.

use ottla_client::consumer::group::RebalanceEvent;
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::partitions::to_list;

/// What `subscribe` was given.
#[derive(Default)]
struct Given {
    assigned: Option<Py<PyAny>>,
    revoked: Option<Py<PyAny>>,
    lost: Option<Py<PyAny>>,
}

/// The callbacks of a consumer.
#[derive(Default)]
pub(super) struct Listeners(Mutex<Given>);

impl Listeners {
    pub(super) fn set(
        &self,
        assigned: Option<Py<PyAny>>,
        revoked: Option<Py<PyAny>>,
        lost: Option<Py<PyAny>>,
    ) {
        // Dropped outside of the lock: that may call Python.
        let before = std::mem::replace(&mut *self.0.lock(), Given { assigned, revoked, lost });
        drop(before);
    }

    /// What to call for a change.
    pub(super) fn of(&self, py: Python<'_>, change: &RebalanceEvent) -> Option<Py<PyAny>> {
        let given = self.0.lock();
        let callback = match change {
            RebalanceEvent::Assign { .. } => &given.assigned,
            RebalanceEvent::Revoke(_) => &given.revoked,
            // As in Java: who cares only for revocations hears of losses, too.
            RebalanceEvent::Lost(_) if given.lost.is_none() => &given.revoked,
            RebalanceEvent::Lost(_) => &given.lost,
            RebalanceEvent::Failed(_) => return None,
        };
        callback.as_ref().map(|callback| callback.clone_ref(py))
    }
}

/// The partitions that a callback is told.
pub(super) fn told<'py>(py: Python<'py>, change: &RebalanceEvent) -> PyResult<Bound<'py, PyList>> {
    match change {
        RebalanceEvent::Assign { added, .. } => to_list(py, added),
        RebalanceEvent::Revoke(partitions) | RebalanceEvent::Lost(partitions) => to_list(py, partitions),
        RebalanceEvent::Failed(_) => Ok(PyList::empty(py)),
    }
}

/// A change of the assignment for ``AsyncConsumer`` to handle.
#[pyclass(frozen, module = "ottla._core")]
pub(crate) struct RebalanceChange(pub(super) RebalanceEvent);

#[pymethods]
impl RebalanceChange {
    /// The partitions that were assigned, revoked or lost, as topic and number.
    #[getter]
    fn partitions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        told(py, &self.0)
    }
}

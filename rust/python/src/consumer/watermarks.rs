//! `Watermarks`: the bounds of a partition's log as Python sees them.

use ottla_client::consumer::Watermarks as Core;
use pyo3::prelude::*;

/// The bounds of a partition's log, as a leader has last reported them.
#[pyclass(frozen, get_all, eq, hash, module = "ottla")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Watermarks {
    /// The first offset of the log; -1 if the broker does not report it.
    log_start_offset: i64,
    /// The end for ``read_committed``: no transaction before it is open.
    last_stable_offset: i64,
    /// The end for ``read_uncommitted``: everything before it is replicated.
    high_watermark: i64,
}

impl Watermarks {
    /// Converts the bounds; None if they are unknown.
    pub(super) fn of(py: Python<'_>, bounds: Core) -> PyResult<Py<PyAny>> {
        let Core { log_start_offset, last_stable_offset, high_watermark } = bounds;
        if high_watermark < 0 {
            return Ok(py.None());
        }
        Py::new(py, Self { log_start_offset, last_stable_offset, high_watermark }).map(Py::into_any)
    }
}

#[pymethods]
impl Watermarks {
    fn __repr__(&self) -> String {
        format!(
            "Watermarks(log_start_offset={}, last_stable_offset={}, high_watermark={})",
            self.log_start_offset, self.last_stable_offset, self.high_watermark
        )
    }
}

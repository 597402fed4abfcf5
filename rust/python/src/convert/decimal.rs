//! Python's class `decimal.Decimal`.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

pub(crate) fn class(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    CLASS.import(py, "decimal", "Decimal")
}

/// Returns the decimal of a text, which Python checks.
pub(crate) fn of_text<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    class(py)?.call1((text,))
}

/// Whether an object is a decimal.
pub(crate) fn is_decimal(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    value.is_instance(class(value.py())?)
}

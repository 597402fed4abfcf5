//! Text that the application passes.
//!
//! Invariant: text that UTF-8 cannot encode is refused by the name of its argument, and never changed.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyString;

use super::errors;

/// Why a text cannot be encoded: Python's strings may have what UTF-8 does not.
pub(crate) const LONE_SURROGATE: &str = "half of a surrogate pair, which UTF-8 cannot encode";

/// Returns the UTF-8 of a text; `what` names the argument.
pub(crate) fn utf8(what: &str, text: &Bound<'_, PyString>) -> PyResult<PyBackedStr> {
    // The text itself may be a secret.
    text.clone().try_into().map_err(|_| errors::config(text.py(), format!("{what} has {LONE_SURROGATE}")))
}

/// Refuses a name that no request has room for.
pub(crate) fn check_name(what: &str, name: &str) -> PyResult<()> {
    ottla_client::check_name(what, name).map_err(|error| Python::attach(|py| errors::raise(py, &error)))
}

//! What an application's callback returned.
//!
//! Invariant: a callback that did not run is never taken for one that did.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// Refuses a coroutine: nothing would ever await it. Other results have no meaning.
///
/// # Errors
/// `TypeError` if the callback is a coroutine function.
pub(crate) fn ended(returned: &Bound<'_, PyAny>) -> PyResult<()> {
    // The common case first, at the cost of a comparison.
    if returned.is_none() || returned.get_type().name()? != "coroutine" {
        return Ok(());
    }
    // Or Python warns of it when it is dropped.
    returned.call_method0("close")?;
    Err(PyTypeError::new_err(
        "the callback is a coroutine function, which did not run: pass a plain function",
    ))
}

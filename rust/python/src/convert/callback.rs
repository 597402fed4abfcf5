//! What an application's callback returned: `ottla._internal.callback_results` judges it.
//!
//! Invariant: a callback that did not run is never taken for one that did.

use pyo3::prelude::*;

/// Refuses a coroutine: nothing would ever await it. Other results have no meaning.
///
/// # Errors
/// `TypeError` if the callback is a coroutine function.
pub(crate) fn ended(returned: &Bound<'_, PyAny>) -> PyResult<()> {
    // The common case, at the cost of a comparison.
    if returned.is_none() {
        return Ok(());
    }
    let module = returned.py().import("ottla._internal.callback_results")?;
    module.call_method1("check_callback", (returned,)).map(drop)
}

//! `_repr_html_` of Rust's classes: `ottla._internal.notebook` makes the HTML, so that it is written once.

use pyo3::call::PyCallArgs;
use pyo3::prelude::*;

/// Rows of a batch that a notebook shows; `ottla._internal.notebook` shows no more.
pub(crate) const MAX_ROWS: usize = 20;

/// Calls a function of `ottla._internal.notebook`.
pub(crate) fn html<'py>(
    py: Python<'py>,
    function: &str,
    args: impl PyCallArgs<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    py.import("ottla._internal.notebook")?.getattr(function)?.call1(args)
}

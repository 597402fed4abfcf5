//! What kind of argument a value is, for the calls that are written in Python.
//!
//! Invariant: the rules are those of `convert/`, which checks the arguments of all other calls.

use pyo3::prelude::*;

use crate::convert::{names, number};

/// Return whether a value is a bool, of Python or numpy.
///
/// Args:
///     value: any value.
#[pyfunction]
pub(crate) fn is_bool(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    number::is_bool(value)
}

/// Return whether a value is an integer, such as numpy's, and no bool.
///
/// Args:
///     value: any value.
#[pyfunction]
pub(crate) fn is_index(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    number::is_index(value)
}

/// Return whether a value is a str or bytes, which iterate over their letters.
///
/// Args:
///     value: any value.
#[pyfunction]
pub(crate) fn is_text(value: &Bound<'_, PyAny>) -> bool {
    names::is_text(value)
}

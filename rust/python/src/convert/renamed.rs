//! Old names of keyword arguments and methods: each is refused with its new name, for one release.

use pyo3::exceptions::{PyAttributeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert::errors;

/// Refuses the keyword arguments that a function does not have; `key` and `value` name their successors.
///
/// `arguments` are those that the signature of `function` leaves over.
pub(crate) fn refuse_old_formats(
    py: Python<'_>,
    function: &str,
    arguments: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    let Some((name, _)) = arguments.and_then(|arguments| arguments.iter().next()) else { return Ok(()) };
    let name: String = name.extract()?;
    if name == "key" || name == "value" {
        let message = format!("{function}() takes a format as {name}_format=: {name}= was renamed");
        return Err(errors::argument_type(py, message));
    }
    // As Python reports it.
    Err(PyTypeError::new_err(format!("{function}() got an unexpected keyword argument '{name}'")))
}

/// Returns the error of a method under its old name, which raises it as an attribute does that does not exist.
pub(crate) fn old_method(object: &Bound<'_, PyAny>, old: &str, new: &str) -> PyErr {
    match object.get_type().name() {
        Ok(class) => PyAttributeError::new_err(format!("{class}.{old}() was renamed: use {new}()")),
        Err(error) => error,
    }
}

//! Arguments that are one of a few names.

use pyo3::prelude::*;

use crate::convert::errors;

/// Returns the value of a name, or an error that lists the names.
pub(super) fn named<T: Copy>(
    py: Python<'_>,
    argument: &str,
    name: &str,
    values: &[(&str, T)],
) -> PyResult<T> {
    match values.iter().find(|(known, _)| *known == name) {
        Some((_, value)) => Ok(*value),
        None => {
            let names: Vec<String> = values.iter().map(|(known, _)| format!("{known:?}")).collect();
            let message = format!("{argument}={name:?}: expected one of {}", names.join(", "));
            Err(errors::config(py, message))
        }
    }
}

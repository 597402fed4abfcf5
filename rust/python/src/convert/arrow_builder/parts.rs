//! The values in an object: the items of a list, the entries of a dict, and the fields of a record.
//!
//! Invariant: a key that is not a field is an error, so that nothing is lost.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyIterator, PyMapping, PyString};

use super::{Path, expected, unfit};

/// Returns the items of a list.
pub(crate) fn items<'py>(value: &Bound<'py, PyAny>, path: Path<'_>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    items_of(value, path)?.collect()
}

/// Returns the entries of a dict.
pub(crate) fn entries<'py>(
    value: &Bound<'py, PyAny>,
    path: Path<'_>,
) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
    let entries = as_dict(value.py(), value, path)?.into_iter();
    entries.map(|(key, value)| Ok((key_of(&key, path)?, value))).collect()
}

/// Returns the fields of a record with these names; `None` for one that it lacks.
pub(crate) fn fields<'py>(
    value: &Bound<'py, PyAny>,
    names: &[Arc<str>],
    path: Path<'_>,
) -> PyResult<Vec<Option<Bound<'py, PyAny>>>> {
    let row = as_dict(value.py(), value, path)?;
    let fields: Vec<_> = names.iter().map(|name| row.get_item(&**name)).collect::<PyResult<_>>()?;
    if fields.iter().flatten().count() < row.len() {
        check_keys(names.iter().map(|name| &**name), &row, path)?;
    }
    Ok(fields)
}

pub(super) fn items_of<'py>(value: &Bound<'py, PyAny>, path: Path<'_>) -> PyResult<Bound<'py, PyIterator>> {
    let is_text = value.is_instance_of::<PyString>() || value.is_instance_of::<PyBytes>();
    if is_text || value.cast::<PyMapping>().is_ok() {
        return Err(expected(path, "a list", value));
    }
    value.try_iter().map_err(|_| expected(path, "a list", value))
}

/// A dict of the keys and values of a mapping.
pub(super) fn as_dict<'py>(
    py: Python<'py>,
    value: &Bound<'py, PyAny>,
    path: Path<'_>,
) -> PyResult<Bound<'py, PyDict>> {
    if let Ok(dict) = value.cast::<PyDict>() {
        return Ok(dict.clone());
    }
    let mapping = value.cast::<PyMapping>().map_err(|_| expected(path, "a dict", value))?;
    let dict = PyDict::new(py);
    dict.update(mapping)?;
    Ok(dict)
}

fn key_of(key: &Bound<'_, PyAny>, path: Path<'_>) -> PyResult<String> {
    key.extract::<String>().map_err(|_| expected(path, "keys of type str", key))
}

/// Refuses a key that is none of the names.
pub(super) fn check_keys<'a>(
    names: impl Iterator<Item = &'a str> + Clone,
    row: &Bound<'_, PyDict>,
    path: Path<'_>,
) -> PyResult<()> {
    for key in row.keys() {
        let name = key_of(&key, path)?;
        if !names.clone().any(|known| known == name) {
            let known = names.collect::<Vec<_>>().join(", ");
            return Err(unfit(
                path,
                format_args!("the schema has no field {name:?}: its fields are {known}"),
            ));
        }
    }
    Ok(())
}

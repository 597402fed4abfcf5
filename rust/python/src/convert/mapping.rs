//! Arguments that are mappings, such as configurations and offsets by partition.
//!
//! Invariant: what is no mapping is an `ArgumentTypeError` that names the argument and says what is expected. It does not
//! show the argument, since a text in place of a configuration may have a password.

use pyo3::prelude::*;
use pyo3::types::PyString;

use super::errors;
use super::text::utf8;

/// The keys and values of an argument.
pub(crate) type Items<'py> = Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>;

/// Returns the items of a mapping; `name` is the argument's name, and `example` is a mapping for the message.
pub(crate) fn items<'py>(argument: &Bound<'py, PyAny>, name: &str, example: &str) -> PyResult<Items<'py>> {
    items_as(argument, name, &format!("a mapping, such as {example}"))
}

/// Returns the items of a mapping; `expected` describes the argument in the message.
pub(crate) fn items_as<'py>(
    argument: &Bound<'py, PyAny>,
    name: &str,
    expected: &str,
) -> PyResult<Items<'py>> {
    if !argument.hasattr("items")? || !argument.hasattr("keys")? {
        let ty = argument.get_type().name()?;
        let message = format!("{name} is of type {ty}: expected {expected}");
        return Err(errors::argument_type(argument.py(), message));
    }
    argument.call_method0("items")?.try_iter()?.map(|item| item?.extract()).collect()
}

/// Returns a key of a configuration; `name` and `example` are as for `items`.
pub(crate) fn key(key: &Bound<'_, PyAny>, name: &str, example: &str) -> PyResult<String> {
    let Ok(text) = key.cast::<PyString>() else {
        let ty = key.get_type().name()?;
        // Of other types, the text may be a secret.
        let number = key.extract::<i64>().ok().map(|number| format!(" {number}")).unwrap_or_default();
        let message = format!("{name} has the key{number} of type {ty}: expected a str, as in {example}");
        return Err(errors::argument_type(key.py(), message));
    };
    Ok(utf8(&format!("a key of {name}"), text)?.to_string())
}

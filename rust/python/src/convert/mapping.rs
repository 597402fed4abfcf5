//! Arguments that are mappings, such as configurations and offsets by partition.
//!
//! Invariant: what is no mapping is an `ArgumentTypeError` that names the argument and has an example.

use pyo3::prelude::*;

use super::errors;

/// The longest text of an argument in a message.
const SHOWN: usize = 100;

/// The keys and values of an argument.
pub(crate) type Items<'py> = Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>;

/// Returns the items of a mapping; `name` is the argument's name, and `example` is a mapping for the message.
pub(crate) fn items<'py>(argument: &Bound<'py, PyAny>, name: &str, example: &str) -> PyResult<Items<'py>> {
    if !argument.hasattr("items")? || !argument.hasattr("keys")? {
        let shown: String = argument.repr()?.to_string().chars().take(SHOWN).collect();
        let ty = argument.get_type().name()?;
        let message = format!("{name} is the {ty} {shown}: expected a mapping, such as {example}");
        return Err(errors::argument_type(argument.py(), message));
    }
    argument.call_method0("items")?.try_iter()?.map(|item| item?.extract()).collect()
}

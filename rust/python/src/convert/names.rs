//! Arguments that are collections of names, such as topics.
//!
//! Invariant: a single str is refused. Its letters would be names.

use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyIterator, PyMemoryView, PyString};

use super::errors;
use super::text::{check_name, utf8};

/// The longest text of an argument in a message.
const SHOWN: usize = 100;

/// The names that an argument lists. Any iterable of `str` is accepted, but no `str` and no `bytes`.
pub(crate) struct Names(pub(crate) Vec<String>);

impl<'py> FromPyObject<'_, 'py> for Names {
    type Error = PyErr;

    fn extract(argument: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        names(&argument, "names").map(Self)
    }
}

/// Converts names of a kind, such as "topics".
pub(crate) fn names(argument: &Bound<'_, PyAny>, kind: &str) -> PyResult<Vec<String>> {
    let list = format!("a list of {kind}");
    let name = |item: Bound<'_, PyAny>| -> PyResult<String> {
        let ty = item.get_type().name()?;
        let message = || format!("{list} has an item of type {ty}: expected str");
        let item = item.cast::<PyString>().map_err(|_| errors::argument_type(argument.py(), message()))?;
        let name = utf8(&list, item)?.to_string();
        check_name("the name", &name)?;
        Ok(name)
    };
    let names = items(argument, &list, |example| format!("[{example}]"))?;
    names.map(|item| name(item?)).collect()
}

/// Returns the items of a list.
///
/// The error says what is `expected`; `such_as` makes an example of that from a quoted name.
pub(crate) fn items<'py>(
    argument: &Bound<'py, PyAny>,
    expected: &str,
    such_as: impl FnOnce(&str) -> String,
) -> PyResult<Bound<'py, PyIterator>> {
    match argument.try_iter() {
        Ok(items) if !is_text(argument) => Ok(items),
        _ => {
            let example = match argument.extract::<String>() {
                Ok(text) if text.len() <= SHOWN => format!("{text:?}"),
                _ => "\"abc\"".to_owned(),
            };
            let message = format!(
                "expected {expected}, such as {}, not the {} {}",
                such_as(&example),
                argument.get_type().name()?,
                argument.repr()?.to_string().chars().take(SHOWN).collect::<String>()
            );
            Err(errors::argument_type(argument.py(), message))
        }
    }
}

/// Whether an argument is a str or bytes, which iterate over their letters.
pub(crate) fn is_text(argument: &Bound<'_, PyAny>) -> bool {
    argument.is_instance_of::<PyString>()
        || argument.is_instance_of::<PyBytes>()
        || argument.is_instance_of::<PyByteArray>()
        || argument.is_instance_of::<PyMemoryView>()
}

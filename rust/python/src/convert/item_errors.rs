//! The argument `errors` of calls about many items: raise the first error, or return it in its place.

use ottla_client::Result;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert::errors as convert;

/// What to do with the error of one item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ItemErrors {
    Raise,
    Return,
}

impl ItemErrors {
    pub(crate) fn parse(py: Python<'_>, name: &str) -> PyResult<Self> {
        match name {
            "raise" => Ok(Self::Raise),
            "return" => Ok(Self::Return),
            _ => Err(convert::config(py, format!("errors is {name:?}: expected \"raise\" or \"return\""))),
        }
    }

    /// Converts the results to a dict. The order of the keys decides which error is raised.
    pub(crate) fn to_dict<'py, K: IntoPyObject<'py>, T>(
        self,
        py: Python<'py>,
        results: impl IntoIterator<Item = (K, Result<T>)>,
        convert_item: impl Fn(Python<'_>, T) -> PyResult<Py<PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let items = PyDict::new(py);
        for (key, result) in results {
            let item = match result {
                Ok(item) => convert_item(py, item)?,
                Err(error) if self == Self::Return => convert::value(py, &error)?,
                Err(error) => return Err(convert::raise(py, &error)),
            };
            items.set_item(key, item)?;
        }
        Ok(items.into_any().unbind())
    }
}

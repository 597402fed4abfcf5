//! `Integer`: an integer argument that is no bool, which Python counts among the integers.
//!
//! Invariant: `True` is never taken for partition, offset or millisecond 1: it is the value of another argument.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBool;

/// An integer argument.
pub(crate) struct Integer<T>(pub(crate) T);

impl<'a, 'py, T: FromPyObject<'a, 'py>> FromPyObject<'a, 'py> for Integer<T> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if object.is_instance_of::<PyBool>() {
            return Err(PyTypeError::new_err(format!("expected an int, not the bool {}", *object)));
        }
        object.extract().map(Self).map_err(Into::into)
    }
}

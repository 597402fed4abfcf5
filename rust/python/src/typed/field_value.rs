//! A decoded key or value as a plain value of Python.
//!
//! Invariant: a value as it was written says of which type it is.

use ottla_client::typed::FieldValue;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::convert::arrow_value;
use crate::convert::no_object::NoObject;

static TYPED_VALUE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Converts a decoded key or value.
pub(crate) fn field_value<'py>(
    py: Python<'py>,
    value: FieldValue<'_>,
) -> Result<Bound<'py, PyAny>, NoObject> {
    match value {
        FieldValue::Null => Ok(py.None().into_bound(py)),
        FieldValue::Converted(array, row) => arrow_value::value(py, array, row),
        FieldValue::AsWritten(type_name, array, row) => {
            let value = arrow_value::value(py, array, row)?;
            let class = TYPED_VALUE.import(py, "ottla.schema.typed_value", "TypedValue")?;
            Ok(class.call1((type_name, value))?)
        }
    }
}

//! Python values of decoded keys and values.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use ottla_client::typed::{FieldValue, TypedColumn};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use super::avro_objects;
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

/// Converts a decoded key or value of a column, which may be of a recursive schema.
pub(crate) fn column_value<'py>(
    py: Python<'py>,
    column: &TypedColumn,
    value: FieldValue<'_>,
) -> Result<Bound<'py, PyAny>, NoObject> {
    match (column.avro_objects(), value) {
        (Some(objects), FieldValue::Converted(array, row)) if array.is_valid(row) => {
            let bytes = array.as_binary_opt::<i32>().map(|array| array.value(row)).unwrap_or_default();
            avro_objects::value(py, &objects, bytes)
        }
        (_, value) => field_value(py, value),
    }
}

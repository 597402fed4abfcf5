//! Plain Python values of recursive schemas of Avro, which have no columns: their encoding, and the way back.
//!
//! Invariant: they are those of columns: records and maps are dicts, and a union of several types a dict of its member.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use ottla_client::typed::{FieldValue, TypedColumn};
use ottla_schema::{AvroObjects, ObjectBuilder, ObjectSource};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::column_format::field_value;
use crate::convert::no_object::NoObject;
use crate::convert::{arrow_builder, arrow_value};

struct Builder<'py>(Python<'py>);

impl<'py> ObjectBuilder for Builder<'py> {
    type Object = Bound<'py, PyAny>;
    type Error = NoObject;

    fn null(&self) -> Self::Object {
        self.0.None().into_bound(self.0)
    }

    fn value(&self, array: &ArrayRef) -> Result<Self::Object, NoObject> {
        arrow_value::value(self.0, array, 0)
    }

    fn list(&self, items: Vec<Self::Object>) -> Result<Self::Object, NoObject> {
        Ok(PyList::new(self.0, items)?.into_any())
    }

    fn map(&self, entries: Vec<(&str, Self::Object)>) -> Result<Self::Object, NoObject> {
        let dict = PyDict::new(self.0);
        for (name, value) in entries {
            dict.set_item(name, value)?;
        }
        Ok(dict.into_any())
    }

    fn malformed(&self, reason: String) -> NoObject {
        NoObject::new(reason)
    }
}

struct Value<'py>(Bound<'py, PyAny>);

impl<'py> ObjectSource for Value<'py> {
    type Error = PyErr;

    fn is_null(&self) -> bool {
        self.0.is_none()
    }

    fn column(&self, data_type: &DataType) -> PyResult<ArrayRef> {
        arrow_builder::array(self.0.py(), data_type, &self.0)
    }

    fn items(&self) -> PyResult<Vec<Self>> {
        self.0.try_iter()?.map(|item| item.map(Self)).collect()
    }

    fn entries(&self) -> PyResult<Vec<(String, Self)>> {
        let dict = self.0.cast::<PyDict>()?;
        dict.iter().map(|(key, value)| Ok((key.extract()?, Self(value)))).collect()
    }

    fn field(&self, name: &str) -> PyResult<Self> {
        let value = self.0.cast::<PyDict>()?.get_item(name)?;
        Ok(Self(value.unwrap_or_else(|| self.0.py().None().into_bound(self.0.py()))))
    }

    fn unfit(&self, reason: String) -> PyErr {
        PyValueError::new_err(reason)
    }
}

/// Returns the payload of a value.
pub(super) fn payload(objects: &AvroObjects, value: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let mut payload = Vec::new();
    objects.encode(&Value(value.clone()), &mut payload)?;
    Ok(payload)
}

/// Returns a decoded key or value of a column, which may be of a recursive schema.
pub(crate) fn column_value<'py>(
    py: Python<'py>,
    column: &TypedColumn,
    value: FieldValue<'_>,
) -> Result<Bound<'py, PyAny>, NoObject> {
    match (column.avro_objects(), value) {
        (Some(objects), FieldValue::Converted(array, row)) if array.is_valid(row) => {
            let bytes = array.as_binary_opt::<i32>().map(|array| array.value(row)).unwrap_or_default();
            objects.decode(bytes, &Builder(py))
        }
        (_, value) => field_value(py, value),
    }
}

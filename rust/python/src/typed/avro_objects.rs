//! Plain Python values of recursive schemas of Avro, which have no columns: their encoding, and the way back.
//!
//! Invariant: they are those of columns: records and maps are dicts, and a union of several types a dict of its member.

use std::fmt::Display;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::DataType;
use ottla_schema::{AvroObjects, ObjectBuilder, ObjectSource};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::convert::arrow_builder::Path;
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

    fn within(&self, error: NoObject, place: &dyn Display) -> NoObject {
        error.within(|| format!(".{place}"))
    }
}

struct Value<'py>(Bound<'py, PyAny>);

impl<'py> ObjectSource for Value<'py> {
    type Error = PyErr;

    fn is_null(&self) -> bool {
        self.0.is_none()
    }

    fn column(&self, data_type: &DataType, place: &dyn Display) -> PyResult<ArrayRef> {
        arrow_builder::array_at(self.0.py(), data_type, &self.0, Path::Root(&place))
    }

    fn items(&self, place: &dyn Display) -> PyResult<Vec<Self>> {
        Ok(arrow_builder::items(&self.0, Path::Root(&place))?.into_iter().map(Self).collect())
    }

    fn entries(&self, place: &dyn Display) -> PyResult<Vec<(String, Self)>> {
        let entries = arrow_builder::entries(&self.0, Path::Root(&place))?.into_iter();
        Ok(entries.map(|(key, value)| (key, Self(value))).collect())
    }

    fn fields(&self, names: &[Arc<str>], place: &dyn Display) -> PyResult<Vec<Option<Self>>> {
        let fields = arrow_builder::fields(&self.0, names, Path::Root(&place))?.into_iter();
        Ok(fields.map(|field| field.map(Self)).collect())
    }

    fn unfit(reason: String, place: &dyn Display) -> PyErr {
        arrow_builder::unfit(Path::Root(&place), reason)
    }
}

/// Returns the payload of a value.
pub(super) fn payload(objects: &AvroObjects, value: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let mut payload = Vec::new();
    objects.encode(Value(value.clone()), &mut payload)?;
    Ok(payload)
}

/// Returns the value of its encoding.
pub(super) fn value<'py>(
    py: Python<'py>,
    objects: &AvroObjects,
    bytes: &[u8],
) -> Result<Bound<'py, PyAny>, NoObject> {
    objects.decode(bytes, &Builder(py))
}

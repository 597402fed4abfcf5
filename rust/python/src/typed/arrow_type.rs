//! `ArrowType`: a type that any Arrow library imports through the PyCapsule interface.

use std::sync::Arc;

use arrow_schema::{Field, FieldRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::convert::errors;

/// An Arrow type, for any library that supports Arrow's PyCapsule interface.
///
/// ``pyarrow.field(arrow_type)`` imports it, and ``pyarrow.schema(arrow_type)`` if it is a struct.
#[pyclass(frozen, module = "ottla.schema")]
pub(crate) struct ArrowType(FieldRef);

impl ArrowType {
    pub(super) fn new(field: Field) -> Self {
        Self(Arc::new(field))
    }
}

#[pymethods]
impl ArrowType {
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        ottla_capsules::schema_capsule(py, self.0.as_ref()).map_err(|error| errors::capsule(py, error))
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    fn __repr__(&self) -> String {
        format!("ArrowType({})", self.0.data_type())
    }
}

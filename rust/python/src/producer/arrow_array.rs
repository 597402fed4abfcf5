//! `Array`: an Arrow array that any Arrow library of Python can read.

use arrow_array::ArrayRef;
use arrow_schema::Field;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use crate::convert::errors;

/// An Arrow array that any Arrow library reads without a copy: ``pyarrow.array(array)``.
///
/// It implements Arrow's PyCapsule interface (``__arrow_c_array__``); ``len()`` is its
/// length.
#[pyclass(frozen, module = "ottla")]
pub(crate) struct Array(ArrayRef);

impl From<ArrayRef> for Array {
    fn from(array: ArrayRef) -> Self {
        Self(array)
    }
}

#[pymethods]
impl Array {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        ottla_capsules::schema_capsule(py, self.0.data_type()).map_err(|error| errors::capsule(py, error))
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        // The interface leaves casts to consumers that ask for another schema.
        drop(requested_schema);
        let field = Field::new("", self.0.data_type().clone(), true);
        ottla_capsules::array_capsules(py, &field, &self.0).map_err(|error| errors::capsule(py, error))
    }

    fn __repr__(&self) -> String {
        format!("Array(type={}, len={})", self.0.data_type(), self.0.len())
    }
}

//! `RecordBatch`: Arrow columns that any Arrow library imports without a copy, through the PyCapsule
//! interface. ottla itself needs no Arrow library.

use arrow_array::{RecordBatch as ArrowBatch, StructArray};
use arrow_schema::{DataType, Field};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList, PyTuple};

use crate::convert::{errors, notebook, rows};

/// Records as Arrow columns, for any library that supports Arrow's PyCapsule interface.
///
/// ``pyarrow.record_batch(batch)`` and ``polars.DataFrame(batch)`` import it without a copy.
#[pyclass(frozen, module = "ottla")]
pub(crate) struct RecordBatch(pub(crate) ArrowBatch);

#[pymethods]
impl RecordBatch {
    /// The number of rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.0.num_rows()
    }

    /// The number of columns.
    #[getter]
    fn num_columns(&self) -> usize {
        self.0.num_columns()
    }

    /// The names of the columns, in order.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.0.schema_ref().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The size of the columns' buffers in bytes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.get_array_memory_size()
    }

    /// Return the rows as tuples of plain Python values, without any Arrow library.
    ///
    /// It creates an object for each value, so use it for small batches only.
    ///
    /// Returns:
    ///     A tuple for each row, in the order of the columns. Timestamps are milliseconds since
    ///     1970; headers are lists of pairs of a name and a value, or None. In a batch with the
    ///     column ``_error``, a key or value that has no Python object, such as a date in the
    ///     year 10000, is None with the reason there.
    ///
    /// Raises:
    ///     SerializationError: a key or value has no Python object, and there is no ``_error``.
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        rows::rows(py, &self.0)
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = DataType::Struct(self.0.schema_ref().fields().clone());
        ottla_capsules::schema_capsule(py, &schema).map_err(|error| errors::capsule(py, error))
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        // The interface leaves casts to consumers that ask for another schema.
        drop(requested_schema);
        let schema = self.0.schema_ref();
        // Arrow's C interface passes columns as the fields of one struct.
        let field = Field::new_struct("", schema.fields().clone(), false);
        let field = field.with_metadata(schema.metadata().clone());
        let rows = StructArray::from(self.0.clone());
        ottla_capsules::array_capsules(py, &field, &rows).map_err(|error| errors::capsule(py, error))
    }

    fn _repr_html_<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let num_rows = self.0.num_rows();
        let first = rows::shown_rows(py, &self.0.slice(0, num_rows.min(notebook::MAX_ROWS)))?;
        notebook::html(py, "record_batch_html", (self.column_names(), first, num_rows))
    }

    fn __repr__(&self) -> String {
        format!("RecordBatch(num_rows={}, columns={:?})", self.0.num_rows(), self.column_names())
    }
}

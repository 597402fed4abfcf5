//! Rows of a batch as tuples, for applications without an Arrow library, such as the command line.
//! It creates one Python object per value; use the Arrow columns for large reads.

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use ottla_arrow::Column;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::convert::arrow_value;

/// Returns all rows, each with its values in the order of the columns.
pub(crate) fn rows<'py>(py: Python<'py>, batch: &RecordBatch) -> PyResult<Bound<'py, PyList>> {
    let columns = || batch.schema_ref().fields().iter().zip(batch.columns());
    let row = |at| {
        let values = columns().map(|(field, column)| value(py, field.name(), column, at));
        let values = values.collect::<PyResult<Vec<_>>>()?;
        PyTuple::new(py, values)
    };
    PyList::new(py, (0..batch.num_rows()).map(row).collect::<PyResult<Vec<_>>>()?)
}

/// Returns one value; the record's timestamp as milliseconds, Kafka's unit.
fn value<'py>(py: Python<'py>, name: &str, column: &ArrayRef, at: usize) -> PyResult<Bound<'py, PyAny>> {
    match column.data_type() {
        _ if column.is_null(at) => Ok(py.None().into_bound(py)),
        DataType::Timestamp(TimeUnit::Microsecond, _) if name == Column::Timestamp.name() => {
            let micros = column.as_primitive::<TimestampMicrosecondType>().value(at);
            micros.div_euclid(1000).into_bound_py_any(py)
        }
        DataType::List(_) if name == Column::Headers.name() => {
            headers(py, &column.as_list::<i32>().value(at)).map(Bound::into_any)
        }
        _ => arrow_value::value(py, column, at),
    }
}

/// Returns the headers of one record as pairs of a name and a value.
fn headers<'py>(py: Python<'py>, list: &ArrayRef) -> PyResult<Bound<'py, PyList>> {
    let pair = |at| {
        let fields = list.as_struct().columns();
        let fields =
            fields.iter().map(|field| arrow_value::value(py, field, at)).collect::<PyResult<Vec<_>>>()?;
        PyTuple::new(py, fields)
    };
    PyList::new(py, (0..list.len()).map(pair).collect::<PyResult<Vec<_>>>()?)
}

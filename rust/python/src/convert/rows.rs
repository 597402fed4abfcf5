//! Rows of a batch as tuples, for applications without an Arrow library, such as the command line.
//! It creates one Python object per value; use the Arrow columns for large reads.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use crate::convert::errors;

/// Returns all rows, each with its values in the order of the columns.
pub(crate) fn rows<'py>(py: Python<'py>, batch: &RecordBatch) -> PyResult<Bound<'py, PyList>> {
    let columns = batch.columns();
    let row = |at| {
        let values = columns.iter().map(|column| value(py, column, at)).collect::<PyResult<Vec<_>>>()?;
        PyTuple::new(py, values)
    };
    PyList::new(py, (0..batch.num_rows()).map(row).collect::<PyResult<Vec<_>>>()?)
}

/// Returns one value; a timestamp as milliseconds, Kafka's unit.
fn value<'py>(py: Python<'py>, column: &ArrayRef, at: usize) -> PyResult<Bound<'py, PyAny>> {
    if column.is_null(at) {
        return Ok(py.None().into_bound(py));
    }
    Ok(match column.data_type() {
        DataType::Binary => PyBytes::new(py, column.as_binary::<i32>().value(at)).into_any(),
        DataType::Utf8 => column.as_string::<i32>().value(at).into_pyobject(py)?.into_any(),
        DataType::Int32 => column.as_primitive::<Int32Type>().value(at).into_pyobject(py)?.into_any(),
        DataType::Int64 => column.as_primitive::<Int64Type>().value(at).into_pyobject(py)?.into_any(),
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            let micros = column.as_primitive::<TimestampMicrosecondType>().value(at);
            micros.div_euclid(1000).into_pyobject(py)?.into_any()
        }
        DataType::List(_) => headers(py, &column.as_list::<i32>().value(at))?.into_any(),
        other => {
            return Err(errors::config(py, format!("a column of type {other} cannot be converted to rows")));
        }
    })
}

/// Returns the headers of one record as pairs of a name and a value.
fn headers<'py>(py: Python<'py>, list: &ArrayRef) -> PyResult<Bound<'py, PyList>> {
    let pair = |at| {
        let fields = list.as_struct().columns();
        let fields = fields.iter().map(|field| value(py, field, at)).collect::<PyResult<Vec<_>>>()?;
        PyTuple::new(py, fields)
    };
    PyList::new(py, (0..list.len()).map(pair).collect::<PyResult<Vec<_>>>()?)
}

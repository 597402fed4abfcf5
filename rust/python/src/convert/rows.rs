//! Rows of a batch as tuples, for applications without an Arrow library, such as the command line.
//! It creates one Python object per value; use the Arrow columns for large reads.
//!
//! Invariant: a key or value that Python's objects do not hold is treated as one that cannot be decoded: it is None
//! with a reason if the batch has the column of reasons, and otherwise an error that names the record.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use ottla_arrow::Column;
use ottla_client::typed::ERROR_COLUMN;
use ottla_client::{Error, Kind};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::convert::no_object::NoObject;
use crate::convert::{arrow_value, errors};

/// The treatment of a value that no Python object can represent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NoObjects {
    /// An error of the call.
    Raise,
    /// None, with the reason in the last column.
    Explain,
    /// The text of the reason.
    Show,
}

/// Returns all rows, each with its values in the order of the columns.
pub(crate) fn rows<'py>(py: Python<'py>, batch: &RecordBatch) -> PyResult<Bound<'py, PyList>> {
    let last = batch.schema_ref().fields().last();
    let explains = last.is_some_and(|field| field.name() == ERROR_COLUMN);
    convert(py, batch, if explains { NoObjects::Explain } else { NoObjects::Raise })
}

/// Returns all rows for a reader's eyes: the reason stands for a value that has no Python object.
pub(crate) fn shown_rows<'py>(py: Python<'py>, batch: &RecordBatch) -> PyResult<Bound<'py, PyList>> {
    convert(py, batch, NoObjects::Show)
}

fn convert<'py>(py: Python<'py>, batch: &RecordBatch, no_objects: NoObjects) -> PyResult<Bound<'py, PyList>> {
    let row = |at| {
        let mut values = Vec::with_capacity(batch.num_columns());
        let mut reasons = Vec::new();
        for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
            let name = field.name();
            let converted = match value(py, name, column, at) {
                Ok(value) => value,
                Err(failure) => {
                    let reason = failure.reason()?;
                    match no_objects {
                        NoObjects::Raise => return Err(errors::raise(py, &error(batch, at, name, &reason))),
                        NoObjects::Show => reason.into_bound_py_any(py)?,
                        NoObjects::Explain => {
                            reasons.push(format!("{name}: {reason}"));
                            py.None().into_bound(py)
                        }
                    }
                }
            };
            values.push(converted);
        }
        if !reasons.is_empty()
            && let Some(last) = values.last_mut()
        {
            let before: Option<String> = last.extract()?;
            let all: Vec<String> = before.into_iter().chain(reasons).collect();
            *last = all.join("; ").into_bound_py_any(py)?;
        }
        PyTuple::new(py, values)
    };
    PyList::new(py, (0..batch.num_rows()).map(row).collect::<PyResult<Vec<_>>>()?)
}

/// The error for a value of a row, with the record's place as far as the batch has it.
fn error(batch: &RecordBatch, at: usize, name: &str, reason: &str) -> Error {
    let column = |column: Column| batch.column_by_name(column.name());
    let mut error = Error::new(Kind::Serialization, format!("the {name} cannot be decoded: {reason}"));
    let topic = column(Column::Topic).and_then(|array| array.as_string_opt::<i32>());
    if let Some(topics) = topic {
        error = error.topic(&Arc::from(topics.value(at)));
    }
    let partition = column(Column::Partition).and_then(|array| array.as_primitive_opt::<Int32Type>());
    if let (Some(topics), Some(partitions)) = (topic, partition) {
        error = error.at(&Arc::from(topics.value(at)), partitions.value(at));
    }
    let offset = column(Column::Offset).and_then(|array| array.as_primitive_opt::<Int64Type>());
    match offset {
        Some(offsets) => error.offset(offsets.value(at)),
        None => error,
    }
}

/// Returns one value; the record's timestamp as milliseconds, Kafka's unit.
fn value<'py>(
    py: Python<'py>,
    name: &str,
    column: &ArrayRef,
    at: usize,
) -> Result<Bound<'py, PyAny>, NoObject> {
    match column.data_type() {
        _ if column.is_null(at) => Ok(py.None().into_bound(py)),
        DataType::Timestamp(TimeUnit::Microsecond, _) if name == Column::Timestamp.name() => {
            let micros = column.as_primitive::<TimestampMicrosecondType>().value(at);
            Ok(micros.div_euclid(1000).into_bound_py_any(py)?)
        }
        DataType::List(_) if name == Column::Headers.name() => {
            headers(py, &column.as_list::<i32>().value(at)).map(Bound::into_any)
        }
        _ => arrow_value::value(py, column, at),
    }
}

/// Returns the headers of one record as pairs of a name and a value.
fn headers<'py>(py: Python<'py>, list: &ArrayRef) -> Result<Bound<'py, PyList>, NoObject> {
    let pair = |at| {
        let fields = list.as_struct().columns();
        let fields = fields.iter().map(|field| arrow_value::value(py, field, at));
        Ok(PyTuple::new(py, fields.collect::<Result<Vec<_>, NoObject>>()?)?)
    };
    Ok(PyList::new(py, (0..list.len()).map(pair).collect::<Result<Vec<_>, NoObject>>()?)?)
}

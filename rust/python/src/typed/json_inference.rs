//! `infer_json`: the Arrow type of samples of JSON.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use ottla_client::{Error, Kind};
use ottla_schema::{Header, infer_json_field};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyString};

use super::arrow_type::ArrowType;
use super::column_format::WIRE_FORMATS;
use super::named::named;
use crate::convert::errors;

/// The samples of an argument.
enum Samples {
    Arrays(Vec<ArrayRef>),
    Objects(Vec<Sample>),
}

enum Sample {
    Bytes(PyBackedBytes),
    Text(PyBackedStr),
}

/// Infer the Arrow type of values in JSON, for ``Json(schema=...)``.
///
/// Every value fits the type, so give it enough of them, such as the first batch of a topic. The
/// keys of objects are fields in the order in which they come. Integers together with other numbers
/// become doubles; values of several types, integers beyond 64 bits, empty objects, and what is
/// always null become JSON text. Everything may be null. Values that are not JSON are ignored.
///
/// Args:
///     values: bytes or strings in any iterable, or an Arrow array of them. A table, such as the
///         result of ``poll_arrow``, stands for one of its columns. Nulls are ignored.
///     column: the column of a table.
///     wire_format: what the values begin with, as for ``Json``. Default: with the JSON.
///
/// Returns:
///     The type.
///
/// Raises:
///     SchemaError: no value is JSON, or the type is too large.
///     ConfigError: an argument is invalid.
#[pyfunction]
#[pyo3(signature = (values, *, column="value", wire_format="none"))]
pub(crate) fn infer_json(
    py: Python<'_>,
    values: &Bound<'_, PyAny>,
    column: &str,
    wire_format: &str,
) -> PyResult<ArrowType> {
    let wire_format = named(py, "wire_format", wire_format, &WIRE_FORMATS)?;
    let samples = match values.hasattr("__arrow_c_array__")? || values.hasattr("__arrow_c_stream__")? {
        true => Samples::Arrays(arrays(values, column)?),
        false => Samples::Objects(objects(values)?),
    };
    let inferred = py.detach(|| {
        let mut payloads: Vec<&[u8]> = Vec::new();
        match &samples {
            Samples::Arrays(arrays) => arrays.iter().for_each(|array| add_payloads(array, &mut payloads)),
            Samples::Objects(objects) => payloads.extend(objects.iter().map(|sample| match sample {
                Sample::Bytes(bytes) => bytes.as_ref(),
                Sample::Text(text) => text.as_bytes(),
            })),
        }
        // With the id in a header, the value has none; JSON begins with none of the bytes before an id.
        let payload =
            |value| wire_format.split(value, Header::Value, |_| None).map_or(value, |framed| framed.payload);
        infer_json_field(payloads.into_iter().map(payload))
    });
    match inferred {
        Ok(field) => Ok(ArrowType::new(field)),
        Err(error) => Err(errors::raise(py, &Error::new(Kind::Schema, error.to_string()))),
    }
}

fn objects(values: &Bound<'_, PyAny>) -> PyResult<Vec<Sample>> {
    if values.is_instance_of::<PyBytes>() || values.is_instance_of::<PyString>() {
        let message = "values is one value: expected a list of them, or an Arrow array";
        return Err(errors::argument_type(values.py(), message.to_owned()));
    }
    let mut samples = Vec::new();
    let Ok(items) = values.try_iter() else {
        let ty = values.get_type().name()?;
        let message = format!("values is of type {ty}: expected a list of values, or Arrow data");
        return Err(errors::argument_type(values.py(), message));
    };
    for (at, value) in items.enumerate() {
        let value = value?;
        if value.is_none() {
            continue;
        }
        samples.push(match (value.extract::<PyBackedBytes>(), value.extract::<PyBackedStr>()) {
            (Ok(bytes), _) => Sample::Bytes(bytes),
            (_, Ok(text)) => Sample::Text(text),
            _ => {
                let ty = value.get_type().name()?;
                let message = format!("values[{at}] is of type {ty}: expected bytes, str or None");
                return Err(PyTypeError::new_err(message));
            }
        });
    }
    Ok(samples)
}

/// The arrays of an Arrow object; of a table, those of one column.
fn arrays(values: &Bound<'_, PyAny>, column: &str) -> PyResult<Vec<ArrayRef>> {
    let py = values.py();
    let arrays = ottla_capsules::arrays(values).map_err(|error| errors::capsule(py, error))?;
    let column_of = |array: ArrayRef| match array.as_struct_opt() {
        Some(rows) => rows.column_by_name(column).cloned().ok_or_else(|| {
            errors::config(py, format!("column={column:?}: the table has {}", rows.column_names().join(", ")))
        }),
        None => Ok(array),
    };
    let arrays = arrays.into_iter().map(column_of).collect::<PyResult<Vec<_>>>()?;
    for array in &arrays {
        match array.data_type() {
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView => {}
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {}
            other => {
                let message = format!("values are an array of {other}: expected bytes or strings");
                return Err(PyTypeError::new_err(message));
            }
        }
    }
    Ok(arrays)
}

fn add_payloads<'a>(array: &'a ArrayRef, payloads: &mut Vec<&'a [u8]>) {
    match array.data_type() {
        DataType::Binary => payloads.extend(array.as_binary::<i32>().iter().flatten()),
        DataType::LargeBinary => payloads.extend(array.as_binary::<i64>().iter().flatten()),
        DataType::BinaryView => payloads.extend(array.as_binary_view().iter().flatten()),
        DataType::Utf8 => payloads.extend(array.as_string::<i32>().iter().flatten().map(str::as_bytes)),
        DataType::LargeUtf8 => payloads.extend(array.as_string::<i64>().iter().flatten().map(str::as_bytes)),
        DataType::Utf8View => payloads.extend(array.as_string_view().iter().flatten().map(str::as_bytes)),
        _ => {}
    }
}

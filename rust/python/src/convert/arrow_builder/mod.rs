//! Arrow arrays of plain Python objects: the counterpart of `arrow_value`.
//!
//! - `numbers`: numbers and decimals. `times`: the classes of `datetime`. `nested`: structs, lists and maps.
//! - `json`: values of JSON as such objects. `parts`: the values in an object.
//!
//! Invariant: an object becomes exactly the value that its type can hold, or an error that names the field.

mod json;
mod nested;
mod numbers;
mod parts;
mod times;

use std::fmt;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, FixedSizeBinaryArray, LargeStringArray, NullArray, StringArray,
};
use arrow_schema::DataType;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBool, PyString};

pub(crate) use self::json::is_text_in_json;
pub(crate) use self::parts::{entries, fields, items};
use super::text::LONE_SURROGATE;

/// The values of a column; `None` is null.
type Values<'py> = [Option<Bound<'py, PyAny>>];

/// Where a value is, by the names that lead to it.
#[derive(Clone, Copy)]
pub(crate) enum Path<'a> {
    /// The place of the whole value in another one, such as `items[2]`; or empty.
    Root(&'a dyn fmt::Display),
    Field(&'a Path<'a>, &'a str),
}

impl Path<'_> {
    const ROOT: Path<'static> = Path::Root(&"");
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root(place) => match place.to_string() {
                place if place.is_empty() => f.write_str("the value"),
                place => write!(f, "field {place}"),
            },
            Self::Field(Path::Root(place), name) => match place.to_string() {
                place if place.is_empty() => write!(f, "field {name}"),
                place => write!(f, "field {place}.{name}"),
            },
            Self::Field(parent, name) => write!(f, "{parent}.{name}"),
        }
    }
}

/// Returns an array with one row.
pub(crate) fn array<'py>(
    py: Python<'py>,
    data_type: &DataType,
    value: &Bound<'py, PyAny>,
) -> PyResult<ArrayRef> {
    array_at(py, data_type, value, Path::ROOT)
}

/// Returns an array with one row, of a value at a place.
pub(crate) fn array_at<'py>(
    py: Python<'py>,
    data_type: &DataType,
    value: &Bound<'py, PyAny>,
    path: Path<'_>,
) -> PyResult<ArrayRef> {
    let value = (!value.is_none()).then(|| value.clone());
    column(py, data_type, &[value], path)
}

/// Returns an array with one row, of a value of JSON in the form in which `ottla consume` prints it.
pub(crate) fn array_of_json<'py>(
    py: Python<'py>,
    data_type: &DataType,
    value: &Bound<'py, PyAny>,
) -> PyResult<ArrayRef> {
    array(py, data_type, &json::object(data_type, value, Path::ROOT)?)
}

/// The error for an object of another type.
fn expected(path: Path<'_>, what: impl fmt::Display, value: &Bound<'_, PyAny>) -> PyErr {
    let ty = value.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!("{path}: expected {what}, not {ty}"))
}

/// A number in a message: its first digits, and none of one that Python does not print.
struct Shown<'a, 'py>(&'a Bound<'py, PyAny>);

impl fmt::Display for Shown<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 100;
        // Python refuses to print an int of thousands of digits.
        let Ok(text) = self.0.str() else { return f.write_str("the number") };
        let text = text.to_string_lossy();
        match text.char_indices().nth(SHOWN) {
            Some((cut, _)) => write!(f, "{}...", &text[..cut]),
            None => f.write_str(&text),
        }
    }
}

/// The error for a value that does not fit.
pub(crate) fn unfit(path: Path<'_>, why: impl fmt::Display) -> PyErr {
    PyValueError::new_err(format!("{path}: {why}"))
}

/// Converts each value that is not null.
fn each<'a, 'py: 'a, T>(
    values: &'a Values<'py>,
    convert: impl Fn(&Bound<'py, PyAny>) -> PyResult<T>,
) -> PyResult<Vec<Option<T>>> {
    values.iter().map(|value| value.as_ref().map(&convert).transpose()).collect()
}

fn column<'py>(
    py: Python<'py>,
    data_type: &DataType,
    values: &Values<'py>,
    path: Path<'_>,
) -> PyResult<ArrayRef> {
    let text = |value: &Bound<'py, PyAny>| {
        let text = value.cast::<PyString>().map_err(|_| expected(path, "a str", value))?;
        PyBackedStr::try_from(text.clone()).map_err(|_| unfit(path, format_args!("it has {LONE_SURROGATE}")))
    };
    let bytes = |value: &Bound<'py, PyAny>| {
        value.extract::<PyBackedBytes>().map_err(|_| expected(path, "bytes", value))
    };
    Ok(match data_type {
        DataType::Null if values.iter().all(Option::is_none) => Arc::new(NullArray::new(values.len())),
        DataType::Null => return Err(unfit(path, "only None is possible")),
        DataType::Boolean => Arc::new(BooleanArray::from(each(values, |value| {
            let flag = value.cast::<PyBool>().map_err(|_| expected(path, "a bool", value))?;
            Ok(flag.is_true())
        })?)),
        DataType::Utf8 => Arc::new(StringArray::from_iter(each(values, text)?)),
        DataType::LargeUtf8 => Arc::new(LargeStringArray::from_iter(each(values, text)?)),
        DataType::Binary => Arc::new(BinaryArray::from_iter(each(values, bytes)?)),
        DataType::FixedSizeBinary(size) => {
            let rows = each(values, |value| {
                let bytes = bytes(value)?;
                match i32::try_from(bytes.len()) == Ok(*size) {
                    true => Ok(bytes),
                    false => Err(unfit(path, format_args!("it has {} bytes, not {size}", bytes.len()))),
                }
            })?;
            let array = FixedSizeBinaryArray::try_from_sparse_iter_with_size(rows.into_iter(), *size);
            Arc::new(array.map_err(|error| unfit(path, error))?)
        }
        DataType::Struct(fields) => nested::structs(py, fields, values, path)?,
        DataType::List(item) => nested::lists::<i32>(py, item, values, path)?,
        DataType::LargeList(item) => nested::lists::<i64>(py, item, values, path)?,
        DataType::Map(entries, is_sorted) => nested::maps(py, entries, *is_sorted, values, path)?,
        other => match numbers::column(py, other, values, path)? {
            Some(array) => array,
            None => match times::column(py, other, values, path)? {
                Some(array) => array,
                None => return Err(unfit(path, format_args!("no Python object becomes the type {other}"))),
            },
        },
    })
}

//! Arrow arguments of `send_batch`: keys and values, or tables, in chunks of the same length.
//!
//! Invariant: the keys and values of a pair have the same number of rows.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StructArray};
use arrow_schema::ArrowError;
use ottla_arrow::{ColumnsError, RecordColumns};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::convert::errors;
use crate::producer::batch_args::BatchArgs;
use crate::producer::plain_columns::plain;

/// Optional keys with values; or a table alone.
pub(crate) type Pair = (Option<ArrayRef>, ArrayRef);

pub(crate) fn speaks_arrow(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(object.hasattr("__arrow_c_array__")? || object.hasattr("__arrow_c_stream__")?)
}

/// Reads keys and values, or tables, as aligned chunks.
pub(crate) fn pairs(py: Python<'_>, args: &BatchArgs<'_, '_>, are_typed: bool) -> PyResult<Vec<Pair>> {
    if args.headers.is_some() || args.timestamps.is_some() || args.partitions.is_some() {
        let message = "with Arrow, headers, timestamps and partitions are columns of the table: headers, timestamp, partition";
        return Err(errors::config(py, message));
    }
    let values = plain_chunks("values", args.values, are_typed)?;
    let keys = args.keys.filter(|keys| !keys.is_none());
    let keys = keys.map(|keys| plain_chunks("keys", keys, are_typed)).transpose()?;
    match keys {
        None => Ok(values.into_iter().map(|values| (None, values)).collect()),
        Some(keys) => aligned(py, &keys, &values, are_typed),
    }
}

pub(crate) fn all_columns(pairs: &[Pair]) -> Result<Vec<RecordColumns<'_>>, ColumnsError> {
    pairs.iter().map(columns).collect()
}

pub(crate) fn columns((keys, values): &Pair) -> Result<RecordColumns<'_>, ColumnsError> {
    match (values.as_struct_opt(), keys) {
        (Some(rows), None) => RecordColumns::from_struct(rows),
        (_, keys) => RecordColumns::from_arrays(keys.as_deref(), values),
    }
}

/// Reads the arrays of any Arrow object.
pub(crate) fn chunks(what: &str, object: &Bound<'_, PyAny>) -> PyResult<Vec<ArrayRef>> {
    if !speaks_arrow(object)? {
        let ty = object.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "{what} is of type {ty}; with Arrow, both keys and values are Arrow arrays"
        )));
    }
    ottla_capsules::arrays(object).map_err(|error| errors::capsule(object.py(), error))
}

/// Reads the arrays of any Arrow object, in the types that records are read from.
fn plain_chunks(what: &str, object: &Bound<'_, PyAny>, are_typed: bool) -> PyResult<Vec<ArrayRef>> {
    let mut first = 0;
    let plain = |array: ArrayRef| {
        // With a format, a struct may be the value itself.
        let is_value =
            are_typed && array.as_struct_opt().is_some_and(|rows| rows.column_by_name("value").is_none());
        let rows = array.len();
        let converted = if is_value { Ok(array) } else { plain(array, first) };
        first += rows;
        converted.map_err(|error| match error {
            ArrowError::InvalidArgumentError(message) => errors::config(object.py(), message),
            other => errors::config(object.py(), other.to_string()),
        })
    };
    chunks(what, object)?.into_iter().map(plain).collect()
}

/// Slices keys and values, whose chunks may differ, into chunks of the same length.
fn aligned(py: Python<'_>, keys: &[ArrayRef], values: &[ArrayRef], are_typed: bool) -> PyResult<Vec<Pair>> {
    // With a format, a struct may be the value itself.
    let is_table = |values: &StructArray| !are_typed || values.column_by_name("value").is_some();
    if values.iter().filter_map(|values| values.as_struct_opt()).any(is_table) {
        return Err(errors::config(py, "keys: the table has its own column for keys; pass one or the other"));
    }
    let length = |chunks: &[ArrayRef]| chunks.iter().map(|chunk| chunk.len()).sum::<usize>();
    if length(keys) != length(values) {
        let message = format!("keys has {} items and values has {}", length(keys), length(values));
        return Err(errors::config(py, message));
    }
    let mut pairs = Vec::new();
    let mut keys = keys.iter().filter(|keys| !keys.is_empty()).cloned();
    let mut rest: Option<ArrayRef> = None;
    for values in values {
        let mut at = 0;
        while at < values.len()
            && let Some(chunk) = rest.take().or_else(|| keys.next())
        {
            let count = chunk.len().min(values.len() - at);
            pairs.push((Some(chunk.slice(0, count)), values.slice(at, count)));
            rest = (count < chunk.len()).then(|| chunk.slice(count, chunk.len() - count));
            at += count;
        }
    }
    Ok(pairs)
}

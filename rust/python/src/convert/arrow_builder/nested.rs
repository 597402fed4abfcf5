//! Structs, lists and maps.
//!
//! Invariants: a key that is not a field is an error, so that nothing is lost; a field whose key no value has is
//! left out of the struct, so that an encoder takes its default or refuses it. A struct without values, as in an
//! empty list, has all fields.

use std::sync::Arc;

use arrow_array::{ArrayRef, GenericListArray, MapArray, OffsetSizeTrait, StructArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, FieldRef, Fields};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::parts::{as_dict, check_keys, items_of};
use super::{Path, Values, column, expected, unfit};

fn nulls(values: &Values<'_>) -> Option<NullBuffer> {
    let nulls = NullBuffer::from_iter(values.iter().map(Option::is_some));
    (nulls.null_count() > 0).then_some(nulls)
}

/// The fields that stand for the types of a union: `member0`, `member1` and so on.
pub(super) fn is_union(fields: &Fields) -> bool {
    fields.len() > 1 && fields.iter().enumerate().all(|(at, field)| *field.name() == format!("member{at}"))
}

pub(super) fn structs<'py>(
    py: Python<'py>,
    fields: &Fields,
    values: &Values<'py>,
    path: Path<'_>,
) -> PyResult<ArrayRef> {
    let rows = values.iter().map(|value| match value {
        Some(value) if is_union(fields) => member(py, fields, value, path).map(Some),
        Some(value) => as_dict(py, value, path).map(Some),
        None => Ok(None),
    });
    let rows: Vec<Option<Bound<'py, PyDict>>> = rows.collect::<PyResult<_>>()?;
    for row in rows.iter().flatten() {
        check_keys(fields.iter().map(|field| field.name().as_str()), row, path)?;
    }
    let is_empty = rows.iter().flatten().next().is_none();
    let (mut present, mut columns): (Vec<FieldRef>, Vec<ArrayRef>) = (Vec::new(), Vec::new());
    for field in fields {
        let mut is_present = false;
        let mut cells = Vec::with_capacity(rows.len());
        for row in &rows {
            let cell = match row {
                Some(row) => row.get_item(field.name())?,
                None => None,
            };
            is_present |= cell.is_some();
            cells.push(cell.filter(|cell| !cell.is_none()));
        }
        if !is_present && !is_empty {
            continue;
        }
        let cells = column(py, field.data_type(), &cells, Path::Field(&path, field.name()))?;
        // Whether null is allowed is the encoder's to say.
        let field = Field::new(field.name(), cells.data_type().clone(), true);
        present.push(Arc::new(field.with_metadata(Default::default())));
        columns.push(cells);
    }
    let array = StructArray::try_new_with_length(present.into(), columns, nulls(values), values.len());
    Ok(Arc::new(array.map_err(|error| unfit(path, error))?))
}

/// The dict of a union's value, which may be one already: `{"member1": value}`.
fn member<'py>(
    py: Python<'py>,
    fields: &Fields,
    value: &Bound<'py, PyAny>,
    path: Path<'_>,
) -> PyResult<Bound<'py, PyDict>> {
    if let Ok(dict) = value.cast::<PyDict>()
        && !dict.is_empty()
        && dict.keys().iter().all(|key| key.extract::<String>().is_ok_and(|key| fields.find(&key).is_some()))
    {
        return Ok(dict.clone());
    }
    let dict = PyDict::new(py);
    for field in fields {
        if column(py, field.data_type(), &[Some(value.clone())], path).is_ok() {
            dict.set_item(field.name(), value)?;
            return Ok(dict);
        }
    }
    let types: Vec<String> = fields.iter().map(|field| field.data_type().to_string()).collect();
    Err(expected(path, format_args!("a value of one of the union's types ({})", types.join(", ")), value))
}

pub(super) fn lists<'py, O: OffsetSizeTrait>(
    py: Python<'py>,
    item: &FieldRef,
    values: &Values<'py>,
    path: Path<'_>,
) -> PyResult<ArrayRef> {
    let (mut items, mut lengths) = (Vec::new(), Vec::with_capacity(values.len()));
    for value in values {
        let before = items.len();
        if let Some(value) = value {
            for item in items_of(value, path)? {
                let item = item?;
                items.push((!item.is_none()).then_some(item));
            }
        }
        lengths.push(items.len() - before);
    }
    let items = column(py, item.data_type(), &items, path)?;
    let item = Arc::new(Field::new(item.name(), items.data_type().clone(), true));
    let offsets = OffsetBuffer::<O>::from_lengths(lengths);
    let array = GenericListArray::<O>::try_new(item, offsets, items, nulls(values));
    Ok(Arc::new(array.map_err(|error| unfit(path, error))?))
}

pub(super) fn maps<'py>(
    py: Python<'py>,
    entries: &FieldRef,
    is_sorted: bool,
    values: &Values<'py>,
    path: Path<'_>,
) -> PyResult<ArrayRef> {
    let DataType::Struct(fields) = entries.data_type() else {
        return Err(PyTypeError::new_err("a map has no entries"));
    };
    let [key, item] = &**fields else { return Err(PyTypeError::new_err("a map has no key and value")) };
    let (mut keys, mut items, mut lengths) = (Vec::new(), Vec::new(), Vec::with_capacity(values.len()));
    for value in values {
        let before = keys.len();
        if let Some(value) = value {
            for (key, item) in as_dict(py, value, path)? {
                keys.push(Some(key));
                items.push((!item.is_none()).then_some(item));
            }
        }
        lengths.push(keys.len() - before);
    }
    let keys = column(py, key.data_type(), &keys, Path::Field(&path, "key"))?;
    let items = column(py, item.data_type(), &items, Path::Field(&path, "value"))?;
    let fields: Fields = vec![
        Field::new(key.name(), keys.data_type().clone(), false),
        Field::new(item.name(), items.data_type().clone(), true),
    ]
    .into();
    let rows = StructArray::try_new(fields.clone(), vec![keys, items], None);
    let rows = rows.map_err(|error| unfit(path, error))?;
    let entries = Arc::new(Field::new(entries.name(), DataType::Struct(fields), false));
    let offsets = OffsetBuffer::from_lengths(lengths);
    let array = MapArray::try_new(entries, offsets, rows, nulls(values), is_sorted);
    Ok(Arc::new(array.map_err(|error| unfit(path, error))?))
}

//! Removes the fields of a type that are not selected.
//!
//! Invariant: removed fields are never examined. They may have types that JSON cannot be decoded to.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef};

use super::unsupported;
use crate::error::SchemaError;
use crate::projection::{Selection, join};
use crate::shape::check_level;

/// Returns the selected part of a field.
pub(super) fn project(field: &Field, selection: &Selection) -> Result<Field, SchemaError> {
    project_at(field, selection, "", 1)
}

fn project_at(field: &Field, selection: &Selection, path: &str, depth: usize) -> Result<Field, SchemaError> {
    if selection.is_all() {
        return Ok(field.clone());
    }
    check_level(depth).map_err(unsupported)?;
    let inside = |inner: &FieldRef, depth| project_at(inner, selection, path, depth).map(Arc::new);
    let data_type = match field.data_type() {
        DataType::Struct(fields) => {
            selection.check_names(path, fields.iter().map(|field| field.name().as_str()))?;
            let selected = fields.iter().filter_map(|field| Some((field, selection.get(field.name())?)));
            let selected =
                selected.map(|(field, inner)| project_at(field, inner, &join(path, field.name()), depth + 1));
            DataType::Struct(selected.collect::<Result<_, _>>()?)
        }
        DataType::List(items) => DataType::List(inside(items, depth + 1)?),
        DataType::LargeList(items) => DataType::LargeList(inside(items, depth + 1)?),
        DataType::Map(entries, sorted) => {
            let DataType::Struct(pair) = entries.data_type() else {
                return Err(unsupported("a map has no entries"));
            };
            let [key, value] = pair.as_ref() else {
                return Err(unsupported("the entries of a map are not pairs"));
            };
            let pair = DataType::Struct(vec![Arc::clone(key), inside(value, depth + 2)?].into());
            DataType::Map(Arc::new(entries.as_ref().clone().with_data_type(pair)), *sorted)
        }
        _ => {
            selection.check_leaf(path)?;
            field.data_type().clone()
        }
    };
    Ok(field.clone().with_data_type(data_type))
}

//! The types of the columns: those of arrow-avro, with enums as strings and unions as structs, which Spark,
//! pandas and polars can hold.
//!
//! A union of several types, apart from null, becomes a struct with a nullable field for each branch, named
//! `member0`, `member1` … in their order, as Spark's `from_avro` does it.
//!
//! Invariant: the conversion of an array has exactly the converted type.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, Int32Array, ListArray, MapArray, StructArray, UnionArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, UnionFields};
use arrow_select::take::take;

use super::payload_decoder::plain_field;
use super::unsupported;
use crate::error::SchemaError;

/// The type of a column for a type of arrow-avro.
pub(super) fn column_type(arrow: &DataType) -> Result<DataType, SchemaError> {
    let field = |field: &FieldRef| -> Result<FieldRef, SchemaError> {
        Ok(Arc::new(plain_field(field, column_type(field.data_type())?)))
    };
    Ok(match arrow {
        DataType::Dictionary(_, values) => column_type(values)?,
        DataType::Struct(fields) => {
            DataType::Struct(fields.iter().map(field).collect::<Result<Fields, _>>()?)
        }
        DataType::List(items) => DataType::List(field(items)?),
        DataType::Map(entries, sorted) => DataType::Map(field(entries)?, *sorted),
        DataType::Union(branches, _) => {
            let members = members(branches).map(|(_, number, branch)| {
                let data_type = column_type(branch.data_type())?;
                Ok(Arc::new(Field::new(format!("member{number}"), data_type, true)))
            });
            DataType::Struct(members.collect::<Result<Fields, SchemaError>>()?)
        }
        DataType::Null => return Err(unsupported("a value of type null has no column type")),
        other => other.clone(),
    })
}

/// The branches of a union apart from null: their type ids, their numbers and their fields.
fn members(branches: &UnionFields) -> impl Iterator<Item = (i8, usize, &FieldRef)> {
    let values = branches.iter().filter(|(_, branch)| branch.data_type() != &DataType::Null);
    values.enumerate().map(|(number, (id, branch))| (id, number, branch))
}

/// Converts an array of arrow-avro to the column's type.
pub(super) fn to_column_type(array: &ArrayRef, target: &DataType) -> Result<ArrayRef, ArrowError> {
    if array.data_type() == target {
        return Ok(Arc::clone(array));
    }
    match (array.data_type(), target) {
        (DataType::Dictionary(_, _), _) => {
            let dictionary = array.as_dictionary::<Int32Type>();
            take(dictionary.values(), dictionary.keys(), None)
        }
        (DataType::Struct(_), DataType::Struct(fields)) => {
            let array = array.as_struct();
            let columns = array.columns().iter().zip(fields);
            let columns = columns.map(|(column, field)| to_column_type(column, field.data_type()));
            let columns = columns.collect::<Result<Vec<_>, _>>()?;
            Ok(Arc::new(StructArray::try_new(fields.clone(), columns, array.nulls().cloned())?))
        }
        (DataType::List(_), DataType::List(field)) => {
            let array = array.as_list::<i32>();
            let values = to_column_type(array.values(), field.data_type())?;
            let (offsets, nulls) = (array.offsets().clone(), array.nulls().cloned());
            Ok(Arc::new(ListArray::try_new(Arc::clone(field), offsets, values, nulls)?))
        }
        (DataType::Map(_, _), DataType::Map(field, sorted)) => {
            let array = array.as_map();
            let entries: ArrayRef = Arc::new(array.entries().clone());
            let entries = to_column_type(&entries, field.data_type())?.as_struct().clone();
            let (offsets, nulls) = (array.offsets().clone(), array.nulls().cloned());
            Ok(Arc::new(MapArray::try_new(Arc::clone(field), offsets, entries, nulls, *sorted)?))
        }
        (DataType::Union(branches, _), DataType::Struct(fields)) => {
            let array = array.as_any().downcast_ref::<UnionArray>();
            let array = array.ok_or_else(|| ArrowError::CastError("expected a union".to_owned()))?;
            union_to_struct(array, branches, fields)
        }
        (found, _) => Err(ArrowError::CastError(format!("{found} is not {target}"))),
    }
}

fn union_to_struct(
    array: &UnionArray,
    branches: &UnionFields,
    fields: &Fields,
) -> Result<ArrayRef, ArrowError> {
    let ids = array.type_ids();
    let mut columns = Vec::with_capacity(fields.len());
    for ((id, _, _), field) in members(branches).zip(fields) {
        let rows: Int32Array = (0..array.len())
            .map(|row| {
                let is_member = ids.get(row) == Some(&id);
                is_member.then(|| i32::try_from(array.value_offset(row)).unwrap_or(i32::MAX))
            })
            .collect();
        let member = to_column_type(array.child(id), field.data_type())?;
        columns.push(take(&member, &rows, None)?);
    }
    let null_id = branches.iter().find(|(_, branch)| branch.data_type() == &DataType::Null);
    let nulls = null_id.map(|(null, _)| ids.iter().map(|id| *id != null).collect::<NullBuffer>());
    Ok(Arc::new(StructArray::try_new(fields.clone(), columns, nulls)?))
}

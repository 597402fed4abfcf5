//! Makes Arrow arrays of the values, offsets and null masks that the columns of Avro and JSON have collected.
//!
//! Invariant: a finished array has exactly the column's type.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, ArrowPrimitiveType, GenericListArray, MapArray, OffsetSizeTrait, PrimitiveArray, StructArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields};

pub(crate) fn primitive<T: ArrowPrimitiveType>(
    values: Vec<T::Native>,
    nulls: Option<NullBuffer>,
    data_type: &DataType,
) -> Result<ArrayRef, ArrowError> {
    let array = PrimitiveArray::<T>::try_new(values.into(), nulls)?;
    if !PrimitiveArray::<T>::is_compatible(data_type) {
        return Err(unexpected(data_type));
    }
    Ok(Arc::new(array.with_data_type(data_type.clone())))
}

pub(crate) fn list<O: OffsetSizeTrait>(
    offsets: Vec<O>,
    items: ArrayRef,
    field: &FieldRef,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, ArrowError> {
    let offsets = OffsetBuffer::new(offsets.into());
    Ok(Arc::new(GenericListArray::try_new(Arc::clone(field), offsets, items, nulls)?))
}

pub(crate) fn map(
    offsets: Vec<i32>,
    (keys, values): (ArrayRef, ArrayRef),
    (entries, sorted): (&FieldRef, bool),
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, ArrowError> {
    let (key, value) = key_and_value(entries)?;
    let fields = vec![Arc::clone(key), Arc::clone(value)];
    let pairs = StructArray::try_new(fields.into(), vec![keys, values], None)?;
    let offsets = OffsetBuffer::new(offsets.into());
    Ok(Arc::new(MapArray::try_new(Arc::clone(entries), offsets, pairs, nulls, sorted)?))
}

/// Finishes each column of a struct for its field.
pub(crate) fn structure<C>(
    columns: Vec<C>,
    fields: &Fields,
    nulls: Option<NullBuffer>,
    finish: impl Fn(C, &DataType) -> Result<ArrayRef, ArrowError>,
) -> Result<ArrayRef, ArrowError> {
    let columns = columns.into_iter().zip(fields);
    let columns = columns.map(|(column, field)| finish(column, field.data_type()));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    Ok(Arc::new(StructArray::try_new(fields.clone(), columns, nulls)?))
}

/// The fields of a map's entries.
pub(crate) fn key_and_value(entries: &Field) -> Result<(&FieldRef, &FieldRef), ArrowError> {
    match entries.data_type() {
        DataType::Struct(fields) => match fields.as_ref() {
            [key, value] => Ok((key, value)),
            _ => Err(unexpected(entries.data_type())),
        },
        other => Err(unexpected(other)),
    }
}

pub(crate) fn unexpected(data_type: &DataType) -> ArrowError {
    ArrowError::CastError(format!("no column of type {data_type}"))
}

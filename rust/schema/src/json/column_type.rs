//! Converts between the type of the column and the type that arrow-json decodes. The latter has no metadata and no time
//! zones, because arrow-json does not know the names of all time zones.
//!
//! Invariant: the two types differ only in metadata and time zones, so a conversion copies no values.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowTimestampType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, GenericListArray, MapArray, OffsetSizeTrait, StructArray};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, TimeUnit};

/// Returns a type without the metadata of its fields.
pub(super) fn plain_type(data_type: &DataType) -> DataType {
    map_leaves(data_type, &|leaf| leaf.clone())
}

/// Returns a type without metadata and time zones.
pub(super) fn decoded_type(data_type: &DataType) -> DataType {
    map_leaves(data_type, &|leaf| match leaf {
        DataType::Timestamp(unit, _) => DataType::Timestamp(*unit, None),
        other => other.clone(),
    })
}

fn map_leaves(data_type: &DataType, leaf: &dyn Fn(&DataType) -> DataType) -> DataType {
    let field = |field: &FieldRef| {
        let data_type = map_leaves(field.data_type(), leaf);
        Arc::new(Field::new(field.name(), data_type, field.is_nullable()))
    };
    match data_type {
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(field).collect()),
        DataType::List(items) => DataType::List(field(items)),
        DataType::LargeList(items) => DataType::LargeList(field(items)),
        DataType::Map(entries, sorted) => DataType::Map(field(entries), *sorted),
        other => leaf(other),
    }
}

/// Converts a decoded array to the type of the column.
pub(super) fn to_column_type(array: &ArrayRef, target: &DataType) -> Result<ArrayRef, ArrowError> {
    if array.data_type() == target {
        return Ok(Arc::clone(array));
    }
    Ok(match target {
        DataType::Struct(fields) => {
            let array = array.as_struct();
            let columns = array.columns().iter().zip(fields);
            let columns = columns.map(|(column, field)| to_column_type(column, field.data_type()));
            let columns = columns.collect::<Result<Vec<_>, _>>()?;
            Arc::new(StructArray::try_new(fields.clone(), columns, array.nulls().cloned())?)
        }
        DataType::List(items) => list(array.as_list::<i32>(), items)?,
        DataType::LargeList(items) => list(array.as_list::<i64>(), items)?,
        DataType::Map(field, sorted) => {
            let array = array.as_map();
            let entries: ArrayRef = Arc::new(array.entries().clone());
            let entries = to_column_type(&entries, field.data_type())?.as_struct().clone();
            let (offsets, nulls) = (array.offsets().clone(), array.nulls().cloned());
            Arc::new(MapArray::try_new(Arc::clone(field), offsets, entries, nulls, *sorted)?)
        }
        DataType::Timestamp(TimeUnit::Second, _) => timestamp::<TimestampSecondType>(array, target),
        DataType::Timestamp(TimeUnit::Millisecond, _) => timestamp::<TimestampMillisecondType>(array, target),
        DataType::Timestamp(TimeUnit::Microsecond, _) => timestamp::<TimestampMicrosecondType>(array, target),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => timestamp::<TimestampNanosecondType>(array, target),
        other => return Err(ArrowError::CastError(format!("{} is not {other}", array.data_type()))),
    })
}

fn list<O: OffsetSizeTrait>(array: &GenericListArray<O>, items: &FieldRef) -> Result<ArrayRef, ArrowError> {
    let values = to_column_type(array.values(), items.data_type())?;
    let (offsets, nulls) = (array.offsets().clone(), array.nulls().cloned());
    Ok(Arc::new(GenericListArray::try_new(Arc::clone(items), offsets, values, nulls)?))
}

fn timestamp<T: ArrowTimestampType>(array: &ArrayRef, target: &DataType) -> ArrayRef {
    Arc::new(array.as_primitive::<T>().clone().with_data_type(target.clone()))
}

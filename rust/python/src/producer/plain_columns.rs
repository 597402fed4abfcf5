//! The columns of data frames as the plain columns that records are read from: dictionaries (categories, enums) and
//! runs are unpacked, the numbers of partitions are 32 bits, and pandas' own index is left out.
//!
//! Invariant: only what has one meaning is converted; a number that is no partition is an error that names its row.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, RunEndIndexType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, Int32Array, PrimitiveArray, RunArray, StructArray};
use arrow_schema::{ArrowError, DataType, Field, FieldRef};
use ottla_schema::{Place, copy_rows};

/// Converts a column, or the columns of a table; `first` is the number of its first row.
pub(super) fn plain(array: ArrayRef, first: usize) -> Result<ArrayRef, ArrowError> {
    let array = unpacked(array)?;
    let Some(table) = array.as_struct_opt() else { return Ok(array) };
    if table.fields().iter().all(|field| is_plain(field)) {
        return Ok(array);
    }
    let mut columns: Vec<(FieldRef, ArrayRef)> = Vec::with_capacity(table.num_columns());
    for (field, column) in table.fields().iter().zip(table.columns()) {
        let name = field.name();
        if is_index(name) {
            continue;
        }
        let mut column = unpacked(Arc::clone(column))?;
        if name == PARTITION {
            column = partitions(column, first)?;
        }
        columns.push((Arc::new(Field::new(name, column.data_type().clone(), true)), column));
    }
    let (fields, columns): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    let nulls = table.nulls().cloned();
    Ok(Arc::new(StructArray::try_new_with_length(fields.into(), columns, nulls, table.len())?))
}

const PARTITION: &str = "partition";

fn is_plain(field: &Field) -> bool {
    let is_packed = matches!(field.data_type(), DataType::Dictionary(..) | DataType::RunEndEncoded(..));
    let is_other_integer = field.data_type().is_integer() && *field.data_type() != DataType::Int32;
    let is_converted = is_packed || field.name() == PARTITION && is_other_integer;
    !is_converted && !is_index(field.name())
}

/// Whether a column is the index of a pandas data frame, which pandas adds under this name.
fn is_index(name: &str) -> bool {
    let number = name.strip_prefix("__index_level_").and_then(|rest| rest.strip_suffix("__"));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn unpacked(array: ArrayRef) -> Result<ArrayRef, ArrowError> {
    match array.data_type() {
        DataType::Dictionary(..) => match array.as_any_dictionary_opt() {
            // All of its rows are null.
            Some(dictionary) if dictionary.values().is_empty() => {
                take(dictionary.values(), std::iter::repeat_n(None, dictionary.len()))
            }
            Some(dictionary) => {
                let keys = dictionary.normalized_keys();
                let nulls = dictionary.keys().nulls();
                let place = |(row, key): (usize, &usize)| -> Place {
                    nulls.is_none_or(|nulls| nulls.is_valid(row)).then_some((0, *key))
                };
                take(dictionary.values(), keys.iter().enumerate().map(place))
            }
            None => Ok(array),
        },
        DataType::RunEndEncoded(ends, _) => match ends.data_type() {
            DataType::Int16 => runs::<Int16Type>(&array),
            DataType::Int32 => runs::<Int32Type>(&array),
            _ => runs::<Int64Type>(&array),
        },
        _ => Ok(array),
    }
}

fn runs<T: RunEndIndexType>(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let Some(runs) = array.as_any().downcast_ref::<RunArray<T>>() else { return Ok(Arc::clone(array)) };
    let rows: Vec<u32> = (0..runs.len()).map(u32::try_from).collect::<Result<_, _>>().map_err(|error| {
        ArrowError::InvalidArgumentError(format!("runs of {} rows are too long: {error}", runs.len()))
    })?;
    let indexes = runs.get_physical_indices(&rows)?;
    take(runs.values(), indexes.into_iter().map(|index| Some((0, index))))
}

fn take(values: &ArrayRef, places: impl ExactSizeIterator<Item = Place>) -> Result<ArrayRef, ArrowError> {
    copy_rows(values.data_type(), [values], places)
}

fn partitions(array: ArrayRef, first: usize) -> Result<ArrayRef, ArrowError> {
    match array.data_type() {
        DataType::Int8 => narrowed::<Int8Type>(&array, first),
        DataType::Int16 => narrowed::<Int16Type>(&array, first),
        DataType::Int64 => narrowed::<Int64Type>(&array, first),
        DataType::UInt8 => narrowed::<UInt8Type>(&array, first),
        DataType::UInt16 => narrowed::<UInt16Type>(&array, first),
        DataType::UInt32 => narrowed::<UInt32Type>(&array, first),
        DataType::UInt64 => narrowed::<UInt64Type>(&array, first),
        // 32 bits already, or an error of the column's type.
        _ => Ok(array),
    }
}

fn narrowed<T: ArrowPrimitiveType<Native: TryInto<i32>>>(
    array: &ArrayRef,
    first: usize,
) -> Result<ArrayRef, ArrowError> {
    let numbers: &PrimitiveArray<T> = array.as_primitive();
    let narrow = |(row, number): (usize, Option<T::Native>)| match number.map(TryInto::try_into) {
        None => Ok(None),
        Some(Ok(number)) => Ok(Some(number)),
        Some(Err(_)) => {
            let (row, shown) = (first + row, number.map(|number| format!("{number:?}")).unwrap_or_default());
            let message = format!("column {PARTITION:?}: row {row} is {shown}, which is no partition");
            Err(ArrowError::InvalidArgumentError(message))
        }
    };
    let narrowed = numbers.iter().enumerate().map(narrow).collect::<Result<Int32Array, _>>()?;
    Ok(Arc::new(narrowed))
}

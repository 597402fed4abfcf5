//! Encodes columns for tests, also in Arrow's other forms of the same values.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StructArray};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field, FieldRef};
use ottla_schema::{ColumnEncoder, RegisteredSchema, SchemaError};

/// The encoder of a schema for an array.
pub(crate) fn encoder(schema: &RegisteredSchema, array: &dyn Array) -> ColumnEncoder {
    ColumnEncoder::new(schema, array.data_type()).unwrap_or_else(|error| panic!("{}: {error}", schema.text))
}

/// The payloads of a column, all of whose rows are good.
pub(crate) fn encode(encoder: &ColumnEncoder, array: &dyn Array) -> Vec<Option<Vec<u8>>> {
    let encoded = encoder.encode(array, &[]).unwrap();
    assert_eq!(encoded.errors, []);
    assert_eq!(encoded.payloads.len(), array.len());
    encoded.payloads.iter().map(|payload| payload.map(<[u8]>::to_vec)).collect()
}

/// Why rows are bad, with their numbers; their payloads are null.
pub(crate) fn failures(schema: &RegisteredSchema, array: &dyn Array) -> Vec<(usize, String)> {
    let encoded = encoder(schema, array).encode(array, b"prefix").unwrap();
    for (row, payload) in encoded.payloads.iter().enumerate() {
        let is_bad = array.is_null(row) || encoded.errors.iter().any(|error| error.row == row);
        assert_eq!(payload.is_none(), is_bad, "row {row}");
        assert!(payload.is_none_or(|payload| payload.starts_with(b"prefix")));
    }
    encoded.errors.iter().map(|error| (error.row, error.to_string())).collect()
}

/// Why the only row is bad.
pub(crate) fn failure(schema: &RegisteredSchema, array: &dyn Array) -> String {
    let failures = failures(schema, array);
    let [(0, reason)] = failures.as_slice() else { panic!("{failures:?}") };
    reason.clone()
}

/// Why a schema does not encode a type.
pub(crate) fn refusal(schema: &RegisteredSchema, data_type: &DataType) -> String {
    match ColumnEncoder::new(schema, data_type) {
        Err(error @ SchemaError::Column { .. }) => {
            let text = error.to_string();
            text.split_once("schema: ").unwrap().1.to_owned()
        }
        other => panic!("{data_type}: {other:?}"),
    }
}

/// A struct with one field.
pub(crate) fn one_field(name: &str, array: ArrayRef) -> StructArray {
    StructArray::from(vec![(Arc::new(Field::new(name, array.data_type().clone(), true)), array)])
}

/// Another form of the same values: one of those that polars, pyarrow and Spark have. `pick` chooses below a bound.
pub(crate) fn vary(array: &ArrayRef, pick: &mut dyn FnMut(usize) -> usize) -> ArrayRef {
    match array.data_type() {
        DataType::Struct(fields) => {
            let array = array.as_struct();
            let mut columns: Vec<(FieldRef, ArrayRef)> = fields
                .iter()
                .zip(array.columns())
                .map(|(field, column)| {
                    let column = vary(column, pick);
                    (Arc::new(Field::new(field.name(), column.data_type().clone(), true)), column)
                })
                .collect();
            for at in (1..columns.len()).rev() {
                columns.swap(at, pick(at + 1));
            }
            let (fields, columns): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
            Arc::new(StructArray::new(fields.into(), columns, array.nulls().cloned()))
        }
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let items = vary(list.values(), pick);
            let field = Arc::new(Field::new_list_field(items.data_type().clone(), true));
            let list: ArrayRef = Arc::new(arrow_array::ListArray::new(
                Arc::clone(&field),
                list.offsets().clone(),
                items,
                list.nulls().cloned(),
            ));
            match pick(2) {
                0 => list,
                _ => to(&list, &DataType::LargeList(field)),
            }
        }
        DataType::Map(..) => {
            let map = array.as_map();
            let entries = map.entries();
            let (keys, values) = (vary(entries.column(0), pick), vary(entries.column(1), pick));
            let names = if pick(2) == 0 { ["key", "value"] } else { ["value", "key"] };
            let mut columns = [("key", keys), ("value", values)];
            columns.sort_by_key(|(name, _)| names.iter().position(|other| other == name));
            let columns = columns
                .map(|(name, column)| (Arc::new(Field::new(name, column.data_type().clone(), true)), column));
            let entries = StructArray::from(columns.to_vec());
            let field = Arc::new(Field::new_list_field(entries.data_type().clone(), true));
            let (offsets, nulls) = (map.offsets().clone(), map.nulls().cloned());
            Arc::new(arrow_array::ListArray::new(field, offsets, Arc::new(entries), nulls))
        }
        other => {
            let forms = forms(other);
            match pick(forms.len() + 1) {
                0 => Arc::clone(array),
                form => to(array, &forms[form - 1]),
            }
        }
    }
}

/// The array in another form, if that holds all of its values.
fn to(array: &ArrayRef, data_type: &DataType) -> ArrayRef {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(array, data_type, &options).unwrap_or_else(|_| Arc::clone(array))
}

fn dictionary(keys: DataType, values: &DataType) -> DataType {
    DataType::Dictionary(Box::new(keys), Box::new(values.clone()))
}

/// The other types of the same values.
fn forms(data_type: &DataType) -> Vec<DataType> {
    match data_type {
        DataType::Utf8 => vec![
            DataType::LargeUtf8,
            DataType::Utf8View,
            dictionary(DataType::Int32, &DataType::Utf8),
            dictionary(DataType::UInt32, &DataType::LargeUtf8),
        ],
        DataType::Binary => vec![DataType::LargeBinary, DataType::BinaryView],
        DataType::FixedSizeBinary(_) => vec![DataType::Binary, DataType::LargeBinary],
        DataType::Int32 => vec![DataType::Int64],
        DataType::Decimal128(_, scale) => {
            vec![DataType::Decimal256(76, *scale), DataType::Decimal256(76, scale + 9)]
        }
        DataType::Timestamp(unit, Some(_)) => vec![DataType::Timestamp(*unit, Some("+02:00".into()))],
        _ => vec![],
    }
}

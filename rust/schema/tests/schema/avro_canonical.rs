//! The notation of `tests/java/avro` for the values of Arrow's arrays.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType};
use arrow_schema::{DataType, TimeUnit};
use serde_json::{Value, json};

fn number<T: ArrowPrimitiveType>(array: &ArrayRef, row: usize) -> T::Native {
    array.as_primitive::<T>().value(row)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn list(array: &ArrayRef) -> Value {
    (0..array.len()).map(|row| canonical(array, row)).collect()
}

/// The bytes of Avro's duration.
fn duration(array: &ArrayRef, row: usize) -> Vec<u8> {
    let value = number::<IntervalMonthDayNanoType>(array, row);
    let millis = u32::try_from(value.nanoseconds / 1_000_000).unwrap();
    [value.months.to_le_bytes(), value.days.to_le_bytes(), millis.to_le_bytes()].concat()
}

/// The value of a row.
pub(crate) fn canonical(array: &ArrayRef, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    match array.data_type() {
        DataType::Boolean => array.as_boolean().value(row).into(),
        DataType::Int32 => number::<Int32Type>(array, row).into(),
        DataType::Date32 => number::<Date32Type>(array, row).into(),
        DataType::Time32(TimeUnit::Millisecond) => number::<Time32MillisecondType>(array, row).into(),
        DataType::Int64 => number::<Int64Type>(array, row).into(),
        DataType::Time64(TimeUnit::Microsecond) => number::<Time64MicrosecondType>(array, row).into(),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            number::<TimestampMillisecondType>(array, row).into()
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            number::<TimestampMicrosecondType>(array, row).into()
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => number::<TimestampNanosecondType>(array, row).into(),
        // Java's bits of NaN are always the same.
        DataType::Float32 => match number::<Float32Type>(array, row) {
            value if value.is_nan() => "7fc00000".into(),
            value => format!("{:x}", value.to_bits()).into(),
        },
        DataType::Float64 => match number::<Float64Type>(array, row) {
            value if value.is_nan() => "7ff8000000000000".into(),
            value => format!("{:x}", value.to_bits()).into(),
        },
        DataType::Decimal128(..) => number::<Decimal128Type>(array, row).to_string().into(),
        DataType::Decimal256(..) => number::<Decimal256Type>(array, row).to_string().into(),
        DataType::Interval(_) => hex(&duration(array, row)).into(),
        DataType::Utf8 => array.as_string::<i32>().value(row).into(),
        DataType::Binary => hex(array.as_binary::<i32>().value(row)).into(),
        DataType::FixedSizeBinary(_) => hex(array.as_fixed_size_binary().value(row)).into(),
        DataType::List(_) => list(&array.as_list::<i32>().value(row)),
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            let keys = entries.column(0).as_string::<i32>();
            let mut pairs: Vec<_> =
                (0..entries.len()).map(|at| (keys.value(at), canonical(entries.column(1), at))).collect();
            pairs.sort_by_key(|(key, _)| *key);
            pairs.into_iter().map(|pair| json!(pair)).collect()
        }
        DataType::Struct(fields) if fields.iter().any(|field| field.name() == "member0") => {
            let members = array.as_struct().columns().iter().enumerate();
            let mut set = members.filter(|(_, member)| member.is_valid(row));
            let (number, member) = set.next().unwrap();
            assert!(set.next().is_none(), "one member of a union is set");
            json!({ number.to_string(): canonical(member, row) })
        }
        DataType::Struct(_) => {
            array.as_struct().columns().iter().map(|column| canonical(column, row)).collect()
        }
        other => panic!("no canonical form of {other}"),
    }
}

//! Random columns of any type that the benchmarks' schemas have.

use std::sync::Arc;

use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, ListArray, MapArray, PrimitiveArray,
    StringArray, StructArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field};
use fastrand::Rng;

/// Returns random values. Three of ten are null where fields may be null.
///
/// # Panics
/// The type is another one than those of the schemas.
#[must_use]
#[allow(clippy::panic, reason = "a failure ends the run")]
pub fn random_array(data_type: &DataType, rows: usize, nullable: bool, rng: &mut Rng) -> ArrayRef {
    let nulls = nullable.then(|| NullBuffer::from_iter((0..rows).map(|_| rng.u8(..10) >= 3)));
    let longs = |limit: i64, rng: &mut Rng| (0..rows).map(|_| rng.i64(0..limit)).collect::<Vec<_>>();
    match data_type {
        DataType::Int64 => Arc::new(Int64Array::new(longs(1 << 40, rng).into(), nulls)),
        DataType::Int32 => Arc::new(Int32Array::new((0..rows).map(|_| rng.i32(0..1000)).collect(), nulls)),
        DataType::Float64 => Arc::new(Float64Array::new((0..rows).map(|_| rng.f64() * 1e5).collect(), nulls)),
        DataType::Boolean => Arc::new(BooleanArray::new((0..rows).map(|_| rng.bool()).collect(), nulls)),
        DataType::Timestamp(_, zone) => {
            let micros =
                longs(10_000_000_000_000, rng).iter().map(|micros| 1_767_000_000_000_000 + micros).collect();
            let array = PrimitiveArray::<TimestampMicrosecondType>::new(micros, nulls);
            Arc::new(array.with_timezone_opt(zone.clone()))
        }
        DataType::Utf8 => {
            let text = |rng: &mut Rng| {
                let length = rng.usize(4..17);
                (0..length).map(|_| rng.alphabetic()).collect::<String>()
            };
            let texts = (0..rows).map(|row| {
                let text = text(rng);
                nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)).then_some(text)
            });
            Arc::new(texts.collect::<StringArray>())
        }
        DataType::Struct(fields) => {
            let columns = fields.iter().map(|field| random_field(field, rows, rng)).collect();
            Arc::new(StructArray::new(fields.clone(), columns, nulls))
        }
        DataType::List(item) => {
            let offsets = OffsetBuffer::from_lengths((0..rows).map(|_| rng.usize(..5)));
            let items = random_field(item, offsets.last().copied().unwrap_or(0) as usize, rng);
            Arc::new(ListArray::new(item.clone(), offsets, items, nulls))
        }
        DataType::Map(entry, _) => {
            let offsets = OffsetBuffer::from_lengths((0..rows).map(|_| rng.usize(..4)));
            let entries = random_field(entry, offsets.last().copied().unwrap_or(0) as usize, rng);
            let entries = StructArray::from(entries.to_data());
            Arc::new(MapArray::new(entry.clone(), offsets, entries, nulls, false))
        }
        other => panic!("no schema has {other}"),
    }
}

fn random_field(field: &Field, rows: usize, rng: &mut Rng) -> ArrayRef {
    random_array(field.data_type(), rows, field.is_nullable(), rng)
}

//! Growing columns of the reader's type, which `row` fills.
//!
//! Invariants: all columns of a struct have the same length between two rows. A row that fails is removed by
//! truncation, which leaves no trace of it in any column. A finished array has exactly the column's type.

use std::sync::Arc;

use arrow_array::types::*;
use arrow_array::{ArrayRef, BooleanArray, GenericStringArray, OffsetSizeTrait, StringViewArray};
use arrow_buffer::{BooleanBufferBuilder, Buffer, NullBuffer, NullBufferBuilder, OffsetBuffer, i256};
use arrow_schema::{ArrowError, DataType, FieldRef, TimeUnit};

use crate::finished_arrays::{key_and_value, list, map, primitive, structure, unexpected};

/// An array cannot take more bytes or items.
#[derive(Debug)]
pub(super) struct Full;

#[derive(Debug)]
pub(super) struct Column {
    nulls: NullBufferBuilder,
    pub(super) values: Values,
}

#[derive(Debug)]
pub(super) enum Values {
    Boolean(BooleanBufferBuilder),
    Int8(Vec<i8>),
    Int16(Vec<i16>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    UInt8(Vec<u8>),
    UInt16(Vec<u16>),
    UInt32(Vec<u32>),
    UInt64(Vec<u64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    Decimal128(Vec<i128>),
    Decimal256(Vec<i256>),
    Text(Texts<i32>),
    LargeText(Texts<i64>),
    List(Vec<i32>, Box<Column>),
    LargeList(Vec<i64>, Box<Column>),
    /// Offsets, keys and values.
    Map(Vec<i32>, Box<Column>, Box<Column>),
    Struct(Vec<Column>),
}

/// Strings one after the other.
#[derive(Debug)]
pub(super) struct Texts<O> {
    offsets: Vec<O>,
    bytes: Vec<u8>,
}

impl<O: OffsetSizeTrait> Texts<O> {
    fn new(rows: usize) -> Self {
        Self { offsets: offsets(rows), bytes: Vec::new() }
    }

    #[inline]
    pub(super) fn push(&mut self, text: &str) -> Result<(), Full> {
        self.bytes.extend_from_slice(text.as_bytes());
        self.offsets.push(O::from_usize(self.bytes.len()).ok_or(Full)?);
        Ok(())
    }

    fn truncate(&mut self, rows: usize) {
        self.bytes.truncate(truncate(&mut self.offsets, rows));
    }

    fn finish(self, nulls: Option<NullBuffer>) -> Result<GenericStringArray<O>, ArrowError> {
        GenericStringArray::try_new(
            OffsetBuffer::new(self.offsets.into()),
            Buffer::from_vec(self.bytes),
            nulls,
        )
    }
}

fn offsets<O: OffsetSizeTrait>(rows: usize) -> Vec<O> {
    let mut offsets = Vec::with_capacity(rows + 1);
    offsets.push(O::default());
    offsets
}

/// Repeats the last offset.
fn push_empty<O: Copy + Default>(offsets: &mut Vec<O>) {
    offsets.push(offsets.last().copied().unwrap_or_default());
}

/// Appends the offset of the end of a row with this many items more than the row before.
#[inline]
pub(super) fn push_end<O: OffsetSizeTrait>(offsets: &mut Vec<O>, items: usize) -> Result<(), Full> {
    let start = offsets.last().map_or(0, |start| start.as_usize());
    offsets.push(O::from_usize(start + items).ok_or(Full)?);
    Ok(())
}

/// Removes all rows from this one on. Returns the number of bytes or items that remain.
fn truncate<O: OffsetSizeTrait>(offsets: &mut Vec<O>, rows: usize) -> usize {
    offsets.truncate(rows + 1);
    offsets.last().map_or(0, |end| end.as_usize())
}

impl Column {
    pub(super) fn new(data_type: &DataType, rows: usize) -> Result<Self, ArrowError> {
        let of_items = |field: &FieldRef| Self::new(field.data_type(), 0).map(Box::new);
        let values = match data_type {
            DataType::Boolean => Values::Boolean(BooleanBufferBuilder::new(rows)),
            DataType::Int8 => Values::Int8(Vec::with_capacity(rows)),
            DataType::Int16 => Values::Int16(Vec::with_capacity(rows)),
            DataType::Int32 | DataType::Date32 => Values::Int32(Vec::with_capacity(rows)),
            DataType::Int64 | DataType::Timestamp(..) => Values::Int64(Vec::with_capacity(rows)),
            DataType::UInt8 => Values::UInt8(Vec::with_capacity(rows)),
            DataType::UInt16 => Values::UInt16(Vec::with_capacity(rows)),
            DataType::UInt32 => Values::UInt32(Vec::with_capacity(rows)),
            DataType::UInt64 => Values::UInt64(Vec::with_capacity(rows)),
            DataType::Float32 => Values::Float(Vec::with_capacity(rows)),
            DataType::Float64 => Values::Double(Vec::with_capacity(rows)),
            DataType::Decimal128(..) => Values::Decimal128(Vec::with_capacity(rows)),
            DataType::Decimal256(..) => Values::Decimal256(Vec::with_capacity(rows)),
            DataType::Utf8 | DataType::Utf8View => Values::Text(Texts::new(rows)),
            DataType::LargeUtf8 => Values::LargeText(Texts::new(rows)),
            DataType::List(items) => Values::List(offsets(rows), of_items(items)?),
            DataType::LargeList(items) => Values::LargeList(offsets(rows), of_items(items)?),
            DataType::Map(entries, _) => {
                let (key, value) = key_and_value(entries)?;
                Values::Map(offsets(rows), of_items(key)?, of_items(value)?)
            }
            DataType::Struct(fields) => {
                let columns = fields.iter().map(|field| Self::new(field.data_type(), rows));
                Values::Struct(columns.collect::<Result<_, _>>()?)
            }
            other => return Err(unexpected(other)),
        };
        Ok(Self { nulls: NullBufferBuilder::new(rows), values })
    }

    /// Marks the value that was just appended as not null.
    #[inline]
    pub(super) fn set_valid(&mut self) {
        self.nulls.append_non_null();
    }

    /// Appends a null. A column that does not allow nulls has them only within a null.
    pub(super) fn append_null(&mut self) {
        self.nulls.append_null();
        self.values.append_default();
    }

    /// Removes all rows from this one on.
    pub(super) fn truncate(&mut self, rows: usize) {
        self.nulls.truncate(rows);
        match &mut self.values {
            Values::Boolean(values) if values.len() > rows => values.truncate(rows),
            Values::Boolean(_) => {}
            Values::Int8(values) => values.truncate(rows),
            Values::Int16(values) => values.truncate(rows),
            Values::Int32(values) => values.truncate(rows),
            Values::Int64(values) => values.truncate(rows),
            Values::UInt8(values) => values.truncate(rows),
            Values::UInt16(values) => values.truncate(rows),
            Values::UInt32(values) => values.truncate(rows),
            Values::UInt64(values) => values.truncate(rows),
            Values::Float(values) => values.truncate(rows),
            Values::Double(values) => values.truncate(rows),
            Values::Decimal128(values) => values.truncate(rows),
            Values::Decimal256(values) => values.truncate(rows),
            Values::Text(values) => values.truncate(rows),
            Values::LargeText(values) => values.truncate(rows),
            Values::List(offsets, items) => items.truncate(truncate(offsets, rows)),
            Values::LargeList(offsets, items) => items.truncate(truncate(offsets, rows)),
            Values::Map(offsets, keys, values) => {
                let entries = truncate(offsets, rows);
                keys.truncate(entries);
                values.truncate(entries);
            }
            Values::Struct(columns) => columns.iter_mut().for_each(|column| column.truncate(rows)),
        }
    }

    /// Finishes the array. It has the type that the column was created with.
    pub(super) fn finish(mut self, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
        let nulls = self.nulls.finish();
        Ok(match (self.values, data_type) {
            (Values::Boolean(mut values), _) => Arc::new(BooleanArray::new(values.finish(), nulls)),
            (Values::Int8(values), _) => primitive::<Int8Type>(values, nulls, data_type)?,
            (Values::Int16(values), _) => primitive::<Int16Type>(values, nulls, data_type)?,
            (Values::Int32(values), DataType::Date32) => primitive::<Date32Type>(values, nulls, data_type)?,
            (Values::Int32(values), _) => primitive::<Int32Type>(values, nulls, data_type)?,
            (Values::Int64(values), DataType::Timestamp(unit, _)) => match unit {
                TimeUnit::Second => primitive::<TimestampSecondType>(values, nulls, data_type)?,
                TimeUnit::Millisecond => primitive::<TimestampMillisecondType>(values, nulls, data_type)?,
                TimeUnit::Microsecond => primitive::<TimestampMicrosecondType>(values, nulls, data_type)?,
                TimeUnit::Nanosecond => primitive::<TimestampNanosecondType>(values, nulls, data_type)?,
            },
            (Values::Int64(values), _) => primitive::<Int64Type>(values, nulls, data_type)?,
            (Values::UInt8(values), _) => primitive::<UInt8Type>(values, nulls, data_type)?,
            (Values::UInt16(values), _) => primitive::<UInt16Type>(values, nulls, data_type)?,
            (Values::UInt32(values), _) => primitive::<UInt32Type>(values, nulls, data_type)?,
            (Values::UInt64(values), _) => primitive::<UInt64Type>(values, nulls, data_type)?,
            (Values::Float(values), _) => primitive::<Float32Type>(values, nulls, data_type)?,
            (Values::Double(values), _) => primitive::<Float64Type>(values, nulls, data_type)?,
            (Values::Decimal128(values), _) => primitive::<Decimal128Type>(values, nulls, data_type)?,
            (Values::Decimal256(values), _) => primitive::<Decimal256Type>(values, nulls, data_type)?,
            (Values::Text(values), DataType::Utf8View) => {
                Arc::new(StringViewArray::from(&values.finish(nulls)?))
            }
            (Values::Text(values), _) => Arc::new(values.finish(nulls)?),
            (Values::LargeText(values), _) => Arc::new(values.finish(nulls)?),
            (Values::List(offsets, items), DataType::List(field)) => {
                list(offsets, items.finish(field.data_type())?, field, nulls)?
            }
            (Values::LargeList(offsets, items), DataType::LargeList(field)) => {
                list(offsets, items.finish(field.data_type())?, field, nulls)?
            }
            (Values::Map(offsets, keys, values), DataType::Map(entries, sorted)) => {
                let (key, value) = key_and_value(entries)?;
                let columns = (keys.finish(key.data_type())?, values.finish(value.data_type())?);
                map(offsets, columns, (entries, *sorted), nulls)?
            }
            (Values::Struct(columns), DataType::Struct(fields)) => {
                structure(columns, fields, nulls, Column::finish)?
            }
            _ => return Err(unexpected(data_type)),
        })
    }
}

impl Values {
    /// Appends an arbitrary value, which the null mask hides.
    fn append_default(&mut self) {
        match self {
            Self::Boolean(values) => values.append(false),
            Self::Int8(values) => values.push(0),
            Self::Int16(values) => values.push(0),
            Self::Int32(values) => values.push(0),
            Self::Int64(values) => values.push(0),
            Self::UInt8(values) => values.push(0),
            Self::UInt16(values) => values.push(0),
            Self::UInt32(values) => values.push(0),
            Self::UInt64(values) => values.push(0),
            Self::Float(values) => values.push(0.0),
            Self::Double(values) => values.push(0.0),
            Self::Decimal128(values) => values.push(0),
            Self::Decimal256(values) => values.push(i256::ZERO),
            Self::Text(Texts { offsets, .. }) | Self::List(offsets, _) | Self::Map(offsets, ..) => {
                push_empty(offsets);
            }
            Self::LargeText(Texts { offsets, .. }) | Self::LargeList(offsets, _) => push_empty(offsets),
            Self::Struct(columns) => columns.iter_mut().for_each(Column::append_null),
        }
    }
}

//! Growing columns of the reader's types.
//!
//! Invariants: all columns of a struct have the same length after each of its rows. A finished array has exactly the
//! column's type. A value takes the `width` of its column, null or not; strings take their bytes in addition, and lists
//! and maps their items.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, BooleanBufferBuilder, StringBuilder};
use arrow_array::types::*;
use arrow_array::{ArrayRef, BooleanArray, FixedSizeBinaryArray};
use arrow_buffer::{IntervalMonthDayNano, NullBufferBuilder, i256};
use arrow_schema::{ArrowError, DataType, Field, TimeUnit};

use super::fault::Fault;
use crate::finished_arrays::{key_and_value, list, map, primitive, structure, unexpected};

#[derive(Debug)]
pub(super) struct Column {
    /// `None` if no value is null, or if the builder of the values stores nulls itself.
    nulls: Option<NullBufferBuilder>,
    is_nullable: bool,
    /// The bytes of each value, without the bytes of strings and items.
    pub(super) width: usize,
    pub(super) values: Values,
}

/// The bytes of an offset in strings, lists and maps.
pub(super) const OFFSET_BYTES: usize = size_of::<i32>();

#[derive(Debug)]
pub(super) enum Values {
    Boolean(BooleanBufferBuilder),
    Int(Vec<i32>),
    Long(Vec<i64>),
    /// Times of day in milliseconds.
    TimeMillis(Vec<i32>),
    /// Times of day in microseconds.
    TimeMicros(Vec<i64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    /// The second field is the smallest number with too many digits.
    Decimal128(Vec<i128>, i128),
    Decimal256(Vec<i256>, i256),
    Interval(Vec<IntervalMonthDayNano>),
    /// The builder stores nulls itself.
    Text(StringBuilder),
    Binary(BinaryBuilder),
    Fixed(usize, Vec<u8>),
    List(Vec<i32>, Box<Column>),
    Map(Vec<i32>, StringBuilder, Box<Column>),
    Struct(Vec<Column>),
}

impl Column {
    pub(super) fn new(data_type: &DataType, is_nullable: bool, rows: usize) -> Result<Self, ArrowError> {
        let ten = i256::from_i128(10);
        let values = match data_type {
            DataType::Boolean => Values::Boolean(BooleanBufferBuilder::new(rows)),
            DataType::Int32 | DataType::Date32 => Values::Int(Vec::with_capacity(rows)),
            DataType::Int64 | DataType::Timestamp(..) => Values::Long(Vec::with_capacity(rows)),
            DataType::Time32(_) => Values::TimeMillis(Vec::with_capacity(rows)),
            DataType::Time64(_) => Values::TimeMicros(Vec::with_capacity(rows)),
            DataType::Float32 => Values::Float(Vec::with_capacity(rows)),
            DataType::Float64 => Values::Double(Vec::with_capacity(rows)),
            DataType::Decimal128(precision, _) => {
                let bound = 10_i128.checked_pow(u32::from(*precision)).unwrap_or(i128::MAX);
                Values::Decimal128(Vec::with_capacity(rows), bound)
            }
            DataType::Decimal256(precision, _) => {
                let bound = ten.checked_pow(u32::from(*precision)).unwrap_or(i256::MAX);
                Values::Decimal256(Vec::with_capacity(rows), bound)
            }
            DataType::Interval(_) => Values::Interval(Vec::with_capacity(rows)),
            DataType::Utf8 => Values::Text(StringBuilder::with_capacity(rows, 0)),
            DataType::Binary => Values::Binary(BinaryBuilder::with_capacity(rows, 0)),
            DataType::FixedSizeBinary(size) => {
                Values::Fixed(usize::try_from(*size).unwrap_or_default(), Vec::new())
            }
            DataType::List(items) => Values::List(vec![0], Box::new(Self::of_field(items, 0)?)),
            DataType::Map(entries, _) => {
                let DataType::Struct(fields) = entries.data_type() else { return Err(unexpected(data_type)) };
                let values = fields.get(1).ok_or_else(|| unexpected(data_type))?;
                Values::Map(vec![0], StringBuilder::new(), Box::new(Self::of_field(values, 0)?))
            }
            DataType::Struct(fields) => {
                let columns = fields.iter().map(|field| Self::of_field(field, rows));
                Values::Struct(columns.collect::<Result<_, _>>()?)
            }
            other => return Err(unexpected(other)),
        };
        let has_nulls = is_nullable && !matches!(values, Values::Text(_) | Values::Binary(_));
        let width = values.width();
        Ok(Self { nulls: has_nulls.then(|| NullBufferBuilder::new(rows)), is_nullable, width, values })
    }

    fn of_field(field: &Field, rows: usize) -> Result<Self, ArrowError> {
        Self::new(field.data_type(), field.is_nullable(), rows)
    }

    /// Marks the value that was just appended as not null.
    #[inline]
    pub(super) fn set_valid(&mut self) {
        if let Some(nulls) = &mut self.nulls {
            nulls.append_non_null();
        }
    }

    /// Appends a null, or an arbitrary value if the column cannot hold nulls. Such a column is inside a null value.
    pub(super) fn append_missing(&mut self) -> Result<(), Fault> {
        if let Some(nulls) = &mut self.nulls {
            nulls.append_null();
        }
        match &mut self.values {
            Values::Boolean(values) => values.append(false),
            Values::Int(values) | Values::TimeMillis(values) => values.push(0),
            Values::Long(values) | Values::TimeMicros(values) => values.push(0),
            Values::Float(values) => values.push(0.0),
            Values::Double(values) => values.push(0.0),
            Values::Decimal128(values, _) => values.push(0),
            Values::Decimal256(values, _) => values.push(i256::ZERO),
            Values::Interval(values) => values.push(IntervalMonthDayNano::ZERO),
            Values::Text(values) if self.is_nullable => values.append_null(),
            Values::Text(values) => values.append_value(""),
            Values::Binary(values) if self.is_nullable => values.append_null(),
            Values::Binary(values) => values.append_value([]),
            Values::Fixed(size, bytes) => bytes.resize(bytes.len() + *size, 0),
            Values::List(offsets, _) | Values::Map(offsets, ..) => {
                offsets.push(offsets.last().copied().unwrap_or_default());
            }
            Values::Struct(columns) => columns.iter_mut().try_for_each(Self::append_missing)?,
        }
        Ok(())
    }

    /// Finishes the array. It has the type that the column was created with.
    pub(super) fn finish(mut self, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
        let nulls = self.nulls.as_mut().and_then(NullBufferBuilder::finish);
        Ok(match (self.values, data_type) {
            (Values::Boolean(mut values), _) => Arc::new(BooleanArray::new(values.finish(), nulls)),
            (Values::Int(values), DataType::Int32) => primitive::<Int32Type>(values, nulls, data_type)?,
            (Values::Int(values), DataType::Date32) => primitive::<Date32Type>(values, nulls, data_type)?,
            (Values::TimeMillis(values), _) => primitive::<Time32MillisecondType>(values, nulls, data_type)?,
            (Values::TimeMicros(values), _) => primitive::<Time64MicrosecondType>(values, nulls, data_type)?,
            (Values::Long(values), DataType::Int64) => primitive::<Int64Type>(values, nulls, data_type)?,
            (Values::Long(values), DataType::Timestamp(TimeUnit::Millisecond, _)) => {
                primitive::<TimestampMillisecondType>(values, nulls, data_type)?
            }
            (Values::Long(values), DataType::Timestamp(TimeUnit::Microsecond, _)) => {
                primitive::<TimestampMicrosecondType>(values, nulls, data_type)?
            }
            (Values::Long(values), _) => primitive::<TimestampNanosecondType>(values, nulls, data_type)?,
            (Values::Float(values), _) => primitive::<Float32Type>(values, nulls, data_type)?,
            (Values::Double(values), _) => primitive::<Float64Type>(values, nulls, data_type)?,
            (Values::Decimal128(values, _), _) => primitive::<Decimal128Type>(values, nulls, data_type)?,
            (Values::Decimal256(values, _), _) => primitive::<Decimal256Type>(values, nulls, data_type)?,
            (Values::Interval(values), _) => primitive::<IntervalMonthDayNanoType>(values, nulls, data_type)?,
            (Values::Text(mut values), _) => Arc::new(values.finish()),
            (Values::Binary(mut values), _) => Arc::new(values.finish()),
            (Values::Fixed(size, bytes), _) => {
                let size = i32::try_from(size).unwrap_or(i32::MAX);
                Arc::new(FixedSizeBinaryArray::try_new(size, bytes.into(), nulls)?)
            }
            (Values::List(offsets, items), DataType::List(field)) => {
                list(offsets, items.finish(field.data_type())?, field, nulls)?
            }
            (Values::Map(offsets, mut keys, values), DataType::Map(entries, sorted)) => {
                let (_, value) = key_and_value(entries)?;
                let columns = (Arc::new(keys.finish()) as ArrayRef, values.finish(value.data_type())?);
                map(offsets, columns, (entries, *sorted), nulls)?
            }
            (Values::Struct(columns), DataType::Struct(fields)) => {
                structure(columns, fields, nulls, Self::finish)?
            }
            _ => return Err(unexpected(data_type)),
        })
    }
}

impl Values {
    /// Returns the bytes of each value, without the bytes of strings and items. A bit counts as a byte.
    fn width(&self) -> usize {
        match self {
            Self::Boolean(_) => 1,
            Self::Int(_) | Self::TimeMillis(_) | Self::Float(_) => 4,
            Self::Long(_) | Self::TimeMicros(_) | Self::Double(_) => 8,
            Self::Decimal128(..) | Self::Interval(_) => 16,
            Self::Decimal256(..) => 32,
            Self::Text(_) | Self::Binary(_) | Self::List(..) | Self::Map(..) => OFFSET_BYTES,
            Self::Fixed(size, _) => *size,
            Self::Struct(columns) => columns.iter().map(|column| column.width).sum(),
        }
    }
}

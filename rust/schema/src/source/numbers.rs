//! Numbers, as integers of 64 bits, floats, or decimals of 128 or 256 bits.
//!
//! Invariant: an array that already has one of these types is not copied.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrowPrimitiveType};
use arrow_buffer::{IntervalMonthDayNano, ScalarBuffer};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};

use super::Values;
use crate::row_failure::RowFailure;

impl Values {
    /// An integer of 64 bits.
    #[inline]
    pub(crate) fn long(&self, at: usize) -> Result<i64, RowFailure> {
        match self {
            Self::Integer(values) => Ok(values.get(at).copied().unwrap_or_default()),
            Self::Unsigned(values) => {
                let value = i64::try_from(values.get(at).copied().unwrap_or_default());
                value.map_err(|_| RowFailure::range())
            }
            _ => Err(RowFailure::internal()),
        }
    }

    /// An integer of any width.
    #[inline]
    pub(crate) fn integer(&self, at: usize) -> Result<i128, RowFailure> {
        match self {
            Self::Unsigned(values) => Ok(values.get(at).copied().unwrap_or_default().into()),
            Self::Decimal(values) => Ok(values.get(at).copied().unwrap_or_default()),
            other => other.long(at).map(i128::from),
        }
    }

    /// A float, or an integer that is one exactly.
    #[inline]
    pub(crate) fn float(&self, at: usize) -> Result<f32, RowFailure> {
        match self {
            Self::Float(values) => Ok(values.get(at).copied().unwrap_or_default()),
            other => {
                let integer = other.integer(at)?;
                let value = integer as f32;
                if value as i128 == integer { Ok(value) } else { Err(RowFailure::inexact(integer)) }
            }
        }
    }

    /// A double, or a float or an integer that is one exactly.
    #[inline]
    pub(crate) fn double(&self, at: usize) -> Result<f64, RowFailure> {
        match self {
            Self::Double(values) => Ok(values.get(at).copied().unwrap_or_default()),
            Self::Float(values) => Ok(values.get(at).copied().unwrap_or_default().into()),
            other => {
                let integer = other.integer(at)?;
                let value = integer as f64;
                if value as i128 == integer { Ok(value) } else { Err(RowFailure::inexact(integer)) }
            }
        }
    }
}

/// The values of an array of numbers, dates or times.
pub(super) fn values(array: &dyn Array) -> Option<Values> {
    Some(match array.data_type() {
        DataType::Int8 => integers::<Int8Type>(array),
        DataType::Int16 => integers::<Int16Type>(array),
        DataType::Int32 => integers::<Int32Type>(array),
        DataType::Int64 => longs::<Int64Type>(array),
        DataType::UInt8 => integers::<UInt8Type>(array),
        DataType::UInt16 => integers::<UInt16Type>(array),
        DataType::UInt32 => integers::<UInt32Type>(array),
        DataType::UInt64 => Values::Unsigned(array.as_primitive::<UInt64Type>().values().clone()),
        DataType::Date32 => integers::<Date32Type>(array),
        DataType::Date64 => longs::<Date64Type>(array),
        DataType::Time32(TimeUnit::Second) => integers::<Time32SecondType>(array),
        DataType::Time32(_) => integers::<Time32MillisecondType>(array),
        DataType::Time64(TimeUnit::Microsecond) => longs::<Time64MicrosecondType>(array),
        DataType::Time64(_) => longs::<Time64NanosecondType>(array),
        DataType::Timestamp(TimeUnit::Second, _) => longs::<TimestampSecondType>(array),
        DataType::Timestamp(TimeUnit::Millisecond, _) => longs::<TimestampMillisecondType>(array),
        DataType::Timestamp(TimeUnit::Microsecond, _) => longs::<TimestampMicrosecondType>(array),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => longs::<TimestampNanosecondType>(array),
        DataType::Duration(TimeUnit::Second) => longs::<DurationSecondType>(array),
        DataType::Duration(TimeUnit::Millisecond) => longs::<DurationMillisecondType>(array),
        DataType::Duration(TimeUnit::Microsecond) => longs::<DurationMicrosecondType>(array),
        DataType::Duration(TimeUnit::Nanosecond) => longs::<DurationNanosecondType>(array),
        DataType::Float16 => {
            let values = array.as_primitive::<Float16Type>().values().iter();
            Values::Float(values.map(|value| value.to_f32()).collect())
        }
        DataType::Float32 => Values::Float(array.as_primitive::<Float32Type>().values().clone()),
        DataType::Float64 => Values::Double(array.as_primitive::<Float64Type>().values().clone()),
        DataType::Decimal32(..) => decimals::<Decimal32Type>(array),
        DataType::Decimal64(..) => decimals::<Decimal64Type>(array),
        DataType::Decimal128(..) => Values::Decimal(array.as_primitive::<Decimal128Type>().values().clone()),
        DataType::Decimal256(..) => {
            Values::WideDecimal(array.as_primitive::<Decimal256Type>().values().clone())
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            Values::Interval(array.as_primitive::<IntervalMonthDayNanoType>().values().clone())
        }
        DataType::Interval(IntervalUnit::YearMonth) => {
            let months = array.as_primitive::<IntervalYearMonthType>().values().iter();
            Values::Interval(months.map(|months| IntervalMonthDayNano::new(*months, 0, 0)).collect())
        }
        DataType::Interval(IntervalUnit::DayTime) => {
            let times = array.as_primitive::<IntervalDayTimeType>().values().iter();
            let nanos = |millis: i32| i64::from(millis) * 1_000_000;
            let times = times.map(|time| IntervalMonthDayNano::new(0, time.days, nanos(time.milliseconds)));
            Values::Interval(times.collect())
        }
        _ => return None,
    })
}

fn integers<T: ArrowPrimitiveType>(array: &dyn Array) -> Values
where
    i64: From<T::Native>,
{
    let values: ScalarBuffer<i64> =
        array.as_primitive::<T>().values().iter().map(|value| (*value).into()).collect();
    Values::Integer(values)
}

fn longs<T: ArrowPrimitiveType<Native = i64>>(array: &dyn Array) -> Values {
    Values::Integer(array.as_primitive::<T>().values().clone())
}

fn decimals<T: ArrowPrimitiveType>(array: &dyn Array) -> Values
where
    i128: From<T::Native>,
{
    Values::Decimal(array.as_primitive::<T>().values().iter().map(|value| (*value).into()).collect())
}

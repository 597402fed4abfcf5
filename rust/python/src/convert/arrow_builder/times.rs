//! The classes of `datetime`, without a loss: an object with more digits than the type has is an error.
//!
//! Invariant: types with a time zone take aware datetimes, types without one naive datetimes.

use std::sync::Arc;

use arrow_array::types::*;
use arrow_array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_schema::{DataType, TimeUnit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDate, PyDateTime, PyDelta, PyTime, PyTzInfo};

use super::{Path, Values, each, expected, unfit};
use crate::convert::arrow_value::DAY;
use crate::convert::datetime::timedelta_micros;

/// Returns a column of dates or times; `None` if the type is another one.
pub(super) fn column<'py>(
    py: Python<'py>,
    data_type: &DataType,
    values: &Values<'py>,
    path: Path<'_>,
) -> PyResult<Option<ArrayRef>> {
    Ok(Some(match data_type {
        DataType::Date32 => {
            let days = each(values, |value| {
                if !value.is_instance_of::<PyDate>() || value.is_instance_of::<PyDateTime>() {
                    return Err(expected(path, "a datetime.date", value));
                }
                let micros = timedelta_micros(&value.sub(PyDate::new(py, 1970, 1, 1)?)?)?;
                i32::try_from(micros.div_euclid(DAY)).map_err(|error| unfit(path, error))
            })?;
            Arc::new(PrimitiveArray::<Date32Type>::from_iter(days))
        }
        DataType::Time32(TimeUnit::Millisecond) => times::<Time32MillisecondType>(py, values, 1_000, path)?,
        DataType::Time64(TimeUnit::Microsecond) => times::<Time64MicrosecondType>(py, values, 1, path)?,
        DataType::Duration(TimeUnit::Microsecond) => {
            let micros = each(values, |value| {
                if !value.is_instance_of::<PyDelta>() {
                    return Err(expected(path, "a datetime.timedelta", value));
                }
                i64::try_from(timedelta_micros(value)?).map_err(|error| unfit(path, error))
            })?;
            Arc::new(PrimitiveArray::<DurationMicrosecondType>::from_iter(micros))
        }
        DataType::Timestamp(unit, zone) => {
            let zone = zone.as_deref();
            match unit {
                TimeUnit::Second => timestamps::<TimestampSecondType>(py, values, *unit, zone, path)?,
                TimeUnit::Millisecond => {
                    timestamps::<TimestampMillisecondType>(py, values, *unit, zone, path)?
                }
                TimeUnit::Microsecond => {
                    timestamps::<TimestampMicrosecondType>(py, values, *unit, zone, path)?
                }
                TimeUnit::Nanosecond => timestamps::<TimestampNanosecondType>(py, values, *unit, zone, path)?,
            }
        }
        _ => return Ok(None),
    }))
}

/// Microseconds in units of so many.
fn units<N: TryFrom<i128>>(
    micros: i128,
    unit: i128,
    path: Path<'_>,
    value: &Bound<'_, PyAny>,
) -> PyResult<N> {
    if micros % unit != 0 {
        return Err(unfit(
            path,
            format_args!("{value} has microseconds, which the schema's type does not have"),
        ));
    }
    N::try_from(micros / unit).map_err(|_| unfit(path, format_args!("{value} is out of range")))
}

fn times<'py, T>(py: Python<'py>, values: &Values<'py>, unit: i128, path: Path<'_>) -> PyResult<ArrayRef>
where
    T: ArrowPrimitiveType,
    T::Native: TryFrom<i128>,
{
    let times = each(values, |value| {
        let time = value.cast::<PyTime>().map_err(|_| expected(path, "a datetime.time", value))?;
        let part = |name| time.getattr(name)?.extract::<i128>();
        let seconds = part(intern!(py, "hour"))? * 3_600 + part(intern!(py, "minute"))? * 60;
        let seconds = seconds + part(intern!(py, "second"))?;
        units(seconds * 1_000_000 + part(intern!(py, "microsecond"))?, unit, path, value)
    })?;
    Ok(Arc::new(PrimitiveArray::<T>::from_iter(times)))
}

fn timestamps<'py, T>(
    py: Python<'py>,
    values: &Values<'py>,
    unit: TimeUnit,
    zone: Option<&str>,
    path: Path<'_>,
) -> PyResult<ArrayRef>
where
    T: ArrowTimestampType,
{
    let utc = PyTzInfo::utc(py)?.to_owned();
    let epoch = PyDateTime::new(py, 1970, 1, 1, 0, 0, 0, 0, zone.is_some().then_some(&utc))?;
    let kind = if zone.is_some() { "a datetime with a time zone" } else { "a datetime without a time zone" };
    let timestamps = each(values, |value| {
        if !value.is_instance_of::<PyDateTime>() {
            return Err(expected(path, kind, value));
        }
        let is_aware = !value.call_method0(intern!(py, "utcoffset"))?.is_none();
        if is_aware != zone.is_some() {
            return Err(unfit(path, format_args!("{value}: expected {kind}")));
        }
        let micros = timedelta_micros(&value.sub(&epoch)?)?;
        match unit {
            TimeUnit::Second => units(micros, 1_000_000, path, value),
            TimeUnit::Millisecond => units(micros, 1_000, path, value),
            TimeUnit::Microsecond => units(micros, 1, path, value),
            TimeUnit::Nanosecond => units(micros * 1_000, 1, path, value),
        }
    })?;
    Ok(Arc::new(PrimitiveArray::<T>::from_iter(timestamps).with_timezone_opt(zone)))
}

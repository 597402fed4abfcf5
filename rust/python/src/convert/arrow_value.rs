//! Values of Arrow columns as plain Python objects.
//!
//! Structs and maps become dicts, lists lists, decimals `decimal.Decimal`; dates, times, timestamps and
//! durations the classes of `datetime`. Timestamps with a time zone are aware, in UTC.
//!
//! Invariant: a value that Python's class does not hold, such as a date in the year 10000, is a [`NoObject`] that
//! names its field, never another value.

use std::ops::RangeInclusive;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_schema::{DataType, TimeUnit};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDate, PyDateTime, PyDelta, PyDict, PyList, PyTzInfo};

use crate::convert::decimal;
use crate::convert::no_object::NoObject;

type Object<'py> = Result<Bound<'py, PyAny>, NoObject>;

/// Returns one value; null is None.
pub(crate) fn value<'py>(py: Python<'py>, array: &ArrayRef, at: usize) -> Object<'py> {
    if array.is_null(at) {
        return Ok(py.None().into_bound(py));
    }
    match array.data_type() {
        DataType::Date32 => date(py, number::<Date32Type>(array, at)),
        DataType::Time32(TimeUnit::Millisecond) => {
            time(py, i64::from(number::<Time32MillisecondType>(array, at)) * 1_000)
        }
        DataType::Time64(TimeUnit::Microsecond) => time(py, number::<Time64MicrosecondType>(array, at)),
        DataType::Timestamp(unit, zone) => timestamp(py, micros(array, at, *unit), zone.is_some()),
        DataType::List(_) => list(py, &array.as_list::<i32>().value(at)),
        DataType::LargeList(_) => list(py, &array.as_list::<i64>().value(at)),
        DataType::Struct(fields) => {
            let dict = PyDict::new(py);
            for (field, column) in fields.iter().zip(array.as_struct().columns()) {
                let name = field.name();
                let value = value(py, column, at).map_err(|failure| failure.within(|| format!(".{name}")))?;
                dict.set_item(name, value)?;
            }
            Ok(dict.into_any())
        }
        DataType::Map(_, _) => map(py, array, at),
        _ => plain(py, array, at),
    }
}

/// Returns a value whose class holds all values of its type.
fn plain<'py>(py: Python<'py>, array: &ArrayRef, at: usize) -> Object<'py> {
    Ok(match array.data_type() {
        DataType::Boolean => array.as_boolean().value(at).into_bound_py_any(py),
        DataType::Int8 => number::<Int8Type>(array, at).into_bound_py_any(py),
        DataType::Int16 => number::<Int16Type>(array, at).into_bound_py_any(py),
        DataType::Int32 => number::<Int32Type>(array, at).into_bound_py_any(py),
        DataType::Int64 => number::<Int64Type>(array, at).into_bound_py_any(py),
        DataType::UInt8 => number::<UInt8Type>(array, at).into_bound_py_any(py),
        DataType::UInt16 => number::<UInt16Type>(array, at).into_bound_py_any(py),
        DataType::UInt32 => number::<UInt32Type>(array, at).into_bound_py_any(py),
        DataType::UInt64 => number::<UInt64Type>(array, at).into_bound_py_any(py),
        DataType::Float32 => f64::from(number::<Float32Type>(array, at)).into_bound_py_any(py),
        DataType::Float64 => number::<Float64Type>(array, at).into_bound_py_any(py),
        DataType::Binary => PyBytes::new(py, array.as_binary::<i32>().value(at)).into_bound_py_any(py),
        DataType::FixedSizeBinary(_) => {
            PyBytes::new(py, array.as_fixed_size_binary().value(at)).into_bound_py_any(py)
        }
        DataType::Utf8 => array.as_string::<i32>().value(at).into_bound_py_any(py),
        DataType::LargeUtf8 => array.as_string::<i64>().value(at).into_bound_py_any(py),
        DataType::Utf8View => array.as_string_view().value(at).into_bound_py_any(py),
        DataType::Decimal128(_, _) => {
            decimal::of_text(py, &array.as_primitive::<Decimal128Type>().value_as_string(at))
        }
        DataType::Decimal256(_, _) => {
            decimal::of_text(py, &array.as_primitive::<Decimal256Type>().value_as_string(at))
        }
        DataType::Duration(TimeUnit::Microsecond) => {
            delta(py, i128::from(number::<DurationMicrosecondType>(array, at)))
        }
        DataType::Interval(_) => {
            return Err(NoObject::new("Python has no class for months, days and seconds"));
        }
        other => return Err(NoObject::new(format!("Python has no class for Arrow's type {other}"))),
    }?)
}

fn number<T: ArrowPrimitiveType>(array: &ArrayRef, at: usize) -> T::Native {
    let array: &PrimitiveArray<T> = array.as_primitive();
    array.value(at)
}

fn list<'py>(py: Python<'py>, items: &ArrayRef) -> Object<'py> {
    let item = |at| value(py, items, at).map_err(|failure| failure.within(|| format!("[{at}]")));
    let items = (0..items.len()).map(item).collect::<Result<Vec<_>, _>>()?;
    Ok(PyList::new(py, items)?.into_any())
}

fn map<'py>(py: Python<'py>, array: &ArrayRef, at: usize) -> Object<'py> {
    let entries = array.as_map().value(at);
    let dict = PyDict::new(py);
    for entry in 0..entries.len() {
        let key = value(py, entries.column(0), entry)?;
        let value = value(py, entries.column(1), entry).map_err(|failure| {
            failure
                .within(|| format!("[{}]", key.repr().map_or_else(|_| "?".to_owned(), |key| key.to_string())))
        })?;
        dict.set_item(key, value)?;
    }
    Ok(dict.into_any())
}

/// A timestamp in microseconds, rounded down.
fn micros(array: &ArrayRef, at: usize, unit: TimeUnit) -> i128 {
    match unit {
        TimeUnit::Second => i128::from(number::<TimestampSecondType>(array, at)) * 1_000_000,
        TimeUnit::Millisecond => i128::from(number::<TimestampMillisecondType>(array, at)) * 1_000,
        TimeUnit::Microsecond => i128::from(number::<TimestampMicrosecondType>(array, at)),
        TimeUnit::Nanosecond => i128::from(number::<TimestampNanosecondType>(array, at)).div_euclid(1_000),
    }
}

/// The microseconds of a day.
pub(super) const DAY: i128 = 86_400_000_000;
/// The microseconds since 1970 of the years 1 to 9999.
const YEARS: RangeInclusive<i128> = -62_135_596_800_000_000..=253_402_300_799_999_999;

pub(super) fn delta(py: Python<'_>, micros: i128) -> PyResult<Bound<'_, PyAny>> {
    // No column has a longer one: 64 bits of microseconds are fewer days than `timedelta` has.
    let days = i32::try_from(micros.div_euclid(DAY)).unwrap_or(i32::MAX);
    let rest = micros.rem_euclid(DAY);
    let (seconds, micros) = ((rest / 1_000_000) as i32, (rest % 1_000_000) as i32);
    PyDelta::new(py, days, seconds, micros, false)?.into_bound_py_any(py)
}

pub(super) fn date(py: Python<'_>, days: i32) -> Object<'_> {
    let micros = i128::from(days) * DAY;
    check_years(micros, || format!("{days} days"))?;
    Ok(PyDate::new(py, 1970, 1, 1)?.add(delta(py, micros)?)?)
}

pub(super) fn timestamp(py: Python<'_>, micros: i128, is_aware: bool) -> Object<'_> {
    check_years(micros, || format!("{micros} µs"))?;
    let utc = PyTzInfo::utc(py)?;
    let zone = is_aware.then(|| utc.to_owned());
    Ok(PyDateTime::new(py, 1970, 1, 1, 0, 0, 0, 0, zone.as_ref())?.add(delta(py, micros)?)?)
}

pub(super) fn time(py: Python<'_>, micros: i64) -> Object<'_> {
    if !(0..DAY).contains(&i128::from(micros)) {
        return Err(NoObject::new(format!("{micros} µs after midnight is not a time of day")));
    }
    Ok(timestamp(py, micros.into(), false)?.call_method0("time")?)
}

/// Refuses a time that the classes of `datetime` do not have.
fn check_years(micros: i128, shown: impl FnOnce() -> String) -> Result<(), NoObject> {
    match YEARS.contains(&micros) {
        true => Ok(()),
        false => Err(NoObject::new(format!(
            "{} since 1970 is beyond the years 1 to 9999, which datetime has; an Arrow column holds it",
            shown()
        ))),
    }
}

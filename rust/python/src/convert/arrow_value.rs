//! Values of Arrow columns as plain Python objects.
//!
//! Structs and maps become dicts, lists lists, decimals `decimal.Decimal`; dates, times, timestamps and
//! durations the classes of `datetime`. Timestamps with a time zone are aware, in UTC.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_schema::{DataType, TimeUnit};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDate, PyDateTime, PyDelta, PyDict, PyList, PyTzInfo};

use crate::convert::{decimal, errors};

/// Returns one value; null is None.
pub(crate) fn value<'py>(py: Python<'py>, array: &ArrayRef, at: usize) -> PyResult<Bound<'py, PyAny>> {
    if array.is_null(at) {
        return Ok(py.None().into_bound(py));
    }
    match array.data_type() {
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
        DataType::Date32 => date(py, number::<Date32Type>(array, at)),
        DataType::Time32(TimeUnit::Millisecond) => {
            time(py, i64::from(number::<Time32MillisecondType>(array, at)) * 1_000)
        }
        DataType::Time64(TimeUnit::Microsecond) => time(py, number::<Time64MicrosecondType>(array, at)),
        DataType::Timestamp(unit, zone) => timestamp(py, micros(array, at, *unit), zone.is_some()),
        DataType::Duration(TimeUnit::Microsecond) => {
            delta(py, i128::from(number::<DurationMicrosecondType>(array, at)))
        }
        DataType::List(_) => list(py, &array.as_list::<i32>().value(at)),
        DataType::LargeList(_) => list(py, &array.as_list::<i64>().value(at)),
        DataType::Struct(fields) => {
            let dict = PyDict::new(py);
            for (field, column) in fields.iter().zip(array.as_struct().columns()) {
                dict.set_item(field.name(), value(py, column, at)?)?;
            }
            dict.into_bound_py_any(py)
        }
        DataType::Map(_, _) => {
            let entries = array.as_map().value(at);
            let dict = PyDict::new(py);
            for entry in 0..entries.len() {
                dict.set_item(value(py, entries.column(0), entry)?, value(py, entries.column(1), entry)?)?;
            }
            dict.into_bound_py_any(py)
        }
        other => Err(errors::config(py, format!("a value of Arrow's type {other} has no Python object"))),
    }
}

fn number<T: ArrowPrimitiveType>(array: &ArrayRef, at: usize) -> T::Native {
    let array: &PrimitiveArray<T> = array.as_primitive();
    array.value(at)
}

fn list<'py>(py: Python<'py>, items: &ArrayRef) -> PyResult<Bound<'py, PyAny>> {
    let items = (0..items.len()).map(|at| value(py, items, at)).collect::<PyResult<Vec<_>>>()?;
    PyList::new(py, items)?.into_bound_py_any(py)
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

pub(super) fn delta(py: Python<'_>, micros: i128) -> PyResult<Bound<'_, PyAny>> {
    // Python refuses what its classes do not hold.
    let days = i32::try_from(micros.div_euclid(DAY)).unwrap_or(i32::MAX);
    let rest = micros.rem_euclid(DAY);
    let (seconds, micros) = ((rest / 1_000_000) as i32, (rest % 1_000_000) as i32);
    PyDelta::new(py, days, seconds, micros, false)?.into_bound_py_any(py)
}

pub(super) fn date(py: Python<'_>, days: i32) -> PyResult<Bound<'_, PyAny>> {
    PyDate::new(py, 1970, 1, 1)?.add(delta(py, i128::from(days) * DAY)?)
}

pub(super) fn timestamp(py: Python<'_>, micros: i128, is_aware: bool) -> PyResult<Bound<'_, PyAny>> {
    let utc = PyTzInfo::utc(py)?;
    let zone = is_aware.then(|| utc.to_owned());
    PyDateTime::new(py, 1970, 1, 1, 0, 0, 0, 0, zone.as_ref())?.add(delta(py, micros)?)
}

pub(super) fn time(py: Python<'_>, micros: i64) -> PyResult<Bound<'_, PyAny>> {
    timestamp(py, i128::from(micros).rem_euclid(DAY), false)?.call_method0("time")
}

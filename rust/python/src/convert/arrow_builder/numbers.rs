//! Numbers and decimals.

use std::sync::Arc;

use arrow_array::types::*;
use arrow_array::{ArrayRef, ArrowPrimitiveType, Decimal128Array, Decimal256Array, PrimitiveArray};
use arrow_buffer::i256;
use arrow_schema::DataType;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt};

use super::{Path, Shown, Values, each, expected, unfit};
use crate::convert::decimal::{class, is_decimal};

/// Returns a column of numbers; `None` if the type is another one.
pub(super) fn column<'py>(
    py: Python<'py>,
    data_type: &DataType,
    values: &Values<'py>,
    path: Path<'_>,
) -> PyResult<Option<ArrayRef>> {
    Ok(Some(match data_type {
        DataType::Int8 => integers::<Int8Type>(values, path)?,
        DataType::Int16 => integers::<Int16Type>(values, path)?,
        DataType::Int32 => integers::<Int32Type>(values, path)?,
        DataType::Int64 => integers::<Int64Type>(values, path)?,
        DataType::UInt8 => integers::<UInt8Type>(values, path)?,
        DataType::UInt16 => integers::<UInt16Type>(values, path)?,
        DataType::UInt32 => integers::<UInt32Type>(values, path)?,
        DataType::UInt64 => integers::<UInt64Type>(values, path)?,
        DataType::Float32 => floats::<Float32Type>(values, path, |number| number as f32)?,
        DataType::Float64 => floats::<Float64Type>(values, path, |number| number)?,
        DataType::Decimal128(precision, scale) => {
            let numbers = each(values, |value| {
                let digits = digits(py, value, *precision, *scale, path)?;
                digits.parse::<i128>().map_err(|error| unfit(path, error))
            })?;
            let array = Decimal128Array::from(numbers).with_precision_and_scale(*precision, *scale);
            Arc::new(array.map_err(|error| unfit(path, error))?)
        }
        DataType::Decimal256(precision, scale) => {
            let numbers = each(values, |value| {
                let digits = digits(py, value, *precision, *scale, path)?;
                i256::from_string(&digits).ok_or_else(|| unfit(path, "the number is out of range"))
            })?;
            let array = Decimal256Array::from(numbers).with_precision_and_scale(*precision, *scale);
            Arc::new(array.map_err(|error| unfit(path, error))?)
        }
        _ => return Ok(None),
    }))
}

fn integers<'py, T>(values: &Values<'py>, path: Path<'_>) -> PyResult<ArrayRef>
where
    T: ArrowPrimitiveType,
    T::Native: TryFrom<i128>,
{
    let numbers = each(values, |value| {
        // In Python, a bool is an int.
        if !value.is_instance_of::<PyInt>() || value.is_instance_of::<PyBool>() {
            return Err(expected(path, "an int", value));
        }
        let number = value.extract::<i128>().ok().and_then(|number| T::Native::try_from(number).ok());
        number.ok_or_else(|| unfit(path, format_args!("{} does not fit into {}", Shown(value), T::DATA_TYPE)))
    })?;
    Ok(Arc::new(PrimitiveArray::<T>::from_iter(numbers)))
}

fn floats<'py, T: ArrowPrimitiveType>(
    values: &Values<'py>,
    path: Path<'_>,
    narrow: impl Fn(f64) -> T::Native,
) -> PyResult<ArrayRef> {
    let numbers = each(values, |value| {
        let is_number = value.is_instance_of::<PyFloat>() || value.is_instance_of::<PyInt>();
        if !is_number || value.is_instance_of::<PyBool>() {
            return Err(expected(path, "a float", value));
        }
        // An int may be larger than any float.
        let number = value.extract::<f64>();
        number
            .map(&narrow)
            .map_err(|_| unfit(path, format_args!("{} does not fit into {}", Shown(value), T::DATA_TYPE)))
    })?;
    Ok(Arc::new(PrimitiveArray::<T>::from_iter(numbers)))
}

/// The unscaled digits of a decimal, with its sign.
fn digits<'py>(
    py: Python<'py>,
    value: &Bound<'py, PyAny>,
    precision: u8,
    scale: i8,
    path: Path<'_>,
) -> PyResult<String> {
    let is_int = value.is_instance_of::<PyInt>() && !value.is_instance_of::<PyBool>();
    if !is_int && !is_decimal(value)? {
        return Err(expected(path, "a decimal.Decimal or an int", value));
    }
    let number = class(py)?.call1((value,))?;
    let (sign, digits, exponent): (u8, Vec<u8>, Bound<'_, PyAny>) =
        number.call_method0("as_tuple")?.extract()?;
    let Ok(exponent) = exponent.extract::<i64>() else {
        return Err(unfit(path, format_args!("{} is not a number", Shown(value))));
    };
    let mut digits: String = digits.iter().map(|digit| char::from(b'0' + digit % 10)).collect();
    let zeros = exponent + i64::from(scale);
    if zeros < 0 {
        let dropped = usize::try_from(-zeros).unwrap_or(usize::MAX);
        let kept = digits.len().saturating_sub(dropped);
        if digits.bytes().skip(kept).any(|digit| digit != b'0') {
            return Err(unfit(
                path,
                format_args!("{} has more than {scale} digits after the point", Shown(value)),
            ));
        }
        digits.truncate(kept);
    }
    let digits = digits.trim_start_matches('0');
    let zeros = usize::try_from(zeros.max(0)).unwrap_or(usize::MAX);
    if digits.is_empty() {
        return Ok("0".to_owned());
    }
    if digits.len().saturating_add(zeros) > usize::from(precision) {
        return Err(unfit(path, format_args!("{} has more than {precision} digits", Shown(value))));
    }
    let minus = if sign == 1 { "-" } else { "" };
    Ok(format!("{minus}{digits}{}", "0".repeat(zeros)))
}

//! Values of JSON, in the forms in which `ottla consume` prints decoded values, as the objects of their types.
//!
//! Bytes are text in base64; dates, times and timestamps text of ISO 8601; durations text such as `PT1.5S`;
//! decimals numbers or text; numbers that are not finite the texts `NaN`, `Infinity` and `-Infinity`.
//!
//! Invariant: what is not of such a form is an error that names the field, or is left as it is for the check of
//! its type. No digit is dropped.

use arrow_schema::{DataType, FieldRef, Fields, TimeUnit};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyFloat, PyList, PyString};

use super::nested::is_union;
use super::{Path, column, expected, unfit};
use crate::convert::arrow_value::{self, DAY};
use crate::convert::decimal::{self, is_decimal};
use crate::convert::no_object::NoObject;

type Object<'py> = Bound<'py, PyAny>;

/// Whether a value of a type is a string in JSON, or the text stands for a number that is not finite.
pub(crate) fn is_text_in_json(data_type: &DataType, text: &str) -> bool {
    match data_type {
        DataType::Null | DataType::Boolean | DataType::Struct(_) | DataType::Map(..) => false,
        DataType::List(_) | DataType::LargeList(_) => false,
        DataType::Float32 | DataType::Float64 => matches!(text, "NaN" | "Infinity" | "-Infinity"),
        other => !other.is_integer(),
    }
}

/// Returns the object of a value of JSON.
pub(super) fn object<'py>(
    data_type: &DataType,
    value: &Object<'py>,
    path: Path<'_>,
) -> PyResult<Object<'py>> {
    let py = value.py();
    if value.is_none() {
        return Ok(value.clone());
    }
    match data_type {
        DataType::Struct(fields) if is_union(fields) => union(fields, value, path),
        DataType::Struct(fields) => match value.cast::<PyDict>() {
            Ok(dict) => members(fields, dict, path),
            Err(_) => Err(expected(path, "an object", value)),
        },
        DataType::List(item) | DataType::LargeList(item) => list(item, value, path),
        DataType::Map(entries, _) => map(entries, value, path),
        DataType::Float32 | DataType::Float64 => float(value, path),
        DataType::Decimal128(..) | DataType::Decimal256(..) => match value.cast::<PyString>() {
            Ok(text) => {
                decimal::of_text(py, text.to_str()?).map_err(|_| expected_text(path, "a decimal", value))
            }
            Err(_) => Ok(value.clone()),
        },
        DataType::Binary | DataType::FixedSizeBinary(_) => {
            let decoded = BASE64_STANDARD.decode(text(value, path, "bytes in base64")?);
            let bytes = decoded.map_err(|_| expected_text(path, "bytes in base64", value))?;
            PyBytes::new(py, &bytes).into_bound_py_any(py)
        }
        DataType::Date32 => {
            let what = "a date such as 2026-11-24";
            let days = ottla_schema::parse_date(&text(value, path, what)?);
            in_python(arrow_value::date(py, days.ok_or_else(|| expected_text(path, what, value))?), path)
        }
        DataType::Time32(_) | DataType::Time64(_) => {
            let what = "a time such as 23:59:59.5";
            let timestamp = format!("1970-01-01T{}", text(value, path, what)?);
            // A leap second would be midnight.
            let micros = micros(&timestamp, false).filter(|micros| i128::from(*micros) < DAY);
            in_python(arrow_value::time(py, micros.ok_or_else(|| expected_text(path, what, value))?), path)
        }
        DataType::Timestamp(_, zone) => {
            let what = match zone {
                Some(_) => "a timestamp with an offset, such as 2026-11-24T23:59:59.5Z",
                None => "a timestamp without an offset, such as 2026-11-24T23:59:59.5",
            };
            let micros = micros(&text(value, path, what)?, zone.is_some());
            let micros = micros.ok_or_else(|| expected_text(path, what, value))?;
            in_python(arrow_value::timestamp(py, i128::from(micros), zone.is_some()), path)
        }
        DataType::Duration(_) => {
            let what = "a duration such as PT1.5S";
            let micros = duration(&text(value, path, what)?);
            arrow_value::delta(py, micros.ok_or_else(|| expected_text(path, what, value))?)?
                .into_bound_py_any(py)
        }
        _ => Ok(value.clone()),
    }
}

/// The object of a text, which may be one that Python's class does not hold, such as the year 0.
fn in_python<'py>(object: Result<Object<'py>, NoObject>, path: Path<'_>) -> PyResult<Object<'py>> {
    object.map_err(|failure| match failure.reason() {
        Ok(reason) => unfit(path, reason),
        Err(raised) => raised,
    })
}

fn text(value: &Object<'_>, path: Path<'_>, what: &str) -> PyResult<String> {
    Ok(value.cast::<PyString>().map_err(|_| expected(path, what, value))?.to_str()?.to_owned())
}

fn expected_text(path: Path<'_>, what: &str, value: &Object<'_>) -> PyErr {
    unfit(path, format_args!("expected {what}, not {value:?}"))
}

/// Microseconds since 1970, if the text has an offset or not as it should, and no digit beyond microseconds.
fn micros(text: &str, has_offset: bool) -> Option<i64> {
    let (_, time) = text.split_at_checked("1970-01-01".len())?;
    let (_, fraction) = time.split_once('.').unwrap_or_default();
    let digits = fraction.bytes().take_while(u8::is_ascii_digit);
    if time.contains(['Z', 'z', '+', '-']) != has_offset || digits.skip(6).any(|digit| digit != b'0') {
        return None;
    }
    ottla_schema::parse_timestamp(text, TimeUnit::Microsecond, has_offset)
}

/// The microseconds of `PT1.5S`; a minus stands before all.
fn duration(text: &str) -> Option<i128> {
    let (text, sign) = text.strip_prefix('-').map_or((text, 1), |rest| (rest, -1));
    let seconds = text.strip_prefix("PT")?.strip_suffix('S')?;
    let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) || fraction.bytes().skip(6).any(|digit| digit != b'0') {
        return None;
    }
    let micros: i128 = format!("{fraction:0<6}").get(..6)?.parse().ok()?;
    Some(sign * (whole.parse::<i64>().ok()?.checked_mul(1_000_000).map(i128::from)? + micros))
}

/// Numbers with a point come as decimals, whose digits are needed elsewhere.
fn float<'py>(value: &Object<'py>, path: Path<'_>) -> PyResult<Object<'py>> {
    let py = value.py();
    if is_decimal(value)? {
        let number: f64 = value.extract()?;
        return match number.is_finite() {
            true => number.into_bound_py_any(py),
            false => Err(unfit(path, format_args!("{value} does not fit into a double"))),
        };
    }
    let Ok(text) = value.cast::<PyString>() else { return Ok(value.clone()) };
    match text.to_str()? {
        "NaN" => PyFloat::new(py, f64::NAN).into_bound_py_any(py),
        "Infinity" => PyFloat::new(py, f64::INFINITY).into_bound_py_any(py),
        "-Infinity" => PyFloat::new(py, f64::NEG_INFINITY).into_bound_py_any(py),
        _ => Err(expected_text(path, "a number", value)),
    }
}

/// Keys that are not fields stay: they are an error of the struct.
fn members<'py>(fields: &Fields, dict: &Bound<'py, PyDict>, path: Path<'_>) -> PyResult<Object<'py>> {
    let converted = PyDict::new(dict.py());
    for (key, value) in dict {
        let name: String = key.extract()?;
        let value = match fields.find(&name) {
            Some((_, field)) => object(field.data_type(), &value, Path::Field(&path, &name))?,
            None => value,
        };
        converted.set_item(key, value)?;
    }
    converted.into_bound_py_any(dict.py())
}

/// The value of a union as the member that it fits, or one that names its member already.
fn union<'py>(fields: &Fields, value: &Object<'py>, path: Path<'_>) -> PyResult<Object<'py>> {
    let py = value.py();
    if let Ok(dict) = value.cast::<PyDict>()
        && !dict.is_empty()
        && dict.keys().iter().all(|key| key.extract::<String>().is_ok_and(|key| fields.find(&key).is_some()))
    {
        return members(fields, dict, path);
    }
    for field in fields {
        if let Ok(converted) = object(field.data_type(), value, path)
            && column(py, field.data_type(), &[Some(converted.clone())], path).is_ok()
        {
            let dict = PyDict::new(py);
            dict.set_item(field.name(), converted)?;
            return dict.into_bound_py_any(py);
        }
    }
    // Its error lists the types.
    Ok(value.clone())
}

fn list<'py>(item: &FieldRef, value: &Object<'py>, path: Path<'_>) -> PyResult<Object<'py>> {
    let items = value.cast::<PyList>().map_err(|_| expected(path, "an array", value))?;
    let items = items.iter().map(|value| object(item.data_type(), &value, path));
    PyList::new(value.py(), items.collect::<PyResult<Vec<_>>>()?)?.into_bound_py_any(value.py())
}

/// JSON has text for all keys; those of Protobuf's maps may be integers and booleans.
fn map<'py>(entries: &FieldRef, value: &Object<'py>, path: Path<'_>) -> PyResult<Object<'py>> {
    let py = value.py();
    let DataType::Struct(fields) = entries.data_type() else { return Ok(value.clone()) };
    let [key_field, value_field] = &**fields else { return Ok(value.clone()) };
    let dict = value.cast::<PyDict>().map_err(|_| expected(path, "an object", value))?;
    let converted = PyDict::new(py);
    for (key, value) in dict {
        let name: String = key.extract()?;
        let key = match (key_field.data_type(), name.as_str()) {
            (DataType::Utf8 | DataType::LargeUtf8, _) => key,
            (DataType::Boolean, "true") => true.into_bound_py_any(py)?,
            (DataType::Boolean, "false") => false.into_bound_py_any(py)?,
            (DataType::Boolean, _) => {
                return Err(unfit(path, format_args!("the key {name:?} is not a boolean")));
            }
            (other, _) if other.is_decimal() => decimal::of_text(py, &name)
                .map_err(|_| unfit(path, format_args!("the key {name:?} is not a number")))?,
            _ => match name.parse::<i128>() {
                Ok(number) => number.into_bound_py_any(py)?,
                Err(_) => return Err(unfit(path, format_args!("the key {name:?} is not an integer"))),
            },
        };
        if converted.contains(&key)? {
            return Err(unfit(path, format_args!("the key {name:?} occurs twice")));
        }
        converted.set_item(key, object(value_field.data_type(), &value, Path::Field(&path, &name))?)?;
    }
    converted.into_bound_py_any(py)
}

//! `datetime` arguments, and objects with the same methods.
//!
//! Invariant: a naive datetime is refused everywhere, because its meaning depends on the machine's
//! time zone. A part of a millisecond is dropped towards the past, as in Arrow columns.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDateTime, PyFloat, PyInt, PyTzInfo};

use crate::convert::errors;

/// The error for a naive datetime, with its fix.
pub(crate) const NAIVE: &str = "naive datetime: give it a time zone, e.g. datetime.now(timezone.utc)";

/// An argument that may be a datetime.
pub(crate) enum DatetimeArg {
    /// Seconds since 1970.
    Aware(f64),
    /// A datetime without a time zone.
    Naive,
    /// No datetime.
    NotDatetime,
}

impl DatetimeArg {
    pub(crate) fn of(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = value.py();
        if value.is_instance_of::<PyInt>() || value.is_instance_of::<PyFloat>() {
            return Ok(Self::NotDatetime);
        }
        if !value.hasattr(intern!(py, "timestamp"))? {
            return Ok(Self::NotDatetime);
        }
        if let Some(offset) = value.getattr_opt(intern!(py, "utcoffset"))?
            && offset.call0()?.is_none()
        {
            return Ok(Self::Naive);
        }
        Ok(Self::Aware(value.call_method0(intern!(py, "timestamp"))?.extract()?))
    }
}

/// Returns milliseconds since 1970; `None` if the value is no datetime. `what` names the argument in errors.
pub(crate) fn millis(what: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
    match DatetimeArg::of(value)? {
        DatetimeArg::Aware(seconds) => {
            let micros = match value.is_instance_of::<PyDateTime>() {
                // Seconds as a double do not have the microseconds of all years.
                true => micros_since_1970(value)?,
                false => (seconds * 1e6).round() as i128,
            };
            Ok(i64::try_from(micros.div_euclid(1_000)).ok())
        }
        DatetimeArg::Naive => Err(errors::config(value.py(), format!("{what} is {value}: {NAIVE}"))),
        DatetimeArg::NotDatetime => Ok(None),
    }
}

/// The microseconds of a datetime with a time zone.
fn micros_since_1970(value: &Bound<'_, PyAny>) -> PyResult<i128> {
    let py = value.py();
    let utc = PyTzInfo::utc(py)?.to_owned();
    timedelta_micros(&value.sub(PyDateTime::new(py, 1970, 1, 1, 0, 0, 0, 0, Some(&utc))?)?)
}

/// The microseconds of a timedelta.
pub(crate) fn timedelta_micros(delta: &Bound<'_, PyAny>) -> PyResult<i128> {
    let py = delta.py();
    let days: i128 = delta.getattr(intern!(py, "days"))?.extract()?;
    let seconds: i128 = delta.getattr(intern!(py, "seconds"))?.extract()?;
    let micros: i128 = delta.getattr(intern!(py, "microseconds"))?.extract()?;
    Ok((days * 86_400 + seconds) * 1_000_000 + micros)
}

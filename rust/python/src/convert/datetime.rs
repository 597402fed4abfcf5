//! `datetime` arguments, and objects with the same methods.
//!
//! Invariant: a naive datetime is refused everywhere, because its meaning depends on the machine's
//! time zone.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt};

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
        DatetimeArg::Aware(seconds) => Ok(Some((seconds * 1000.0).round() as i64)),
        DatetimeArg::Naive => Err(errors::config(value.py(), format!("{what} is {value}: {NAIVE}"))),
        DatetimeArg::NotDatetime => Ok(None),
    }
}

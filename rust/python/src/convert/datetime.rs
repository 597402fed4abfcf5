//! Moments as Python has them: a `datetime`, or any object that is like one.
//!
//! Invariant: a naive one is refused wherever a moment is taken, for what it means depends on the
//! machine that it is read on.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt};

use crate::convert::errors;

/// Why a naive datetime is refused, and what to write.
pub(crate) const NAIVE: &str = "naive datetime: give it a time zone, e.g. datetime.now(timezone.utc)";

/// What a value is as a moment.
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

/// Milliseconds since 1970 of a datetime; nothing, if the value is none. `what` names the argument.
pub(crate) fn millis(what: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
    match DatetimeArg::of(value)? {
        DatetimeArg::Aware(seconds) => Ok(Some((seconds * 1000.0).round() as i64)),
        DatetimeArg::Naive => Err(errors::config(value.py(), format!("{what} is {value}: {NAIVE}"))),
        DatetimeArg::NotDatetime => Ok(None),
    }
}

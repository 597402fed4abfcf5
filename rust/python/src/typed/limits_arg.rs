//! The argument `limits`: a mapping of the keys `schema.…`.

use ottla_client::config::SchemaLimitsConfig;
use ottla_schema::SchemaLimits;
use pyo3::prelude::*;

use crate::config::{RowTuple, row_tuple, value};
use crate::convert::errors;
use crate::convert::mapping::{items, key};

/// Converts the argument `limits`.
pub(super) fn schema_limits(py: Python<'_>, limits: Option<&Bound<'_, PyAny>>) -> PyResult<SchemaLimits> {
    let mut config = SchemaLimitsConfig::default();
    if let Some(limits) = limits.filter(|limits| !limits.is_none()) {
        let example = "{\"schema.fixed.max.bytes\": 33554432}";
        for (name, item) in items(limits, "limits", example)? {
            let name = key(&name, "limits", example)?;
            config.set(&name, &value(&name, &item)?).map_err(|error| errors::raise(py, &error))?;
        }
    }
    Ok(config.limits())
}

/// Raise a ConfigError for limits that a format would refuse.
#[pyfunction]
pub(crate) fn check_schema_limits(py: Python<'_>, limits: &Bound<'_, PyAny>) -> PyResult<()> {
    schema_limits(py, Some(limits)).map(drop)
}

/// Return the limits of schemas, as ``config_rows`` does.
#[pyfunction]
pub(crate) fn schema_limit_rows() -> Vec<RowTuple> {
    SchemaLimitsConfig::rows().into_iter().map(row_tuple).collect()
}

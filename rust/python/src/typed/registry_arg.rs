//! The argument `registry`.

use std::sync::Arc;

use ottla_client::typed::SchemaLookup;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// Returns the registry of an argument.
pub(super) fn lookup(registry: &Bound<'_, PyAny>) -> PyResult<Arc<dyn SchemaLookup>> {
    let ty = registry.get_type().name()?;
    Err(PyTypeError::new_err(format!("registry is of type {ty}: expected ottla.schema.Registry")))
}

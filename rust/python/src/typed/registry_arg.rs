//! The argument `registry`.

use std::sync::Arc;

use ottla_client::typed::SchemaLookup;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::schema_registry::asynchronous::AsyncRegistry;
use crate::schema_registry::sync::Registry;

/// Returns the look-ups of a `Registry` or an `AsyncRegistry`.
pub(super) fn lookup(registry: &Bound<'_, PyAny>) -> PyResult<Arc<dyn SchemaLookup>> {
    if let Ok(registry) = registry.cast::<Registry>() {
        return registry.get().handle().lookup();
    }
    if let Ok(registry) = registry.cast::<AsyncRegistry>() {
        return registry.get().handle().lookup();
    }
    let ty = registry.get_type().name()?;
    Err(PyTypeError::new_err(format!("registry is of type {ty}: expected ottla.schema.Registry")))
}

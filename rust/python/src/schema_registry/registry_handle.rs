//! A registry client as Python owns it: used in one process, until it is closed.

use std::sync::Arc;
use std::time::Duration;

use ottla_client::environment::Environment;
use ottla_client::schema_registry::{RegistryLookup, SchemaRegistry};
use ottla_client::typed::SchemaLookup;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::arguments::registry_config;
use crate::convert::errors;
use crate::runtime::{ProcessLocal, runtime, seconds};

/// The client, and the look-ups of readers in it.
pub(crate) struct RegistryHandle {
    core: ProcessLocal<(Arc<SchemaRegistry>, Arc<RegistryLookup>)>,
}

impl RegistryHandle {
    pub(super) fn new(
        py: Python<'_>,
        url: Option<&Bound<'_, PyAny>>,
        config: Option<&Bound<'_, PyAny>>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let config = registry_config(py, url, config, kwargs)?;
        let registry = py.detach(|| SchemaRegistry::new(config, Environment::default()));
        let registry = Arc::new(registry.map_err(|error| errors::raise(py, &error))?);
        let lookup = Arc::new(RegistryLookup::new(Arc::clone(&registry)));
        Ok(Self { core: ProcessLocal::new((registry, lookup)) })
    }

    fn open(&self) -> PyResult<&(Arc<SchemaRegistry>, Arc<RegistryLookup>)> {
        let core = self.core.get()?;
        if core.0.is_closed() {
            Err(errors::closed("this schema registry client was closed"))
        } else {
            Ok(core)
        }
    }

    /// Returns the client and the timeout of a call.
    pub(super) fn call(&self, timeout: Option<f64>) -> PyResult<(Arc<SchemaRegistry>, Duration)> {
        let (registry, _) = self.open()?;
        let timeout = seconds(timeout, registry.config().default_api_timeout)?;
        Ok((Arc::clone(registry), timeout))
    }

    /// Returns the look-ups of readers.
    pub(crate) fn lookup(&self) -> PyResult<Arc<dyn SchemaLookup>> {
        let (_, lookup) = self.open()?;
        Ok(Arc::clone(lookup) as Arc<dyn SchemaLookup>)
    }

    /// Returns the addresses, without user and password.
    pub(super) fn urls(&self) -> PyResult<Vec<String>> {
        Ok(self.core.get()?.0.urls().into_iter().map(str::to_owned).collect())
    }

    pub(super) fn close(&self) -> PyResult<()> {
        let (registry, _) = self.core.get()?;
        // Closing a connection ends its task on the runtime.
        let runtime = runtime()?;
        let _entered = runtime.enter();
        registry.close();
        Ok(())
    }

    /// The text of `repr`.
    pub(super) fn repr(&self, class: &str) -> String {
        match self.core.peek() {
            Some((registry, _)) => {
                let state = if registry.is_closed() { ", closed" } else { "" };
                format!("{class}({:?}{state})", registry.urls().join(","))
            }
            None => format!("{class}(of another process)"),
        }
    }
}

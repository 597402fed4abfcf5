//! `AsyncRegistry`: `Registry` for asyncio, over the same `registry_ops`.

use std::sync::Arc;

use ottla_client::schema_registry::{SchemaEntry, SubjectFilter};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::docs::docs;
use super::registry_handle::RegistryHandle;
use super::registry_ops::{self, SettingChange, Wanted, schema_id};
use super::schema::{Compatibility, Schema};
use super::setting::RegistrySetting;
use crate::asyncio::{FutureResult, start};
use crate::convert::number;
use crate::convert::renamed;

/// A client of a schema registry for asyncio; it mirrors ``Registry``.
///
/// Methods that block there return a native future of the running loop here and use no thread.
/// Cancelling the future cancels the request. Formats take either.
///
/// Args:
///     url: the address, as ``https://host:port/path``; several, as a list or with commas, are
///         tried in turn. ``mock://name`` is a mock registry in this process (``ottla.testing``).
///     config: configuration by Confluent's dotted names, with or without ``schema.registry.``.
///         Keyword arguments are the same names with underscores and take precedence. See
///         ``Registry``.
///
/// Raises:
///     ConfigError: a key or a value is invalid.
#[pyclass(frozen, module = "ottla.schema")]
pub(crate) struct AsyncRegistry {
    handle: RegistryHandle,
}

impl AsyncRegistry {
    pub(crate) fn handle(&self) -> &RegistryHandle {
        &self.handle
    }

    fn find<'py>(&self, py: Python<'py>, wanted: Wanted, timeout: Option<f64>) -> FutureResult<'py> {
        let (registry, timeout) = self.handle.call(timeout)?;
        start(py, registry_ops::look_up(registry, wanted, timeout), schema_value)
    }

    fn change<'py>(&self, py: Python<'py>, change: SettingChange, timeout: Option<f64>) -> FutureResult<'py> {
        let (registry, timeout) = self.handle.call(timeout)?;
        start(py, registry_ops::change(registry, change, timeout), |py, ()| Ok(py.None()))
    }
}

fn schema_value(py: Python<'_>, entry: Arc<SchemaEntry>) -> PyResult<Py<PyAny>> {
    Schema::from(&*entry).into_py_any(py)
}

#[pymethods]
impl AsyncRegistry {
    #[new]
    #[pyo3(signature = (url=None, config=None, **kwargs))]
    fn new(
        py: Python<'_>,
        url: Option<&Bound<'_, PyAny>>,
        config: Option<&Bound<'_, PyAny>>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        Ok(Self { handle: RegistryHandle::new(py, url, config, kwargs)? })
    }

    /// The addresses, without user and password.
    #[getter]
    fn urls(&self) -> PyResult<Vec<String>> {
        self.handle.urls()
    }

    #[doc = docs!(schema)]
    #[pyo3(signature = (id, *, subject=None, timeout=None))]
    fn schema<'py>(
        &self,
        py: Python<'py>,
        id: &Bound<'_, PyAny>,
        subject: Option<String>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        self.find(py, Wanted::Id(schema_id(id)?, subject), timeout)
    }

    #[doc = docs!(latest)]
    #[pyo3(signature = (subject, *, timeout=None))]
    fn latest<'py>(
        &self,
        py: Python<'py>,
        subject: String,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        self.find(py, Wanted::Latest(subject), timeout)
    }

    #[doc = docs!(schema_by_version)]
    #[pyo3(signature = (subject, version, *, deleted=false, timeout=None))]
    fn schema_by_version<'py>(
        &self,
        py: Python<'py>,
        subject: String,
        #[pyo3(from_py_with = number::version)] version: i32,
        deleted: bool,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        self.find(py, Wanted::Version(subject, version, deleted), timeout)
    }

    /// The old name of ``schema_by_version()``, which raises an ``AttributeError``.
    #[getter]
    fn version(this: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        Err(renamed::old_method(this.as_any(), "version", "schema_by_version"))
    }

    #[doc = docs!(lookup)]
    #[pyo3(signature = (subject, schema, *, normalize=false, timeout=None))]
    fn lookup<'py>(
        &self,
        py: Python<'py>,
        subject: String,
        schema: &Bound<'_, Schema>,
        normalize: bool,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        self.find(py, Wanted::Registered(subject, schema.get().as_new().clone(), normalize), timeout)
    }

    #[doc = docs!(register)]
    #[pyo3(signature = (subject, schema, *, normalize=false, timeout=None))]
    fn register<'py>(
        &self,
        py: Python<'py>,
        subject: String,
        schema: &Bound<'_, Schema>,
        normalize: bool,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        let (registry, timeout) = self.handle.call(timeout)?;
        let schema = schema.get().as_new().clone();
        start(py, registry_ops::register(registry, subject, schema, normalize, timeout), schema_value)
    }

    #[doc = docs!(subjects)]
    #[pyo3(signature = (*, prefix=None, deleted=false, timeout=None))]
    fn subjects<'py>(
        &self,
        py: Python<'py>,
        prefix: Option<String>,
        deleted: bool,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        let (registry, timeout) = self.handle.call(timeout)?;
        let filter = SubjectFilter { prefix: prefix.unwrap_or_default(), with_deleted: deleted };
        start(py, registry_ops::subjects(registry, filter, timeout), |py, found| found.into_py_any(py))
    }

    #[doc = docs!(versions)]
    #[pyo3(signature = (subject, *, deleted=false, timeout=None))]
    fn versions<'py>(
        &self,
        py: Python<'py>,
        subject: String,
        deleted: bool,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        let (registry, timeout) = self.handle.call(timeout)?;
        start(py, registry_ops::versions(registry, subject, deleted, timeout), |py, found| {
            found.into_py_any(py)
        })
    }

    #[doc = docs!(delete_version)]
    #[pyo3(signature = (subject, version, *, permanent=false, timeout=None))]
    fn delete_version<'py>(
        &self,
        py: Python<'py>,
        subject: String,
        #[pyo3(from_py_with = number::version)] version: i32,
        permanent: bool,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        let (registry, timeout) = self.handle.call(timeout)?;
        start(py, registry_ops::delete_version(registry, subject, version, permanent, timeout), |py, ()| {
            Ok(py.None())
        })
    }

    #[doc = docs!(delete_subject)]
    #[pyo3(signature = (subject, *, permanent=false, timeout=None))]
    fn delete_subject<'py>(
        &self,
        py: Python<'py>,
        subject: String,
        permanent: bool,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        let (registry, timeout) = self.handle.call(timeout)?;
        start(py, registry_ops::delete_subject(registry, subject, permanent, timeout), |py, found| {
            found.into_py_any(py)
        })
    }

    #[doc = docs!(compatibility_level)]
    #[pyo3(signature = (subject=None, *, timeout=None))]
    fn compatibility_level<'py>(
        &self,
        py: Python<'py>,
        subject: Option<String>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        let (registry, timeout) = self.handle.call(timeout)?;
        start(py, registry_ops::compatibility_level(registry, subject, timeout), |py, found| {
            RegistrySetting::from(found).into_py_any(py)
        })
    }

    #[doc = docs!(set_compatibility_level)]
    #[pyo3(signature = (level, subject=None, *, timeout=None))]
    fn set_compatibility_level<'py>(
        &self,
        py: Python<'py>,
        level: String,
        subject: Option<String>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        self.change(py, SettingChange::SetLevel(level, subject), timeout)
    }

    #[doc = docs!(delete_compatibility_level)]
    #[pyo3(signature = (subject=None, *, timeout=None))]
    fn delete_compatibility_level<'py>(
        &self,
        py: Python<'py>,
        subject: Option<String>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        self.change(py, SettingChange::DeleteLevel(subject), timeout)
    }

    #[doc = docs!(mode)]
    #[pyo3(signature = (subject=None, *, timeout=None))]
    fn mode<'py>(
        &self,
        py: Python<'py>,
        subject: Option<String>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        let (registry, timeout) = self.handle.call(timeout)?;
        start(py, registry_ops::mode(registry, subject, timeout), |py, found| {
            RegistrySetting::from(found).into_py_any(py)
        })
    }

    #[doc = docs!(set_mode)]
    #[pyo3(signature = (mode, subject=None, *, force=false, timeout=None))]
    fn set_mode<'py>(
        &self,
        py: Python<'py>,
        mode: String,
        subject: Option<String>,
        force: bool,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        self.change(py, SettingChange::SetMode { mode, subject, force }, timeout)
    }

    #[doc = docs!(delete_mode)]
    #[pyo3(signature = (subject, *, timeout=None))]
    fn delete_mode<'py>(
        &self,
        py: Python<'py>,
        subject: String,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        self.change(py, SettingChange::DeleteMode(subject), timeout)
    }

    #[doc = docs!(check_compatibility)]
    #[pyo3(signature = (subject, schema, version=None, *, timeout=None))]
    fn check_compatibility<'py>(
        &self,
        py: Python<'py>,
        subject: String,
        schema: &Bound<'_, Schema>,
        #[pyo3(from_py_with = number::version)] version: Option<i32>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> FutureResult<'py> {
        let (registry, timeout) = self.handle.call(timeout)?;
        let schema = schema.get().as_new().clone();
        let call = registry_ops::check_compatibility(registry, subject, schema, version, timeout);
        start(py, call, |py, found| Compatibility::from(found).into_py_any(py))
    }

    #[doc = docs!(close)]
    fn close<'py>(&self, py: Python<'py>) -> FutureResult<'py> {
        self.handle.close()?;
        start(py, std::future::ready(Ok(())), |py, ()| Ok(py.None()))
    }

    fn __aenter__<'py>(this: &Bound<'py, Self>) -> FutureResult<'py> {
        let (py, this) = (this.py(), this.clone().into_any().unbind());
        start(py, std::future::ready(Ok(())), |_, ()| Ok(this))
    }

    #[pyo3(signature = (*_args))]
    fn __aexit__<'py>(&self, py: Python<'py>, _args: &Bound<'py, PyAny>) -> FutureResult<'py> {
        self.close(py)
    }

    fn __repr__(&self) -> String {
        self.handle.repr("AsyncRegistry")
    }
}

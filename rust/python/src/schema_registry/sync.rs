//! `Registry`, for threads.

use ottla_client::schema_registry::SubjectFilter;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::docs::docs;
use super::registry_handle::RegistryHandle;
use super::registry_ops::{self, SettingChange, Wanted, schema_id};
use super::schema::{Compatibility, Schema};
use super::setting::RegistrySetting;
use crate::convert::number;
use crate::convert::renamed;
use crate::runtime::wait_for;

/// A client of a schema registry with Confluent's API: Confluent, Karapace, Redpanda, and
/// Apicurio's compatible one.
///
/// Formats such as ``Avro`` use it to look up schemas. Any thread may use it; share one, so that
/// all share its cache. Schemas by id do not expire, and remain available while the registry is
/// down. The first call connects.
///
/// Args:
///     url: the address, as ``https://host:port/path``; several, as a list or with commas, are
///         tried in turn. ``mock://name`` is a mock registry in this process (``ottla.testing``).
///     config: configuration by Confluent's dotted names, with or without ``schema.registry.``.
///         Keyword arguments are the same names with underscores and take precedence:
///         ``basic_auth_user_info="user:password"``, ``bearer_auth_token``, ``ssl_ca_location``,
///         ``request_timeout_ms``, ``cache_capacity`` … All are in docs/reference/configuration.md.
///
/// Raises:
///     ConfigError: a key or a value is invalid.
#[pyclass(frozen, module = "ottla.schema")]
pub(crate) struct Registry {
    handle: RegistryHandle,
}

impl Registry {
    pub(crate) fn handle(&self) -> &RegistryHandle {
        &self.handle
    }

    fn find(&self, py: Python<'_>, wanted: Wanted, timeout: Option<f64>) -> PyResult<Schema> {
        let (registry, timeout) = self.handle.call(timeout)?;
        let entry = wait_for(py, registry_ops::look_up(registry, wanted, timeout))?;
        Ok(Schema::from(&*entry))
    }

    fn change(&self, py: Python<'_>, change: SettingChange, timeout: Option<f64>) -> PyResult<()> {
        let (registry, timeout) = self.handle.call(timeout)?;
        wait_for(py, registry_ops::change(registry, change, timeout))
    }
}

#[pymethods]
impl Registry {
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
    fn schema(
        &self,
        py: Python<'_>,
        id: &Bound<'_, PyAny>,
        subject: Option<String>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Schema> {
        self.find(py, Wanted::Id(schema_id(id)?, subject), timeout)
    }

    #[doc = docs!(latest)]
    #[pyo3(signature = (subject, *, timeout=None))]
    fn latest(
        &self,
        py: Python<'_>,
        subject: String,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Schema> {
        self.find(py, Wanted::Latest(subject), timeout)
    }

    #[doc = docs!(schema_by_version)]
    #[pyo3(signature = (subject, version, *, deleted=false, timeout=None))]
    fn schema_by_version(
        &self,
        py: Python<'_>,
        subject: String,
        #[pyo3(from_py_with = number::version)] version: i32,
        deleted: bool,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Schema> {
        self.find(py, Wanted::Version(subject, version, deleted), timeout)
    }

    /// The old name of ``schema_by_version()``, which raises an ``AttributeError``.
    #[getter]
    fn version(this: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        Err(renamed::old_method(this.as_any(), "version", "schema_by_version"))
    }

    #[doc = docs!(lookup)]
    #[pyo3(signature = (subject, schema, *, normalize=false, timeout=None))]
    fn lookup(
        &self,
        py: Python<'_>,
        subject: String,
        schema: &Bound<'_, Schema>,
        normalize: bool,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Schema> {
        self.find(py, Wanted::Registered(subject, schema.get().as_new().clone(), normalize), timeout)
    }

    #[doc = docs!(register)]
    #[pyo3(signature = (subject, schema, *, normalize=false, timeout=None))]
    fn register(
        &self,
        py: Python<'_>,
        subject: String,
        schema: &Bound<'_, Schema>,
        normalize: bool,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Schema> {
        let (registry, timeout) = self.handle.call(timeout)?;
        let entry = wait_for(
            py,
            registry_ops::register(registry, subject, schema.get().as_new().clone(), normalize, timeout),
        )?;
        Ok(Schema::from(&*entry))
    }

    #[doc = docs!(subjects)]
    #[pyo3(signature = (*, prefix=None, deleted=false, timeout=None))]
    fn subjects(
        &self,
        py: Python<'_>,
        prefix: Option<String>,
        deleted: bool,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Vec<String>> {
        let (registry, timeout) = self.handle.call(timeout)?;
        let filter = SubjectFilter { prefix: prefix.unwrap_or_default(), with_deleted: deleted };
        wait_for(py, registry_ops::subjects(registry, filter, timeout))
    }

    #[doc = docs!(versions)]
    #[pyo3(signature = (subject, *, deleted=false, timeout=None))]
    fn versions(
        &self,
        py: Python<'_>,
        subject: String,
        deleted: bool,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Vec<i32>> {
        let (registry, timeout) = self.handle.call(timeout)?;
        wait_for(py, registry_ops::versions(registry, subject, deleted, timeout))
    }

    #[doc = docs!(delete_version)]
    #[pyo3(signature = (subject, version, *, permanent=false, timeout=None))]
    fn delete_version(
        &self,
        py: Python<'_>,
        subject: String,
        #[pyo3(from_py_with = number::version)] version: i32,
        permanent: bool,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<()> {
        let (registry, timeout) = self.handle.call(timeout)?;
        wait_for(py, registry_ops::delete_version(registry, subject, version, permanent, timeout))
    }

    #[doc = docs!(delete_subject)]
    #[pyo3(signature = (subject, *, permanent=false, timeout=None))]
    fn delete_subject(
        &self,
        py: Python<'_>,
        subject: String,
        permanent: bool,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Vec<i32>> {
        let (registry, timeout) = self.handle.call(timeout)?;
        wait_for(py, registry_ops::delete_subject(registry, subject, permanent, timeout))
    }

    #[doc = docs!(compatibility_level)]
    #[pyo3(signature = (subject=None, *, timeout=None))]
    fn compatibility_level(
        &self,
        py: Python<'_>,
        subject: Option<String>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<RegistrySetting> {
        let (registry, timeout) = self.handle.call(timeout)?;
        Ok(wait_for(py, registry_ops::compatibility_level(registry, subject, timeout))?.into())
    }

    #[doc = docs!(set_compatibility_level)]
    #[pyo3(signature = (level, subject=None, *, timeout=None))]
    fn set_compatibility_level(
        &self,
        py: Python<'_>,
        level: String,
        subject: Option<String>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<()> {
        self.change(py, SettingChange::SetLevel(level, subject), timeout)
    }

    #[doc = docs!(delete_compatibility_level)]
    #[pyo3(signature = (subject=None, *, timeout=None))]
    fn delete_compatibility_level(
        &self,
        py: Python<'_>,
        subject: Option<String>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<()> {
        self.change(py, SettingChange::DeleteLevel(subject), timeout)
    }

    #[doc = docs!(mode)]
    #[pyo3(signature = (subject=None, *, timeout=None))]
    fn mode(
        &self,
        py: Python<'_>,
        subject: Option<String>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<RegistrySetting> {
        let (registry, timeout) = self.handle.call(timeout)?;
        Ok(wait_for(py, registry_ops::mode(registry, subject, timeout))?.into())
    }

    #[doc = docs!(set_mode)]
    #[pyo3(signature = (mode, subject=None, *, force=false, timeout=None))]
    fn set_mode(
        &self,
        py: Python<'_>,
        mode: String,
        subject: Option<String>,
        force: bool,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<()> {
        self.change(py, SettingChange::SetMode { mode, subject, force }, timeout)
    }

    #[doc = docs!(delete_mode)]
    #[pyo3(signature = (subject, *, timeout=None))]
    fn delete_mode(
        &self,
        py: Python<'_>,
        subject: String,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<()> {
        self.change(py, SettingChange::DeleteMode(subject), timeout)
    }

    #[doc = docs!(check_compatibility)]
    #[pyo3(signature = (subject, schema, version=None, *, timeout=None))]
    fn check_compatibility(
        &self,
        py: Python<'_>,
        subject: String,
        schema: &Bound<'_, Schema>,
        #[pyo3(from_py_with = number::version)] version: Option<i32>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Compatibility> {
        let (registry, timeout) = self.handle.call(timeout)?;
        let schema = schema.get().as_new().clone();
        let call = registry_ops::check_compatibility(registry, subject, schema, version, timeout);
        Ok(wait_for(py, call)?.into())
    }

    #[doc = docs!(close)]
    fn close(&self) -> PyResult<()> {
        self.handle.close()
    }

    fn __enter__<'py>(this: &Bound<'py, Self>) -> Bound<'py, Self> {
        this.clone()
    }

    #[pyo3(signature = (*_args))]
    fn __exit__(&self, _args: &Bound<'_, PyAny>) -> PyResult<()> {
        self.close()
    }

    fn __repr__(&self) -> String {
        self.handle.repr("Registry")
    }
}

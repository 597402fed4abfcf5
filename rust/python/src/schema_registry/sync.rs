//! `Registry`, for threads.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::registry_handle::RegistryHandle;
use super::registry_ops::{self, Wanted, schema_id};
use super::schema::{Compatibility, Schema};
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

    /// Return the schema with an id.
    ///
    /// Args:
    ///     id: the id, or a GUID as text (Confluent Platform 8).
    ///     timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.
    ///
    /// Raises:
    ///     SchemaError: there is no such schema.
    ///     AuthenticationError: the registry rejected the credentials.
    ///     TimeoutError: no address responded in time; the message says why.
    #[pyo3(signature = (id, *, timeout=None))]
    fn schema(
        &self,
        py: Python<'_>,
        id: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Schema> {
        self.find(py, Wanted::Id(schema_id(id)?), timeout)
    }

    /// Return the latest schema of a subject.
    ///
    /// It is cached for ``schema.registry.latest.cache.ttl.ms``, 60 s.
    ///
    /// Args:
    ///     subject: the subject.
    ///     timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.
    ///
    /// Raises:
    ///     SchemaError: the subject does not exist.
    ///     AuthenticationError: the registry rejected the credentials.
    ///     TimeoutError: no address responded in time; the message says why.
    #[pyo3(signature = (subject, *, timeout=None))]
    fn latest(
        &self,
        py: Python<'_>,
        subject: String,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Schema> {
        self.find(py, Wanted::Latest(subject), timeout)
    }

    /// Return the schema of a version of a subject.
    ///
    /// Args:
    ///     subject: the subject.
    ///     version: the version, from 1.
    ///     timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.
    ///
    /// Raises:
    ///     SchemaError: the subject or the version does not exist.
    ///     AuthenticationError: the registry rejected the credentials.
    ///     TimeoutError: no address responded in time; the message says why.
    #[pyo3(signature = (subject, version, *, timeout=None))]
    fn schema_by_version(
        &self,
        py: Python<'_>,
        subject: String,
        #[pyo3(from_py_with = number::version)] version: i32,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Schema> {
        self.find(py, Wanted::Version(subject, version), timeout)
    }

    /// The old name of ``schema_by_version()``, which raises an ``AttributeError``.
    #[getter]
    fn version(&self) -> PyResult<Py<PyAny>> {
        Err(renamed::old_method("Registry.version()", "schema_by_version()"))
    }

    /// Return a schema as it is registered in a subject, with version and id.
    ///
    /// Args:
    ///     subject: the subject.
    ///     schema: the schema.
    ///     timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.
    ///
    /// Raises:
    ///     SchemaError: the subject does not exist, or does not have this schema.
    ///     AuthenticationError: the registry rejected the credentials.
    ///     TimeoutError: no address responded in time; the message says why.
    #[pyo3(signature = (subject, schema, *, timeout=None))]
    fn lookup(
        &self,
        py: Python<'_>,
        subject: String,
        schema: &Bound<'_, Schema>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Schema> {
        self.find(py, Wanted::Registered(subject, schema.get().to_new()), timeout)
    }

    /// Register a schema in a subject, and return it with version and id.
    ///
    /// A schema that is registered already is returned as it is.
    ///
    /// Args:
    ///     subject: the subject: by convention the topic's name and ``-key`` or ``-value``.
    ///     schema: the schema.
    ///     timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.
    ///
    /// Raises:
    ///     SchemaError: the schema is invalid, or incompatible with earlier versions.
    ///     AuthenticationError: the registry rejected the credentials.
    ///     AuthorizationError: the credentials lack the permission.
    ///     TimeoutError: no address responded in time; the schema may be registered all the same.
    #[pyo3(signature = (subject, schema, *, timeout=None))]
    fn register(
        &self,
        py: Python<'_>,
        subject: String,
        schema: &Bound<'_, Schema>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Schema> {
        let (registry, timeout) = self.handle.call(timeout)?;
        let entry = wait_for(py, registry_ops::register(registry, subject, schema.get().to_new(), timeout))?;
        Ok(Schema::from(&*entry))
    }

    /// Return the names of all subjects.
    ///
    /// Args:
    ///     timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.
    ///
    /// Raises:
    ///     AuthenticationError: the registry rejected the credentials.
    ///     TimeoutError: no address responded in time; the message says why.
    #[pyo3(signature = (*, timeout=None))]
    fn subjects(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<Vec<String>> {
        let (registry, timeout) = self.handle.call(timeout)?;
        wait_for(py, registry_ops::subjects(registry, timeout))
    }

    /// Check whether a subject would accept a schema; nothing is registered.
    ///
    /// Args:
    ///     subject: the subject.
    ///     schema: the schema.
    ///     version: the version to compare with. Default: the latest one.
    ///     timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.
    ///
    /// Raises:
    ///     SchemaError: the subject or the version does not exist, or the schema is invalid.
    ///     AuthenticationError: the registry rejected the credentials.
    ///     TimeoutError: no address responded in time; the message says why.
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
        let schema = schema.get().to_new();
        let call = registry_ops::check_compatibility(registry, subject, schema, version, timeout);
        Ok(wait_for(py, call)?.into())
    }

    /// Close the connections.
    ///
    /// Later calls, and readers that use this client, raise a ``ClosedError``.
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

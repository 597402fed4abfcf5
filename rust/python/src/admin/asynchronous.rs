//! `AsyncAdmin`: `Admin` for asyncio.

use std::time::Duration;

use ottla_client::Client as Core;
use pyo3::PyVisit;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::admin::call::AdminCall;
use crate::asyncio::{FutureResult, start};
use crate::client::client_arg::{connect_if_new, resolve_client};
use crate::client::docs::docs as client_docs;
use crate::client::sasl_credentials::set_sasl_credentials;
use crate::convert::number;
use crate::garbage::Visited;
use crate::runtime::{ProcessLocal, seconds};
use crate::token_callback;

/// ``Admin`` for asyncio: its calls return native futures of the running loop.
///
/// Use it in an ``async with`` block, or ``close()`` it. Creating it does not connect it: the
/// block, ``connect()`` or the first call does.
///
/// Args:
///     bootstrap: addresses as ``host:port``, or a ``Client`` or ``AsyncClient`` whose connections
///         it shares.
///     config: configuration by Kafka's dotted names. Keyword arguments are the same names with
///         underscores and take precedence. See ``Client``.
///     timeout: seconds for ``connect()`` to find the cluster. Default: ``default.api.timeout.ms``.
///
/// Raises:
///     ConfigError: a key or a value is invalid, or a client is combined with configuration.
#[pyclass(frozen, subclass, module = "ottla")]
pub(crate) struct AsyncAdmin {
    core: ProcessLocal<Core>,
    /// Whether the client was created for this object and is closed with it.
    own_client: bool,
    /// For connecting.
    timeout: Duration,
}

impl AsyncAdmin {
    /// Returns a core to move into a call's future, and the call's timeout.
    pub(super) fn call(&self, timeout: Option<f64>) -> PyResult<(Core, Duration)> {
        let core = self.core.get()?;
        Ok((core.clone(), seconds(timeout, core.config().default_api_timeout)?))
    }
}

#[pymethods]
impl AsyncAdmin {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Visited {
        let core = self.core.peek().filter(|_| self.own_client);
        core.map_or(Ok(()), |core| token_callback::traverse(core, &visit))
    }

    #[new]
    #[pyo3(signature = (bootstrap=None, config=None, *, timeout=None, **kwargs))]
    fn new(
        py: Python<'_>,
        bootstrap: Option<&Bound<'_, PyAny>>,
        config: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let (core, own_client) = resolve_client(py, "AsyncAdmin", bootstrap, config, kwargs)?;
        let timeout = seconds(timeout, core.config().default_api_timeout)?;
        Ok(Self { core: ProcessLocal::new(core), own_client, timeout })
    }

    /// Connect to the cluster, unless it is connected already.
    ///
    /// Raises:
    ///     AuthenticationError: the credentials, or the certificate of either side, were rejected.
    ///     BootstrapError: no bootstrap server could be used; the message lists each with its
    ///         cause.
    fn connect<'py>(&self, py: Python<'py>) -> FutureResult<'py> {
        let connected = connect_if_new(self.core.get()?.clone(), self.own_client, self.timeout);
        start(py, connected, |py, ()| Ok(py.None()))
    }

    #[doc = client_docs!(set_sasl_credentials)]
    fn set_sasl_credentials(&self, py: Python<'_>, username: String, password: String) -> PyResult<()> {
        set_sasl_credentials(py, self.core.get()?, username, password)
    }

    /// Begin a call whose requests Python builds.
    ///
    /// Args:
    ///     what: names the call in errors.
    ///     timeout: seconds. Default: ``default.api.timeout.ms``.
    ///
    /// Returns:
    ///     The call.
    fn _begin(
        &self,
        what: String,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
    ) -> PyResult<AdminCall> {
        let (core, timeout) = self.call(timeout)?;
        Ok(AdminCall::new(core, what, timeout))
    }

    /// Close the connections, unless they belong to a shared client.
    fn close<'py>(&self, py: Python<'py>) -> FutureResult<'py> {
        let (core, own_client) = (self.core.get()?.clone(), self.own_client);
        let close = async move {
            if own_client {
                core.close();
            }
            Ok(())
        };
        start(py, close, |py, ()| Ok(py.None()))
    }

    fn __aenter__<'py>(this: Py<Self>, py: Python<'py>) -> FutureResult<'py> {
        let admin = this.get();
        let connected = connect_if_new(admin.core.get()?.clone(), admin.own_client, admin.timeout);
        let this = this.clone_ref(py);
        start(py, connected, |_, ()| Ok(this.into_any()))
    }

    #[pyo3(signature = (*_args))]
    fn __aexit__<'py>(&self, py: Python<'py>, _args: &Bound<'_, PyAny>) -> FutureResult<'py> {
        self.close(py)
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(format!("AsyncAdmin(bootstrap={:?})", self.core.get()?.config().addresses().join(",")))
    }
}

//! `Admin`: the class, and the calls whose requests Python builds.

use std::time::Duration;

use ottla_client::Client as Core;
use pyo3::PyVisit;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::admin::call::AdminCall;
use crate::client::client_arg::{Connecting, resolve_connected_client};
use crate::client::docs::docs as client_docs;
use crate::client::sasl_credentials::set_sasl_credentials;
use crate::convert::number;
use crate::garbage::Visited;
use crate::runtime::{ProcessLocal, seconds};
use crate::token_callback;

/// Creates and deletes topics, manages transactions, and begins the calls of ``ottla.Admin``.
///
/// Use it in a ``with`` block, or ``close()`` it.
///
/// Args:
///     bootstrap: addresses as ``host:port``, or a ``Client`` whose connections it shares.
///     config: configuration by Kafka's dotted names. Keyword arguments are the same names with
///         underscores and take precedence. See ``Client``.
///     timeout: seconds to find the cluster, as for ``Client``.
///     connect: whether to connect now, as for ``Client``.
///
/// Raises:
///     AuthenticationError: the credentials, or the certificate of either side, were rejected.
///     BootstrapError: no bootstrap server could be used; the message lists each with its cause.
///     ConfigError: a key or a value is invalid, or a client is combined with configuration.
#[pyclass(frozen, subclass, module = "ottla")]
pub(crate) struct Admin {
    core: ProcessLocal<Core>,
    /// Whether the client was created for this object and is closed with it.
    own_client: bool,
}

impl Admin {
    /// Returns a core to move into a call's future, and the call's timeout.
    pub(super) fn call(&self, timeout: Option<f64>) -> PyResult<(Core, Duration)> {
        let core = self.core.get()?;
        Ok((core.clone(), seconds(timeout, core.config().default_api_timeout)?))
    }
}

#[pymethods]
impl Admin {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Visited {
        let core = self.core.peek().filter(|_| self.own_client);
        core.map_or(Ok(()), |core| token_callback::traverse(core, &visit))
    }

    #[new]
    #[pyo3(signature = (bootstrap=None, config=None, *, timeout=None, connect=true, **kwargs))]
    fn new(
        py: Python<'_>,
        bootstrap: Option<&Bound<'_, PyAny>>,
        config: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = number::timeout)] timeout: Option<f64>,
        connect: bool,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let connecting = Connecting { connect, timeout };
        let (core, own_client) =
            resolve_connected_client(py, "Admin", bootstrap, config, connecting, kwargs)?;
        Ok(Self { core: ProcessLocal::new(core), own_client })
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
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let core = self.core.get()?;
        if self.own_client {
            py.detach(|| core.close());
        }
        Ok(())
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (*_args))]
    fn __exit__(&self, py: Python<'_>, _args: &Bound<'_, PyAny>) -> PyResult<()> {
        self.close(py)
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(format!("Admin(bootstrap={:?})", self.core.get()?.config().addresses().join(",")))
    }
}

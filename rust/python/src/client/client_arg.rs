//! The `bootstrap` argument of producers, consumers and admins: a client to share, or addresses for a
//! new one.

use std::time::Duration;

use ottla_client::Client as Core;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::client::base::ClientBase;
use crate::config;
use crate::convert::errors;
use crate::runtime::{seconds, wait_for};
use crate::token_callback;

/// Returns the shared client's core, or a new core that is not connected yet; and whether it is new.
/// `class` names the caller in errors.
pub(crate) fn resolve_client(
    py: Python<'_>,
    class: &str,
    bootstrap: Option<&Bound<'_, PyAny>>,
    config: Option<&Bound<'_, PyAny>>,
    kwargs: Option<&Bound<'_, PyDict>>,
) -> PyResult<(Core, bool)> {
    let client = bootstrap.and_then(|argument| argument.cast::<ClientBase>().ok());
    let shared = client.map(|client| client.get().core()).transpose()?;
    let check = |client: &Core| match class {
        "Admin" | "AsyncAdmin" => Ok(()),
        class => client.config().check_brokers(class).map_err(|error| errors::raise(py, &error)),
    };
    match shared {
        Some(_) if config.is_some() || kwargs.is_some_and(|kwargs| !kwargs.is_empty()) => {
            let message =
                format!("{class} on a shared client takes its configuration from it: configure the client");
            Err(errors::config(py, message))
        }
        Some(client) => {
            check(client)?;
            token_callback::share(client);
            Ok((client.clone(), false))
        }
        None => {
            let (config, environment) = config::config(py, bootstrap, config, kwargs)?;
            let client = config::new_client(py, config, environment)?;
            check(&client)?;
            Ok((client, true))
        }
    }
}

/// Whether the argument is a client to share.
pub(crate) fn is_client(bootstrap: &Bound<'_, PyAny>) -> bool {
    bootstrap.is_instance_of::<ClientBase>()
}

/// Connects a new client. A shared client is connected already, or connects with its first call.
pub(crate) async fn connect_if_new(
    client: Core,
    is_new: bool,
    timeout: Duration,
) -> ottla_client::Result<()> {
    if is_new { client.find_cluster(timeout).await } else { Ok(()) }
}

/// Whether a new client connects at once, and how long it may take to find the cluster.
#[derive(Clone, Copy)]
pub(crate) struct Connecting {
    pub(crate) connect: bool,
    pub(crate) timeout: Option<f64>,
}

impl Connecting {
    /// The time to find the cluster.
    pub(crate) fn timeout(&self, client: &Core) -> PyResult<Duration> {
        seconds(self.timeout, client.config().default_api_timeout)
    }
}

/// Returns the shared client's core, or a new core, connected if it is to connect at once; and whether it is new.
pub(crate) fn resolve_connected_client(
    py: Python<'_>,
    class: &str,
    bootstrap: Option<&Bound<'_, PyAny>>,
    config: Option<&Bound<'_, PyAny>>,
    connecting: Connecting,
    kwargs: Option<&Bound<'_, PyDict>>,
) -> PyResult<(Core, bool)> {
    let (core, is_new) = resolve_client(py, class, bootstrap, config, kwargs)?;
    let timeout = connecting.timeout(&core)?;
    if connecting.connect {
        wait_for(py, connect_if_new(core.clone(), is_new, timeout))?;
    }
    Ok((core, is_new))
}

//! The client that a producer or a consumer works on: one that was given, or one of its own.

use std::time::Duration;

use ottla_client::Client as Core;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::client::asynchronous::AsyncClient;
use crate::client::sync::Client;
use crate::config;
use crate::convert::errors;
use crate::runtime::{seconds, wait_for};

/// The core of the client that was given in place of addresses, or one that is not connected yet; and
/// whether it is new.
pub(crate) fn resolve_client(
    py: Python<'_>,
    what: &str,
    bootstrap: Option<&Bound<'_, PyAny>>,
    config: Option<&Bound<'_, PyAny>>,
    kwargs: Option<&Bound<'_, PyDict>>,
) -> PyResult<(Core, bool)> {
    let given = match bootstrap {
        Some(given) if given.is_instance_of::<Client>() => Some(given.cast::<Client>()?.get().core()?),
        Some(given) if given.is_instance_of::<AsyncClient>() => {
            Some(given.cast::<AsyncClient>()?.get().core()?)
        }
        _ => None,
    };
    match given {
        Some(_) if config.is_some() || kwargs.is_some_and(|kwargs| !kwargs.is_empty()) => {
            let message = format!("{what} on a client takes its configuration from it: configure the client");
            Err(errors::config(py, message))
        }
        Some(client) => Ok((client.clone(), false)),
        None => {
            let (config, environment) = config::config(py, bootstrap, config, kwargs)?;
            let client = Core::new(config, environment).map_err(|error| errors::raise(py, &error))?;
            Ok((client, true))
        }
    }
}

/// Finds the cluster, if the client is new. One that was given has found it, or will when it is asked
/// to.
pub(crate) async fn connect_if_new(
    client: Core,
    is_new: bool,
    timeout: Duration,
) -> ottla_client::Result<()> {
    if is_new { client.find_cluster(timeout).await } else { Ok(()) }
}

/// As [`resolve_client`], for the blocking API: a new client is connected.
pub(crate) fn resolve_connected_client(
    py: Python<'_>,
    what: &str,
    bootstrap: Option<&Bound<'_, PyAny>>,
    config: Option<&Bound<'_, PyAny>>,
    timeout: Option<f64>,
    kwargs: Option<&Bound<'_, PyDict>>,
) -> PyResult<(Core, bool)> {
    let (core, is_new) = resolve_client(py, what, bootstrap, config, kwargs)?;
    let timeout = seconds(timeout, core.config().default_api_timeout)?;
    wait_for(py, connect_if_new(core.clone(), is_new, timeout))?;
    Ok((core, is_new))
}

//! The token callback: a Python callable, passed directly or by name, that returns a token for
//! OAUTHBEARER.
//!
//! Invariants: it is called on a thread of its own, never on the runtime's, and never while the
//! interpreter shuts down; its exceptions become authentication errors.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ottla_client::environment::BoxFuture;
use ottla_client::security::{Secret, Token, TokenProvider};
use ottla_client::tasks::blocking::BlockingPool;
use ottla_client::{Client, Error, Kind, Result};
use pyo3::PyVisit;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use crate::convert::datetime::{self, DatetimeArg};
use crate::convert::errors;
use crate::garbage::{Traverse, Visited};

/// The configuration key that names a callable.
const PROVIDER: &str = "sasl.oauthbearer.token.provider";

struct Callback {
    /// The key or argument that it was passed as, for errors.
    key: &'static str,
    callable: Arc<Py<PyAny>>,
    /// Whether several Python objects use the client: none of them alone keeps the callable alive.
    is_shared: AtomicBool,
    /// One call at a time: one that does not return holds up this client alone.
    thread: BlockingPool,
}

impl fmt::Debug for Callback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Callback")
    }
}

/// Returns the token provider for a callable.
pub(crate) fn provider(callable: &Bound<'_, PyAny>) -> PyResult<Arc<dyn TokenProvider>> {
    if callable.is_callable() {
        return Ok(callback("sasl_oauth_token", callable));
    }
    let message = "sasl_oauth_token: expected a callable that returns a token or (token, expiry)";
    Err(errors::config(callable.py(), message))
}

/// Returns the token provider that a configuration names, if this process allows it. The addresses of the cluster may
/// show what an argument leaves out.
///
/// It is looked up immediately, so that a client that cannot work is never created.
pub(crate) fn named_provider(
    py: Python<'_>,
    name: &str,
    addresses: &[String],
) -> PyResult<Arc<dyn TokenProvider>> {
    let found = py
        .import("ottla._internal.token_providers")?
        .call_method1("named_provider", (name, addresses.to_vec()))?;
    Ok(callback(PROVIDER, &found))
}

fn callback(key: &'static str, callable: &Bound<'_, PyAny>) -> Arc<dyn TokenProvider> {
    let callable = Arc::new(callable.clone().unbind());
    Arc::new(Callback {
        key,
        callable,
        is_shared: AtomicBool::new(false),
        thread: BlockingPool::new("the token callback", 1),
    })
}

fn callback_of(client: &Client) -> Option<&Callback> {
    let provider: &dyn Any = client.environment().token_provider.as_deref()?;
    provider.downcast_ref()
}

/// Notes that more than one Python object uses a client from now on; called with the GIL.
pub(crate) fn share(client: &Client) {
    if let Some(callback) = callback_of(client) {
        callback.is_shared.store(true, Ordering::Relaxed);
    }
}

/// Visits the token callback of a client, for the only Python object that uses it. That of a shared client is not
/// visited: it lives as long as the client.
pub(crate) fn traverse(client: &Client, visit: &PyVisit<'_>) -> Visited {
    match callback_of(client) {
        Some(callback) if !callback.is_shared.load(Ordering::Relaxed) => callback.callable.traverse(visit),
        _ => Ok(()),
    }
}

fn token_error(key: &str, why: impl fmt::Display) -> Error {
    Error::new(Kind::Authentication, format!("{key}: {why}"))
}

impl TokenProvider for Callback {
    fn token(&self) -> BoxFuture<'_, Result<Token>> {
        Box::pin(async move {
            let callable = Arc::clone(&self.callable);
            let key = self.key;
            let call = move || Python::try_attach(|py| call(py, key, &callable));
            let called = self.thread.run(call).await?;
            called.unwrap_or_else(|| Err(token_error(key, "the interpreter is shutting down")))
        })
    }
}

fn call(py: Python<'_>, key: &str, callable: &Py<PyAny>) -> Result<Token> {
    let returned = callable.bind(py).call0().map_err(|error| {
        // The providers that ottla has say what failed.
        let is_own = error.get_type(py).module().is_ok_and(|module| module == "ottla.errors");
        match is_own {
            true => token_error(key, error.value(py)),
            false => token_error(key, format_args!("it raised {error}")),
        }
    })?;
    if let Ok(parts) = returned.cast::<PyTuple>()
        && let Ok(expiry) = parts.get_item(1)
        && matches!(DatetimeArg::of(&expiry), Ok(DatetimeArg::Naive))
    {
        return Err(token_error(key, format_args!("it returned the expiry {expiry}: {}", datetime::NAIVE)));
    }
    token(&returned).map_err(|_| {
        token_error(key, "it has to return a token, (token, expiry) or (token, expiry, extensions): the token as str, the expiry as seconds since 1970 or a timezone-aware datetime, the extensions as a dict of str")
    })
}

fn token(returned: &Bound<'_, PyAny>) -> PyResult<Token> {
    let mut token = Token { value: Secret::default(), expires: None, extensions: Vec::new() };
    if returned.is_instance_of::<PyString>() {
        token.value = Secret::new(returned.extract::<String>()?);
        return Ok(token);
    }
    let parts = returned.cast::<PyTuple>()?;
    token.value = Secret::new(parts.get_item(0)?.extract::<String>()?);
    let expiry = parts.get_item(1)?;
    if !expiry.is_none() {
        token.expires = Some(time(&expiry)?);
    }
    if parts.len() > 2 {
        let extensions = parts.get_item(2)?.extract::<std::collections::BTreeMap<String, String>>()?;
        token.extensions = extensions.into_iter().collect();
    }
    Ok(token)
}

/// Converts seconds since 1970, or a timezone-aware `datetime`.
fn time(expiry: &Bound<'_, PyAny>) -> PyResult<SystemTime> {
    let seconds: f64 = match expiry.extract() {
        Ok(seconds) => seconds,
        Err(_) => expiry.call_method0("timestamp")?.extract()?,
    };
    let since = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX);
    Ok(UNIX_EPOCH.checked_add(since).unwrap_or_else(|| SystemTime::now() + Duration::from_secs(365 * 86_400)))
}

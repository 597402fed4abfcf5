//! The token callback: a Python callable that gives a token for OAUTHBEARER, given itself or by its name.
//!
//! Invariant: it is called on a thread of its own, never on the engine's, and never while the
//! interpreter ends; what it raises becomes an authentication error.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ottla_client::environment::BoxFuture;
use ottla_client::security::{Secret, Token, TokenProvider};
use ottla_client::tasks::blocking::Aside;
use ottla_client::{Error, Kind, Result};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use crate::convert::datetime::{self, DatetimeArg};
use crate::convert::errors;

/// The configuration's key for a callable by its name.
const PROVIDER: &str = "sasl.oauthbearer.token.provider";

struct Callback {
    /// What it was given as, for errors.
    key: &'static str,
    callable: Arc<Py<PyAny>>,
    /// One call at a time: one that does not return holds up this client alone.
    thread: Aside,
}

impl fmt::Debug for Callback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Callback")
    }
}

/// The way to tokens that a callable is.
pub(crate) fn provider(callable: &Bound<'_, PyAny>) -> PyResult<Arc<dyn TokenProvider>> {
    if callable.is_callable() {
        return Ok(callback("sasl_oauth_token", callable));
    }
    let words = "sasl_oauth_token: expected a callable that returns a token or (token, expiry)";
    Err(errors::config(callable.py(), words))
}

/// The way to tokens that a callable is which `name` names: `package.module:function`.
///
/// It is imported at once, so that a client that cannot work is not made.
pub(crate) fn named_provider(py: Python<'_>, name: &str) -> PyResult<Arc<dyn TokenProvider>> {
    let identifiers = |path: &str| {
        path.split('.').all(|part| {
            PyString::new(py, part)
                .call_method0("isidentifier")
                .is_ok_and(|is| is.is_truthy().unwrap_or(false))
        })
    };
    let Some((module, attribute)) =
        name.split_once(':').filter(|(module, attribute)| identifiers(module) && identifiers(attribute))
    else {
        // Not shown: it may be a token.
        let message = format!("{PROVIDER}: expected the name of a callable, package.module:function");
        return Err(errors::config(py, message));
    };
    let find = || {
        let mut found = py.import("importlib")?.call_method1("import_module", (module,))?;
        for part in attribute.split('.') {
            found = found.getattr(part)?;
        }
        Ok(found)
    };
    let found = find().map_err(|error: PyErr| {
        let message = format!(
            "{PROVIDER}={name} cannot be imported: {error}; it has to be importable where the client runs, in Spark on the driver and on every executor (spark-submit --py-files)"
        );
        let refused = errors::config(py, message);
        refused.set_cause(py, Some(error));
        refused
    })?;
    if !found.is_callable() {
        let message =
            format!("{PROVIDER}={name} is not callable: it has to return a token or (token, expiry)");
        return Err(errors::config(py, message));
    }
    Ok(callback(PROVIDER, &found))
}

fn callback(key: &'static str, callable: &Bound<'_, PyAny>) -> Arc<dyn TokenProvider> {
    let callable = Arc::new(callable.clone().unbind());
    Arc::new(Callback { key, callable, thread: Aside::new("the token callback", 1) })
}

fn refused(key: &str, why: impl fmt::Display) -> Error {
    Error::new(Kind::Authentication, format!("{key}: {why}"))
}

impl TokenProvider for Callback {
    fn token(&self) -> BoxFuture<'_, Result<Token>> {
        Box::pin(async move {
            let callable = Arc::clone(&self.callable);
            let key = self.key;
            let call = move || Python::try_attach(|py| call(py, key, &callable));
            let called = self.thread.run(call).await?;
            called.unwrap_or_else(|| Err(refused(key, "the interpreter is ending")))
        })
    }
}

fn call(py: Python<'_>, key: &str, callable: &Py<PyAny>) -> Result<Token> {
    let answer =
        callable.bind(py).call0().map_err(|error| refused(key, format_args!("it raised {error}")))?;
    if let Ok(parts) = answer.cast::<PyTuple>()
        && let Ok(expiry) = parts.get_item(1)
        && matches!(DatetimeArg::of(&expiry), Ok(DatetimeArg::Naive))
    {
        return Err(refused(key, format_args!("it returned the expiry {expiry}: {}", datetime::NAIVE)));
    }
    token(&answer).map_err(|_| {
        refused(key, "it has to return a token, or (token, expiry) or (token, expiry, extensions): the token as text, the expiry as seconds since 1970 or a datetime with its time zone, the extensions as a dict of texts")
    })
}

fn token(answer: &Bound<'_, PyAny>) -> PyResult<Token> {
    let mut token = Token { value: Secret::default(), expires: None, extensions: Vec::new() };
    if answer.is_instance_of::<PyString>() {
        token.value = Secret::new(answer.extract::<String>()?);
        return Ok(token);
    }
    let parts = answer.cast::<PyTuple>()?;
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

/// Seconds since 1970, or a `datetime` with a time zone.
fn time(expiry: &Bound<'_, PyAny>) -> PyResult<SystemTime> {
    let seconds: f64 = match expiry.extract() {
        Ok(seconds) => seconds,
        Err(_) => expiry.call_method0("timestamp")?.extract()?,
    };
    let since = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX);
    Ok(UNIX_EPOCH.checked_add(since).unwrap_or_else(|| SystemTime::now() + Duration::from_secs(365 * 86_400)))
}

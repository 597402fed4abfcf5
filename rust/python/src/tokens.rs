//! The token callback: a Python callable that gives a token for OAUTHBEARER.
//!
//! Invariant: it is called on a thread of its own, never on the engine's, and never while the
//! interpreter ends; what it raises becomes an authentication error.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ottla_client::aside::Aside;
use ottla_client::environment::BoxFuture;
use ottla_client::security::{Secret, Token, TokenProvider};
use ottla_client::{Error, Kind, Result};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use crate::errors;
use crate::moment::{self, Moment};

struct Callback {
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
        let callable = Arc::new(callable.clone().unbind());
        return Ok(Arc::new(Callback { callable, thread: Aside::new("the token callback", 1) }));
    }
    let words = "sasl_oauth_token: expected a callable that returns a token or (token, expiry)";
    Err(errors::config(callable.py(), words))
}

fn refused(why: impl fmt::Display) -> Error {
    Error::new(Kind::Authentication, format!("sasl_oauth_token: {why}"))
}

impl TokenProvider for Callback {
    fn token(&self) -> BoxFuture<'_, Result<Token>> {
        Box::pin(async move {
            let callable = Arc::clone(&self.callable);
            let call = move || Python::try_attach(|py| call(py, &callable));
            let called = self.thread.run(call).await?;
            called.unwrap_or_else(|| Err(refused("the interpreter is ending")))
        })
    }
}

fn call(py: Python<'_>, callable: &Py<PyAny>) -> Result<Token> {
    let answer = callable.bind(py).call0().map_err(|error| refused(format_args!("it raised {error}")))?;
    if let Ok(parts) = answer.cast::<PyTuple>()
        && let Ok(expiry) = parts.get_item(1)
        && matches!(Moment::of(&expiry), Ok(Moment::Naive))
    {
        return Err(refused(format_args!("it returned the expiry {expiry}: {}", moment::NAIVE)));
    }
    token(&answer).map_err(|_| {
        refused("it has to return a token, or (token, expiry) or (token, expiry, extensions): the token as text, the expiry as seconds since 1970 or a datetime with its time zone, the extensions as a dict of texts")
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

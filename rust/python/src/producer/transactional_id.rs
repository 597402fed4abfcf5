//! The keywords `transactional_id` and `transaction_timeout_ms` of a producer on a shared client: a transactional
//! id belongs to one producer, and all else to the client.

use std::time::Duration;

use ottla_client::Client as Core;
use ottla_client::producer::{Producer as CoreProducer, TransactionalId};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::client::client_arg::is_client;
use crate::convert::errors;

const ID: &str = "transactional_id";
const TIMEOUT: &str = "transaction_timeout_ms";

/// A transactional id, and its timeout if it was passed.
pub(super) struct OwnTransactionalId {
    id: String,
    timeout: Option<Duration>,
}

/// Takes the transactional id from the keywords if `bootstrap` is a client, and returns the other keywords.
pub(super) fn from_kwargs<'py>(
    py: Python<'py>,
    bootstrap: Option<&Bound<'py, PyAny>>,
    kwargs: Option<Bound<'py, PyDict>>,
) -> PyResult<(Option<OwnTransactionalId>, Option<Bound<'py, PyDict>>)> {
    let is_shared = bootstrap.is_some_and(is_client);
    let Some(given) = kwargs.as_ref().filter(|_| is_shared) else { return Ok((None, kwargs)) };
    let Some(id) = given.get_item(ID)? else { return Ok((None, kwargs)) };
    let rest = given.copy()?;
    rest.del_item(ID)?;
    let timeout = match rest.get_item(TIMEOUT)? {
        Some(timeout) => {
            rest.del_item(TIMEOUT)?;
            Some(parse_timeout(py, &timeout)?)
        }
        None => None,
    };
    Ok((Some(OwnTransactionalId { id: id.extract()?, timeout }), Some(rest)))
}

fn parse_timeout(py: Python<'_>, timeout: &Bound<'_, PyAny>) -> PyResult<Duration> {
    let milliseconds: i32 = timeout.extract().unwrap_or_default();
    if milliseconds < 1 {
        let message = format!("{TIMEOUT} must be a whole number from 1 to {}", i32::MAX);
        return Err(errors::config(py, message));
    }
    Ok(Duration::from_millis(milliseconds.unsigned_abs().into()))
}

/// Creates a producer on a client, with its own transactional id if there is one.
pub(super) fn new_producer(
    client: Core,
    own: Option<OwnTransactionalId>,
) -> ottla_client::Result<CoreProducer> {
    let Some(OwnTransactionalId { id, timeout }) = own else { return CoreProducer::new(client) };
    let timeout = timeout.unwrap_or(client.config().transaction_timeout);
    CoreProducer::with_transactional_id(client, TransactionalId { id, timeout })
}

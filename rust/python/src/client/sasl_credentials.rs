//! Replacing the credentials of a client while it runs.

use ottla_client::Client;
use ottla_client::security::Secret;
use pyo3::prelude::*;

use crate::convert::errors;

/// Replaces the user name and the password of PLAIN or SCRAM.
pub(crate) fn set_sasl_credentials(
    py: Python<'_>,
    client: &Client,
    username: String,
    password: String,
) -> PyResult<()> {
    client.set_sasl_credentials(username, Secret::new(password)).map_err(|error| errors::raise(py, &error))
}

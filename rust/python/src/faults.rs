//! Faults from Python, for `MockCluster` and `Gateway`: a reaction as a dict with one key, and the conditions.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ottla_faults::{Fault, Match, Reaction, document};
use ottla_protocol::ApiKey;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};
use serde_json::{Value, json};

use crate::convert::errors;

/// Finds an API by name.
pub(crate) fn api_key(py: Python<'_>, name: &str) -> PyResult<ApiKey> {
    document::api(name).map_err(|error| errors::config(py, error.to_string()))
}

/// Makes a fault of a reaction and conditions.
pub(crate) fn fault(
    reaction: &Bound<'_, PyDict>,
    api: Option<&str>,
    on: Match,
    times: Option<u64>,
) -> PyResult<Fault> {
    let py = reaction.py();
    let api = api.map(|api| api_key(py, api)).transpose()?;
    Ok(Fault { on: Match { api, ..on }, then: read_reaction(reaction)?, times })
}

fn read_reaction(reaction: &Bound<'_, PyDict>) -> PyResult<Reaction> {
    let py = reaction.py();
    let items = reaction.items();
    if items.len() != 1 {
        return Err(errors::config(py, "a fault is exactly one of those that the methods of Fault create"));
    }
    let (kind, value): (String, Bound<'_, PyAny>) = items.get_item(0)?.extract()?;
    document::reaction(&kind, &json(&value)?).map_err(|error| errors::config(py, error.to_string()))
}

/// The value of a reaction, as in a document.
fn json(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if value.is_instance_of::<PyBool>() {
        return Ok(json!(value.extract::<bool>()?));
    }
    if let Ok(text) = value.extract::<String>() {
        return Ok(json!(text));
    }
    if let Ok(bytes) = value.extract::<Vec<u8>>() {
        return Ok(json!(STANDARD.encode(bytes)));
    }
    match value.extract::<i64>() {
        Ok(number) => Ok(json!(number)),
        Err(_) => Ok(json!(value.extract::<f64>()?)),
    }
}

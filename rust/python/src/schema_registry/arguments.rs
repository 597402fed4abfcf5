//! The configuration of a registry: a URL, a mapping of dotted names, and keyword arguments with underscores.
//!
//! Invariant: `mock://name` is the address of the mock registry with this name in the process.

use ottla_client::config::{RegistryConfig, Value};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyString};

use super::mock_registries;
use crate::config::{RowTuple, row_tuple, value};
use crate::convert::errors;
use crate::convert::mapping;

const URL: &str = "schema.registry.url";

/// Returns the configuration of a registry. A mapping in place of the URL is the configuration.
pub(super) fn registry_config(
    py: Python<'_>,
    url: Option<&Bound<'_, PyAny>>,
    mapping: Option<&Bound<'_, PyAny>>,
    kwargs: Option<&Bound<'_, PyDict>>,
) -> PyResult<RegistryConfig> {
    let url = url.filter(|url| !url.is_none());
    let (url, first) = match url {
        Some(first) if first.cast::<PyString>().is_err() && first.cast::<PyMapping>().is_ok() => {
            (None, Some(first))
        }
        url => (url, None),
    };
    let mapping = mapping.filter(|mapping| !mapping.is_none());
    if first.is_some() && mapping.is_some() {
        let message =
            "the configuration was passed twice, as the first argument and as config: pass one mapping";
        return Err(errors::config(py, message));
    }
    let mut config = RegistryConfig::default();
    let mut set = |name: &str, item: &Bound<'_, PyAny>| -> PyResult<()> {
        if item.is_none() {
            return Ok(());
        }
        let value = with_mock_urls(py, name, value(name, item)?)?;
        config.set(name, &value).map_err(|error| errors::raise(py, &error))
    };
    if let Some(mapping) = first.or(mapping) {
        let example = "{\"schema.registry.url\": \"http://registry:8081\"}";
        for (name, item) in mapping::items(mapping, "config", example)? {
            set(&mapping::key(&name, "config", example)?, &item)?;
        }
    }
    for (name, item) in kwargs.into_iter().flatten() {
        set(&name.extract::<String>()?, &item)?;
    }
    if let Some(url) = url {
        set(URL, url)?;
    }
    Ok(config)
}

/// Replaces `mock://` addresses by those of the mock registries.
fn with_mock_urls(py: Python<'_>, name: &str, value: Value) -> PyResult<Value> {
    let is_url = matches!(name.replace('_', ".").as_str(), "url" | URL);
    match value {
        Value::Str(text) if is_url => {
            let urls = text.split(',').map(|url| mock_registries::resolve(py, url.trim()));
            Ok(Value::List(urls.collect::<PyResult<_>>()?))
        }
        Value::List(urls) if is_url => {
            let urls = urls.iter().map(|url| mock_registries::resolve(py, url.trim()));
            Ok(Value::List(urls.collect::<PyResult<_>>()?))
        }
        value => Ok(value),
    }
}

/// Return the configuration keys of schema registries, as ``config_rows`` does.
#[pyfunction]
pub(crate) fn registry_config_rows() -> Vec<RowTuple> {
    RegistryConfig::rows().into_iter().map(row_tuple).collect()
}

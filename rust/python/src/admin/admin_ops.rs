//! The operations on topics, as futures.

use std::collections::BTreeMap;
use std::time::Duration;

use ottla_client::admin::NewTopic;
use ottla_client::{Client, Result};
use pyo3::prelude::*;

use crate::convert::errors;
use crate::convert::mapping;

/// Converts the argument `configs`.
pub(super) fn configs(argument: &Bound<'_, PyAny>) -> PyResult<Option<BTreeMap<String, String>>> {
    if argument.is_none() {
        return Ok(None);
    }
    let pair = |(name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let pair = name.extract().and_then(|name| Ok((name, value.extract()?)));
        pair.map_err(|_: PyErr| {
            let shown = value.repr().map_or_else(|_| "it".to_owned(), |shown| shown.to_string());
            let message = format!("configs[{name}] is {shown}: expected a str, such as \"{name}\": \"1\"");
            errors::argument_type(name.py(), message)
        })
    };
    let items = mapping::items(argument, "configs", "{\"retention.ms\": \"3600000\"}")?;
    items.into_iter().map(pair).collect::<PyResult<_>>().map(Some)
}

/// Checks the arguments of `create_topic`.
pub(super) fn new_topic(
    py: Python<'_>,
    name: String,
    partitions: Option<i32>,
    replication: Option<i16>,
    configs: Option<BTreeMap<String, String>>,
) -> PyResult<NewTopic> {
    if let Some(invalid) = partitions.filter(|partitions| *partitions < 1) {
        return Err(errors::config(py, format!("partitions is {invalid}: expected 1 or more")));
    }
    let configs = configs.unwrap_or_default().into_iter().collect();
    Ok(NewTopic { name, partitions, replication, configs })
}

pub(super) async fn create_topic(client: Client, topic: NewTopic, timeout: Duration) -> Result<()> {
    client.create_topics(&[topic], timeout).await
}

pub(super) async fn delete_topic(client: Client, name: String, timeout: Duration) -> Result<()> {
    client.delete_topics(&[name], timeout).await
}

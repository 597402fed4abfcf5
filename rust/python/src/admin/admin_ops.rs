//! The operations on topics, as futures.

use std::collections::BTreeMap;
use std::time::Duration;

use ottla_client::admin::NewTopic;
use ottla_client::{Client, Result};
use pyo3::prelude::*;

use crate::convert::errors;

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

//! The operations on topics and on offsets of groups, as futures.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use ottla_client::admin::NewTopic;
use ottla_client::consumer::ConsumerGroupMetadata;
use ottla_client::consumer::offsets::{CommittedOffset, commit, committed};
use ottla_client::{Client, Result};
use pyo3::prelude::*;

use crate::convert::errors;

/// The offset of the next record to read, by topic and partition.
pub(super) type GroupOffsets = BTreeMap<(String, i32), i64>;

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

/// Commits offsets for a group without members; returns the first error, in the order of partitions.
pub(super) async fn alter_group_offsets(
    client: Client,
    group_id: String,
    offsets: GroupOffsets,
    timeout: Duration,
) -> Result<()> {
    let offsets = offsets.into_iter().map(|((topic, partition), offset)| {
        let committed = CommittedOffset { offset, ..CommittedOffset::default() };
        ((Arc::<str>::from(topic), partition), committed)
    });
    let offsets: HashMap<_, _> = offsets.collect();
    let member = ConsumerGroupMetadata::without_member(group_id);
    let results = commit(&client, &member, offsets, timeout).await?;
    let failed = results.into_iter().filter_map(|(partition, result)| Some((partition, result.err()?)));
    match failed.min_by(|a, b| a.0.cmp(&b.0)) {
        Some((_, error)) => Err(error),
        None => Ok(()),
    }
}

pub(super) async fn list_group_offsets(
    client: Client,
    group_id: String,
    timeout: Duration,
) -> Result<GroupOffsets> {
    let member = ConsumerGroupMetadata::without_member(group_id);
    let offsets = committed(&client, &member, None, false, timeout).await?;
    let offset = |((topic, partition), at): ((Arc<str>, i32), Option<CommittedOffset>)| {
        Some(((topic.to_string(), partition), at?.offset))
    };
    Ok(offsets.into_iter().filter_map(offset).collect())
}

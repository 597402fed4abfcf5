//! Metadata for a member: names of topics known only by id, and subscribed topics that cannot be read.

use std::collections::BTreeMap;
use std::sync::Arc;

use ottla_protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic};
use ottla_protocol::wire::Uuid;
use ottla_protocol::{ApiKey, ErrorCode};

use crate::cluster::{Client, Route};
use crate::error::{Error, Result};
use crate::metadata::{Snapshot, TopicSelector};

/// Looks up topics by id and adds them to the metadata. Topics that the brokers matched with a pattern are
/// known here by id only.
pub(super) async fn names_of(client: &Client, ids: &[Uuid]) -> Result<()> {
    let snapshot = client.snapshot();
    let unknown = ids.iter().filter(|id| snapshot.topic_name(**id).is_none());
    let topic = |id: &Uuid| MetadataRequestTopic { topic_id: *id, name: None };
    let topics: Vec<MetadataRequestTopic> = unknown.map(topic).collect();
    if topics.is_empty() {
        return Ok(());
    }
    let request =
        MetadataRequest { topics: Some(topics), allow_auto_topic_creation: false, ..Default::default() };
    let response = client.send(Route::Any, &request, i16::MAX).await?;
    let names = response.topics.into_iter().filter_map(|topic| topic.name.filter(|name| !name.is_empty()));
    let names: Vec<Arc<str>> = names.map(Arc::from).collect();
    if !names.is_empty() {
        client.refresh(client.snapshot().generation, TopicSelector::Topics(&names)).await?;
    }
    Ok(())
}

/// The topics that this principal may not read, or whose names are invalid.
pub(super) fn rejected_topics(snapshot: &Snapshot, names: &[Arc<str>]) -> BTreeMap<Arc<str>, Error> {
    let rejected = names.iter().filter_map(|name| {
        let code = snapshot.topic(name)?.error;
        let error = match code {
            ErrorCode::TopicAuthorizationFailed => Error::from_code(code).lacking(ApiKey::Fetch, name),
            ErrorCode::InvalidTopicException => {
                Error::with_code(code, "the subscribed topic name is invalid")
            }
            _ => return None,
        };
        Some((Arc::clone(name), error.topic(name)))
    });
    rejected.collect()
}

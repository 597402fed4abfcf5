//! What a member needs of the metadata: the names of topics that it knows by id only, and which of
//! those it subscribes to cannot be read.

use std::collections::BTreeMap;
use std::sync::Arc;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic};
use ottla_protocol::wire::Uuid;

use crate::cluster::{Client, Route};
use crate::error::{Error, Result};
use crate::metadata::{Snapshot, TopicSelector};

/// Asks for topics by their ids, so that the metadata has them: names that the brokers matched with
/// a pattern are known to the brokers alone.
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

/// Topics that this principal may not read, or whose names are none.
pub(super) fn refused_topics(snapshot: &Snapshot, names: &[Arc<str>]) -> BTreeMap<Arc<str>, Error> {
    let refused = names.iter().filter_map(|name| {
        let code = snapshot.topic(name)?.error;
        let words = match code {
            ErrorCode::TopicAuthorizationFailed => "not allowed to read the topic that is subscribed to",
            ErrorCode::InvalidTopicException => "no topic can have the name that is subscribed to",
            _ => return None,
        };
        Some((Arc::clone(name), Error::with_code(code, words).topic(name)))
    });
    refused.collect()
}

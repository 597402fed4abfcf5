//! A client's operations as futures: `Client` blocks on them, `AsyncClient` returns them to asyncio.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use ottla_client::metadata::{Event, Pattern, Snapshot, Topic, TopicSelector};
use ottla_client::{Client, Error, IfMissing, Kind, ListedOffset, OffsetSpec, Result, TopicPartition};
use ottla_protocol::ErrorCode;
use tokio::sync::broadcast::Receiver;

use crate::client::events::EventSubscription;
use crate::convert::names::Names;

/// The arguments of `cluster()`: what a snapshot must contain.
pub(crate) struct SnapshotRequest {
    topics: Option<Vec<Arc<str>>>,
    all_topics: bool,
    refresh: bool,
}

impl SnapshotRequest {
    pub(crate) fn new(topics: Option<Names>, all_topics: bool, refresh: bool) -> Self {
        let topics = topics.map(|Names(topics)| topics.iter().map(|topic| topic.as_str().into()).collect());
        Self { topics, all_topics, refresh }
    }
}

/// Returns the cached snapshot if it fulfils the request.
pub(crate) fn cached_snapshot(client: &Client, request: &SnapshotRequest) -> Option<Arc<Snapshot>> {
    let snapshot = client.snapshot();
    let exists = |name: &Arc<str>| snapshot.topic(name).is_some_and(|topic| topic.error == ErrorCode::None);
    let is_known = match &request.topics {
        Some(names) => names.iter().all(exists),
        None => snapshot.generation > 0,
    };
    (is_known && !request.all_topics && !request.refresh).then_some(snapshot)
}

/// Returns a snapshot that fulfils the request.
pub(crate) async fn cluster(
    client: Client,
    mut request: SnapshotRequest,
    timeout: Duration,
) -> Result<Arc<Snapshot>> {
    if std::mem::take(&mut request.all_topics) {
        let snapshot = refresh(&client, "looking up all topics", TopicSelector::All, timeout).await?;
        if request.topics.is_none() {
            return Ok(snapshot);
        }
    }
    if let Some(snapshot) = cached_snapshot(&client, &request) {
        return Ok(snapshot);
    }
    match &request.topics {
        Some(names) => {
            refresh(&client, "looking up topics", TopicSelector::Topics(names), timeout).await?;
            client.topics(names, IfMissing::Fail, timeout).await?;
            Ok(client.snapshot())
        }
        None => refresh(&client, "refreshing metadata", TopicSelector::Tracked, timeout).await,
    }
}

async fn refresh(
    client: &Client,
    what: &str,
    selector: TopicSelector<'_>,
    timeout: Duration,
) -> Result<Arc<Snapshot>> {
    client.retrying(what, timeout, || client.refresh(client.snapshot().generation, selector)).await
}

/// Returns the names of all topics, in alphabetical order.
pub(crate) async fn topic_names(client: Client, timeout: Duration) -> Result<Vec<String>> {
    let snapshot = refresh(&client, "listing topics", TopicSelector::All, timeout).await?;
    let existing = snapshot.topics().filter(|topic| topic.error == ErrorCode::None);
    let mut names: Vec<String> = existing.map(|topic| topic.name.to_string()).collect();
    names.sort();
    Ok(names)
}

/// Returns a topic; fails if it does not exist.
pub(crate) async fn topic(client: Client, name: Arc<str>, timeout: Duration) -> Result<Arc<Topic>> {
    let topics = client.topics(std::slice::from_ref(&name), IfMissing::Fail, timeout).await?;
    let missing =
        || Error::new(Kind::Internal, "a topic was looked up but is missing from the result").topic(&name);
    topics.into_iter().next().ok_or_else(missing)
}

/// Subscribes to changes; the subscription keeps metadata fresh, with `all_topics` that of all topics.
pub(crate) async fn events(
    client: Client,
    all_topics: bool,
    timeout: Duration,
) -> Result<(Receiver<Event>, EventSubscription)> {
    let pattern = all_topics.then(Pattern::all);
    if let Some(pattern) = &pattern {
        refresh(&client, "looking up all topics", TopicSelector::Matching(pattern), timeout).await?;
    }
    let subscription = EventSubscription { _topics: pattern, _core: client.subscribe_events() };
    Ok((client.events(), subscription))
}

/// Looks up offsets of partitions.
pub(crate) async fn list_offsets(
    client: Client,
    specs: Vec<(TopicPartition, OffsetSpec)>,
    read_committed: bool,
    timeout: Duration,
) -> Result<HashMap<TopicPartition, ListedOffset>> {
    client.list_offsets(specs, read_committed, timeout).await
}

//! [`Targets`]: the topics and partitions that a request names.
//!
//! A Fetch of a session names only what has changed since the one before, so that those of a connection are remembered.
//! Invariant: bounded.

use std::cell::RefCell;
use std::collections::BTreeSet;

use bytes::Bytes;
use ottla_faults::FaultTarget;
use ottla_protocol::messages::fetch::FetchRequest;
use ottla_protocol::messages::metadata::MetadataRequest;
use ottla_protocol::messages::share_fetch::ShareFetchRequest;
use ottla_protocol::wire::{Reader, Uuid};
use ottla_protocol::{ApiKey, Message};

use super::Faults;
use crate::refusal::{Codes, Named, refuse};
use crate::stream::RequestHead;

/// The partitions of a session that are remembered.
const SESSION_MAX: usize = 100_000;

/// A topic, by its name or its id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Topic {
    Name(String),
    Id(Uuid),
}

impl Topic {
    fn new(name: String, id: Uuid) -> Self {
        if name.is_empty() { Self::Id(id) } else { Self::Name(name) }
    }

    fn name(&self, faults: &Faults) -> Option<String> {
        match self {
            Self::Name(name) => Some(name.clone()),
            Self::Id(id) => faults.names.get(*id),
        }
    }
}

type Partitions = BTreeSet<(Topic, i32)>;

/// What the fetch sessions of a connection contain.
#[derive(Debug, Default)]
pub(super) struct Targets {
    fetched: Partitions,
    shared: Partitions,
}

/// Whether requests of the API are looked at even without a fault, since later ones depend on them.
pub(super) fn has_sessions(api: ApiKey) -> bool {
    matches!(api, ApiKey::Fetch | ApiKey::ShareFetch)
}

impl Targets {
    /// What a request names, as far as its bytes are there. Remembers the sessions.
    pub(super) fn of(&mut self, head: &RequestHead<'_>, faults: &Faults) -> Vec<FaultTarget> {
        match head.api {
            ApiKey::Fetch => {
                let Some(request) = decode::<FetchRequest>(head) else { return Vec::new() };
                let named = request.topics.into_iter().flat_map(|topic| {
                    let at = topic.partitions.into_iter().map(|partition| partition.partition);
                    with_each(Topic::new(topic.topic, topic.topic_id), at)
                });
                let forgotten = request
                    .forgotten_topics_data
                    .into_iter()
                    .flat_map(|topic| with_each(Topic::new(topic.topic, topic.topic_id), topic.partitions));
                change(&mut self.fetched, request.session_epoch, named, forgotten);
                resolve(&self.fetched, faults)
            }
            ApiKey::ShareFetch => {
                let Some(request) = decode::<ShareFetchRequest>(head) else { return Vec::new() };
                let named = request.topics.into_iter().flat_map(|topic| {
                    let at = topic.partitions.into_iter().map(|partition| partition.partition_index);
                    with_each(Topic::Id(topic.topic_id), at)
                });
                let forgotten = request
                    .forgotten_topics_data
                    .into_iter()
                    .flat_map(|topic| with_each(Topic::Id(topic.topic_id), topic.partitions));
                change(&mut self.shared, request.share_session_epoch, named, forgotten);
                resolve(&self.shared, faults)
            }
            ApiKey::Metadata => {
                let Some(request) = decode::<MetadataRequest>(head) else { return Vec::new() };
                let topics: Vec<String> = match request.topics {
                    Some(topics) => {
                        let name = |topic: ottla_protocol::messages::metadata::MetadataRequestTopic| {
                            topic.name.or_else(|| faults.names.get(topic.topic_id))
                        };
                        topics.into_iter().filter_map(name).collect()
                    }
                    // It asks for all topics.
                    None => faults.topics(),
                };
                topics.into_iter().map(|topic| FaultTarget { topic, partition: None }).collect()
            }
            _ => named(head, faults),
        }
    }
}

/// What the response to a request would have errors for.
fn named(head: &RequestHead<'_>, faults: &Faults) -> Vec<FaultTarget> {
    let found = RefCell::new(Vec::new());
    let collect = |named: Named<'_>| {
        let target = match named {
            Named::Topic(name, partition) => Some((name.to_owned(), partition)),
            Named::TopicId(id, partition) => faults.names.get(id).map(|name| (name, partition)),
            _ => None,
        };
        found.borrow_mut().extend(target.map(|(topic, partition)| FaultTarget { topic, partition }));
        None
    };
    _ = refuse(head.api, head.version, 0, Bytes::copy_from_slice(head.body), &Codes::new(&collect, ""));
    found.into_inner()
}

fn decode<M: Message>(head: &RequestHead<'_>) -> Option<M> {
    M::decode(&mut Reader::new(Bytes::copy_from_slice(head.body)), head.version).ok()
}

fn with_each(topic: Topic, partitions: impl IntoIterator<Item = i32>) -> impl Iterator<Item = (Topic, i32)> {
    partitions.into_iter().map(move |partition| (topic.clone(), partition))
}

/// Changes a session as its broker does: a request with epoch 0 or -1 names all.
fn change(
    session: &mut Partitions,
    epoch: i32,
    named: impl Iterator<Item = (Topic, i32)>,
    forgotten: impl Iterator<Item = (Topic, i32)>,
) {
    if epoch <= 0 {
        session.clear();
    }
    for partition in named {
        if session.len() < SESSION_MAX {
            session.insert(partition);
        }
    }
    forgotten.for_each(|partition| _ = session.remove(&partition));
}

fn resolve(session: &Partitions, faults: &Faults) -> Vec<FaultTarget> {
    let target = |(topic, partition): &(Topic, i32)| {
        topic.name(faults).map(|topic| FaultTarget { topic, partition: Some(*partition) })
    };
    session.iter().filter_map(target).collect()
}

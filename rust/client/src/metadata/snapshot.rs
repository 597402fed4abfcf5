//! An immutable snapshot of the cluster: its brokers, topics and leaders. Each response creates a new
//! one.
//!
//! Invariant: a new snapshot shares the unchanged parts of the previous one, so that a refresh costs
//! only what it changes, and an unchanged topic is the same object.

use std::collections::BTreeMap;
use std::sync::Arc;

use ottla_protocol::messages::metadata::MetadataResponse;
use ottla_protocol::wire::Uuid;

use super::topic_index::TopicIndex;
use super::{Partition, Topic};
use crate::endpoint::Endpoint;

/// A broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broker {
    /// Its id.
    pub id: i32,
    /// Its address.
    pub endpoint: Endpoint,
    /// Its rack, if it has one.
    pub rack: Option<String>,
}

impl Broker {
    /// Creates a broker from the fields of a response; `None` if the port is invalid.
    fn from_parts(id: i32, host: String, port: i32, rack: Option<String>) -> Option<Self> {
        let port = u16::try_from(port).ok()?;
        Some(Self { id, endpoint: Endpoint { host, port }, rack })
    }
}

/// The brokers in a response, by id.
pub(super) fn brokers(
    named: impl IntoIterator<Item = (i32, String, i32, Option<String>)>,
) -> BTreeMap<i32, Broker> {
    let named = named.into_iter();
    let brokers = named.filter_map(|(id, host, port, rack)| Broker::from_parts(id, host, port, rack));
    brokers.map(|broker| (broker.id, broker)).collect()
}

/// A partition's new leader, as a response reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLeader {
    /// The topic.
    pub topic: Arc<str>,
    /// The partition.
    pub partition: i32,
    /// The leader's id.
    pub leader: i32,
    /// The leader's epoch.
    pub leader_epoch: i32,
}

/// The state of the cluster as of the latest responses.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Increases with each snapshot; 0 is the empty one before the first response.
    pub generation: u64,
    /// The cluster's id.
    pub cluster_id: Option<String>,
    /// The controller's id; -1 if unknown.
    pub controller: i32,
    /// The brokers by id.
    pub brokers: Arc<BTreeMap<i32, Broker>>,
    topics: TopicIndex,
}

impl Default for Snapshot {
    fn default() -> Self {
        Self {
            generation: 0,
            cluster_id: None,
            controller: -1,
            brokers: Arc::default(),
            topics: TopicIndex::default(),
        }
    }
}

impl Snapshot {
    /// The topic of this name. Counts as a use of it.
    #[must_use]
    pub fn topic(&self, name: &str) -> Option<&Arc<Topic>> {
        self.peek_topic(name).inspect(|topic| topic.used.set())
    }

    /// As [`Snapshot::topic`], without counting as a use.
    pub(super) fn peek_topic(&self, name: &str) -> Option<&Arc<Topic>> {
        self.topics.get(name)
    }

    /// The name of the topic with this id.
    #[must_use]
    pub fn topic_name(&self, id: Uuid) -> Option<&Arc<str>> {
        self.topics.get_by_id(id).map(|topic| &topic.name)
    }

    /// All topics, in no particular order.
    pub fn topics(&self) -> impl Iterator<Item = &Arc<Topic>> {
        self.topics.iter()
    }

    /// A partition.
    #[must_use]
    pub fn partition(&self, topic: &str, index: i32) -> Option<&Partition> {
        self.topic(topic)?.partition(index)
    }

    /// The epoch of a partition's leader; -1 if unknown.
    #[must_use]
    pub fn leader_epoch(&self, topic: &str, index: i32) -> i32 {
        self.partition(topic, index).map_or(-1, |partition| partition.leader_epoch)
    }

    /// The leader of a partition, if it has one and it is in the cluster.
    #[must_use]
    pub fn leader(&self, topic: &str, index: i32) -> Option<&Broker> {
        self.brokers.get(&self.partition(topic, index)?.leader)
    }

    /// The snapshot after `response`. `full` means that all topics were requested: missing ones are
    /// removed.
    #[must_use]
    pub fn updated(&self, response: MetadataResponse, full: bool) -> Self {
        let named = response.brokers.into_iter().map(|b| (b.node_id, b.host, b.port, b.rack));
        let brokers = brokers(named);
        let mut topics = if full { self.topics.new_empty() } else { self.topics.clone() };
        for topic_response in response.topics {
            let known = topic_response.name.as_deref().and_then(|name| self.topics.get(name));
            let Some(topic) = Topic::merged(topic_response, known.map(Arc::as_ref)) else { continue };
            match known {
                Some(known) if **known == topic && !full => {}
                Some(known) if **known == topic => topics.insert(Arc::clone(known)),
                _ => topics.insert(Arc::new(topic)),
            }
        }
        Self {
            generation: self.generation + 1,
            cluster_id: response.cluster_id.or_else(|| self.cluster_id.clone()),
            controller: response.controller_id,
            // A response without brokers comes from a broker that is starting.
            brokers: match brokers.is_empty() || brokers == *self.brokers {
                true => Arc::clone(&self.brokers),
                false => Arc::new(brokers),
            },
            topics,
        }
    }

    /// The number of topics.
    #[must_use]
    pub fn topic_count(&self) -> usize {
        self.topics.len()
    }

    /// The snapshot without these topics. It keeps the generation, because it contains no new
    /// information.
    #[must_use]
    pub(super) fn without<'a>(&self, names: impl IntoIterator<Item = &'a Arc<str>>) -> Self {
        let mut next = self.clone();
        names.into_iter().for_each(|name| next.topics.remove(name));
        next
    }

    /// The snapshot with these leaders, and how many of them are new; `None` if none is. Leaders of an
    /// older epoch or without a known address are ignored.
    #[must_use]
    pub fn with_leaders(
        &self,
        leaders: &[NewLeader],
        endpoints: &BTreeMap<i32, Broker>,
    ) -> Option<(Self, usize)> {
        let (mut next, mut news) = (self.clone(), 0);
        let mut topics: BTreeMap<&str, Topic> = BTreeMap::new();
        for new in leaders {
            let endpoint = endpoints.get(&new.leader);
            let reachable = endpoint.is_some() || self.brokers.contains_key(&new.leader);
            let Some(known) = self.topics.get(&new.topic).filter(|_| reachable && new.leader >= 0) else {
                continue;
            };
            // Each topic is copied once, however many of its leaders changed.
            let topic = topics.entry(&new.topic).or_insert_with(|| Topic::clone(known));
            if !topic.move_leader(new.partition, new.leader, new.leader_epoch) {
                continue;
            }
            news += 1;
            if let Some(broker) = endpoint.filter(|broker| self.brokers.get(&new.leader) != Some(broker)) {
                Arc::make_mut(&mut next.brokers).insert(broker.id, broker.clone());
            }
        }
        next.generation += 1;
        topics.into_values().for_each(|topic| next.topics.insert(Arc::new(topic)));
        (news > 0).then_some((next, news))
    }
}

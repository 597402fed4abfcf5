//! The snapshot: brokers, topics, leaders. Immutable; a new answer makes a new one.
//!
//! Invariant: a partition's leader epoch never goes back while the topic keeps its id, so an
//! answer from a broker that lags behind cannot undo what is known.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::metadata::{
    MetadataResponse, MetadataResponsePartition, MetadataResponseTopic,
};
use ottla_protocol::wire::Uuid;

use crate::connection::Endpoint;

/// A broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broker {
    /// Its id.
    pub id: i32,
    /// Where it is.
    pub endpoint: Endpoint,
    /// Its rack, if it has one.
    pub rack: Option<String>,
}

/// A partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// Its number.
    pub index: i32,
    /// The broker that leads it; -1 if none does.
    pub leader: i32,
    /// Counts the leaders it has had; -1 if the broker does not tell.
    pub leader_epoch: i32,
    /// What the broker says about it.
    pub error: ErrorCode,
    /// The brokers that have a replica, the preferred leader first.
    pub replicas: Box<[i32]>,
    /// Those whose replica is in sync.
    pub isr: Box<[i32]>,
    /// Those whose replica is offline.
    pub offline: Box<[i32]>,
}

/// A topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topic {
    /// Its name.
    pub name: Arc<str>,
    /// Its id; zero if the broker does not tell.
    pub id: Uuid,
    /// Whether Kafka uses it for itself.
    pub is_internal: bool,
    /// What the broker says about it.
    pub error: ErrorCode,
    /// Its partitions, by number.
    pub partitions: Box<[Partition]>,
    pub(super) used: Used,
}

/// Whether somebody has looked something up since it was made: what nobody uses is forgotten.
#[derive(Debug, Default)]
pub(super) struct Used(AtomicBool);

impl Used {
    fn note(&self) {
        // Nearly always it is set already, and then no other processor's cache is disturbed.
        if !self.0.load(Ordering::Relaxed) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    pub(super) fn is_noted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Clone for Used {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// It says nothing about the topic.
impl PartialEq for Used {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Used {}

impl Topic {
    /// A partition by its number.
    #[must_use]
    pub fn partition(&self, index: i32) -> Option<&Partition> {
        // Numbers run from 0 without gaps, unless a broker left some out.
        let guess = usize::try_from(index).ok().and_then(|at| self.partitions.get(at));
        guess.filter(|partition| partition.index == index).or_else(|| {
            let at = self.partitions.binary_search_by_key(&index, |partition| partition.index).ok()?;
            self.partitions.get(at)
        })
    }
}

/// The cluster as one moment's answers showed it.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Grows with each snapshot; 0 is the empty one before the first answer.
    pub generation: u64,
    /// The cluster's id.
    pub cluster_id: Option<String>,
    /// The controller; -1 if unknown.
    pub controller: i32,
    /// The brokers by id.
    pub brokers: BTreeMap<i32, Broker>,
    topics: HashMap<Arc<str>, Arc<Topic>>,
    names: HashMap<Uuid, Arc<str>>,
}

impl Default for Snapshot {
    fn default() -> Self {
        Self {
            generation: 0,
            cluster_id: None,
            controller: -1,
            brokers: BTreeMap::new(),
            topics: HashMap::new(),
            names: HashMap::new(),
        }
    }
}

impl Snapshot {
    /// A topic by its name.
    #[must_use]
    pub fn topic(&self, name: &str) -> Option<&Arc<Topic>> {
        self.topics.get(name).inspect(|topic| topic.used.note())
    }

    /// As [`Snapshot::topic`], for who only looks on: it does not count as use.
    pub(super) fn known(&self, name: &str) -> Option<&Arc<Topic>> {
        self.topics.get(name)
    }

    /// A topic's name by its id.
    #[must_use]
    pub fn name_of(&self, id: Uuid) -> Option<&Arc<str>> {
        self.names.get(&id)
    }

    /// All topics that are known, in no order.
    pub fn topics(&self) -> impl Iterator<Item = &Arc<Topic>> {
        self.topics.values()
    }

    /// A partition.
    #[must_use]
    pub fn partition(&self, topic: &str, index: i32) -> Option<&Partition> {
        self.topic(topic)?.partition(index)
    }

    /// The leader of a partition, if it has one that is in the cluster.
    #[must_use]
    pub fn leader(&self, topic: &str, index: i32) -> Option<&Broker> {
        self.brokers.get(&self.partition(topic, index)?.leader)
    }

    /// The snapshot after `response`. `whole` says that every topic was asked for, so that those
    /// which are missing are gone.
    #[must_use]
    pub fn updated(&self, response: MetadataResponse, whole: bool) -> Self {
        let brokers: BTreeMap<i32, Broker> = response
            .brokers
            .into_iter()
            .filter_map(|broker| {
                let port = u16::try_from(broker.port).ok()?;
                let endpoint = Endpoint { host: broker.host, port };
                Some((broker.node_id, Broker { id: broker.node_id, endpoint, rack: broker.rack }))
            })
            .collect();
        let mut topics = if whole { HashMap::new() } else { self.topics.clone() };
        for answer in response.topics {
            let known = answer.name.as_deref().and_then(|name| self.topics.get(name));
            match merged(answer, known.map(Arc::as_ref)) {
                Some(topic) => drop(topics.insert(Arc::clone(&topic.name), Arc::new(topic))),
                None => continue,
            }
        }
        let names = topics.values().filter(|topic| !topic.id.is_zero());
        let names = names.map(|topic| (topic.id, Arc::clone(&topic.name))).collect();
        Self {
            generation: self.generation + 1,
            cluster_id: response.cluster_id.or_else(|| self.cluster_id.clone()),
            controller: response.controller_id,
            // An answer without brokers comes from a broker that is only starting.
            brokers: if brokers.is_empty() { self.brokers.clone() } else { brokers },
            topics,
            names,
        }
    }

    /// The snapshot without these topics. The generation stays: nobody learns anything from it.
    #[must_use]
    pub(super) fn without(&self, names: &[&Arc<str>]) -> Self {
        let mut next = self.clone();
        next.topics.retain(|name, _| !names.contains(&name));
        next.names.retain(|_, name| !names.contains(&&*name));
        next
    }

    /// The snapshot with one partition's new leader, as a Produce or Fetch answer told it
    /// (KIP-951); `None` if that is not news.
    #[must_use]
    pub fn with_leader(
        &self,
        topic: &str,
        index: i32,
        leader: i32,
        epoch: i32,
        endpoint: Option<Broker>,
    ) -> Option<Self> {
        let known = self.topics.get(topic)?;
        let partition = known.partition(index)?;
        let reachable = endpoint.is_some() || self.brokers.contains_key(&leader);
        if epoch <= partition.leader_epoch || leader < 0 || !reachable {
            return None;
        }
        let mut changed = Topic::clone(known);
        for partition in changed.partitions.iter_mut().filter(|partition| partition.index == index) {
            partition.leader = leader;
            partition.leader_epoch = epoch;
            partition.error = ErrorCode::None;
        }
        let mut next = self.clone();
        next.generation += 1;
        next.topics.insert(Arc::clone(&changed.name), Arc::new(changed));
        next.brokers.extend(endpoint.map(|broker| (broker.id, broker)));
        Some(next)
    }
}

/// One topic of an answer, with what is known where that is newer.
fn merged(answer: MetadataResponseTopic, known: Option<&Topic>) -> Option<Topic> {
    let error = ErrorCode::from(answer.error_code);
    let name: Arc<str> = match known {
        Some(known) => Arc::clone(&known.name),
        None => answer.name.as_deref()?.into(),
    };
    // A topic that cannot be described now keeps its leader epochs: it may come back as it was.
    if let Some(known) = known.filter(|_| error != ErrorCode::None && answer.partitions.is_empty()) {
        let mut topic = Topic { error, ..known.clone() };
        for partition in &mut topic.partitions {
            (partition.leader, partition.error) = (-1, error);
        }
        return Some(topic);
    }
    // A topic that was deleted and made again has another id, and its epochs start over.
    // A broker that is too old to tell ids says nothing about that.
    let id = match known {
        Some(known) if answer.topic_id.is_zero() => known.id,
        _ => answer.topic_id,
    };
    let same = known.filter(|known| known.id == id || known.id.is_zero());
    let mut partitions: Vec<Partition> = answer
        .partitions
        .into_iter()
        .map(|answer| {
            let older = same
                .and_then(|known| known.partition(answer.partition_index))
                .filter(|known| answer.leader_epoch >= 0 && known.leader_epoch > answer.leader_epoch);
            older.cloned().unwrap_or_else(|| partition(answer))
        })
        .collect();
    partitions.sort_by_key(|partition| partition.index);
    Some(Topic {
        name,
        id,
        is_internal: answer.is_internal,
        error,
        partitions: partitions.into_boxed_slice(),
        used: Used::default(),
    })
}

fn partition(answer: MetadataResponsePartition) -> Partition {
    Partition {
        index: answer.partition_index,
        leader: answer.leader_id,
        leader_epoch: answer.leader_epoch,
        error: ErrorCode::from(answer.error_code),
        replicas: answer.replica_nodes.into_boxed_slice(),
        isr: answer.isr_nodes.into_boxed_slice(),
        offline: answer.offline_replicas.into_boxed_slice(),
    }
}

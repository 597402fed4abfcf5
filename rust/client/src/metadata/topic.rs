//! A topic and its partitions, laid out so that a cluster of 200,000 partitions fits in little
//! memory: a partition is 40 bytes, and the broker ids of all its lists lie in one array of its topic.
//!
//! Invariants: a partition's leader epoch never goes back while the topic keeps its id, nor does the
//! number of its partitions, so an update from a broker that lags behind cannot undo what is known.
//! Partitions are numbered by their places, without gaps. Equal content has equal builder, so that
//! comparing topics compares what they say.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::metadata::{MetadataResponsePartition, MetadataResponseTopic};
use ottla_protocol::wire::Uuid;

/// Part of a topic's array of broker ids. A frame is far shorter than what 32 bits count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Span {
    start: u32,
    len: u32,
}

/// A partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partition {
    /// Its number.
    pub index: i32,
    /// The broker that leads it; -1 if none does.
    pub leader: i32,
    /// Counts the leaders it has had; -1 if the broker does not tell.
    pub leader_epoch: i32,
    /// What the broker says about it.
    pub error: ErrorCode,
    replicas: Span,
    isr: Span,
    offline: Span,
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
    /// Broker ids, to which the partitions' spans point.
    nodes: Box<[i32]>,
    pub(super) used: UsageFlag,
}

/// Whether somebody has looked something up since this was last asked: what nobody uses is forgotten.
#[derive(Debug, Default)]
pub(super) struct UsageFlag(AtomicBool);

impl UsageFlag {
    pub(super) fn set(&self) {
        // Nearly always it is set already, and then no other processor's cache is disturbed.
        if !self.0.load(Ordering::Relaxed) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    pub(super) fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

impl Clone for UsageFlag {
    fn clone(&self) -> Self {
        Self(AtomicBool::new(self.0.load(Ordering::Relaxed)))
    }
}

/// It says nothing about the topic.
impl PartialEq for UsageFlag {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for UsageFlag {}

impl Topic {
    /// A partition by its number.
    #[must_use]
    pub fn partition(&self, index: i32) -> Option<&Partition> {
        self.partitions.get(usize::try_from(index).ok()?)
    }

    /// The brokers that have a replica of one of its partitions, the preferred leader first.
    #[must_use]
    pub fn replicas(&self, partition: &Partition) -> &[i32] {
        self.span(partition.replicas)
    }

    /// Those whose replica is in sync.
    #[must_use]
    pub fn isr(&self, partition: &Partition) -> &[i32] {
        self.span(partition.isr)
    }

    /// Those whose replica is offline.
    #[must_use]
    pub fn offline(&self, partition: &Partition) -> &[i32] {
        self.span(partition.offline)
    }

    fn span(&self, Span { start, len }: Span) -> &[i32] {
        let (start, len) = (start as usize, len as usize);
        self.nodes.get(start..start + len).unwrap_or_default()
    }

    /// Whether it is one: a name that was asked for may turn out to belong to no topic.
    #[must_use]
    pub fn exists(&self) -> bool {
        !self.partitions.is_empty() && self.error != ErrorCode::UnknownTopicOrPartition
    }

    /// Notes another leader of a partition, if its epoch is news.
    pub(super) fn move_leader(&mut self, index: i32, leader: i32, leader_epoch: i32) -> bool {
        let place = usize::try_from(index).ok();
        let Some(partition) = place.and_then(|place| self.partitions.get_mut(place)) else { return false };
        let is_news = partition.index == index && leader_epoch > partition.leader_epoch;
        if is_news {
            *partition = Partition { leader, leader_epoch, error: ErrorCode::None, ..*partition };
        }
        is_news
    }

    /// A topic of an update, with what is known where that is newer. `None` without a name.
    pub(super) fn merged(response: MetadataResponseTopic, known: Option<&Self>) -> Option<Self> {
        let error = ErrorCode::from(response.error_code);
        let name: Arc<str> = match known {
            Some(known) => Arc::clone(&known.name),
            None => response.name.as_deref()?.into(),
        };
        // A topic that cannot be response now keeps its leader epochs: it may come back as it was.
        if let Some(known) = known.filter(|_| error != ErrorCode::None && response.partitions.is_empty()) {
            let mut topic = Self { error, ..known.clone() };
            for partition in &mut topic.partitions {
                (partition.leader, partition.error) = (-1, error);
            }
            return Some(topic);
        }
        // A topic that was deleted and made again has another id, and its epochs start over.
        // A broker that is too old to tell ids says nothing about that.
        let id = match known {
            Some(known) if response.topic_id.is_zero() => known.id,
            _ => response.topic_id,
        };
        let same = known.filter(|known| known.id == id || known.id.is_zero());
        // Partitions are never taken away under one id.
        let min_count =
            known.filter(|known| known.id == id && !id.is_zero()).map_or(0, |k| k.partitions.len());
        let updates = in_index_order(response.partitions, min_count, &name);
        let count = updates.last().map_or(0, |last| place(last) + 1).max(min_count);
        let mut builder = TopicBuilder::with_room_for(count, &updates);
        let mut updates = updates.iter().peekable();
        for index in (0..).take(count) {
            let update = updates.next_if(|update| update.partition_index == index);
            let known = same.and_then(|known| Some((known, known.partition(index)?)));
            let is_newer = |update: &MetadataResponsePartition| {
                let epoch = known.map_or(-1, |(_, partition)| partition.leader_epoch);
                update.leader_epoch < 0 || update.leader_epoch >= epoch
            };
            match (update.filter(|update| is_newer(update)), known) {
                (Some(update), _) => builder.push_update(update),
                (None, Some((topic, partition))) => builder.push_known(topic, partition),
                (None, None) => builder.push_unknown(index),
            }
        }
        let TopicBuilder { partitions, nodes } = builder;
        Some(Self {
            name,
            id,
            is_internal: response.is_internal,
            error,
            partitions: partitions.into_boxed_slice(),
            nodes: nodes.into_boxed_slice(),
            used: UsageFlag::default(),
        })
    }
}

/// The place of a partition whose number is not below 0.
fn place(update: &MetadataResponsePartition) -> usize {
    usize::try_from(update.partition_index).unwrap_or_default()
}

/// A topic's partitions by number. Those that a broker leaves out (older ones do so while a partition
/// has never had a live replica) get places, so numbers must be in proportion: what is far beyond is no
/// partition of this topic. The bound is generous, since keys are spread over the partitions by their
/// count: with most brokers gone, most partitions of a topic may be left out.
fn in_index_order(
    mut updates: Vec<MetadataResponsePartition>,
    min_count: usize,
    topic: &str,
) -> Vec<MetadataResponsePartition> {
    let max_count = (16 * updates.len() + 1_000).max(min_count);
    let count = updates.len();
    updates.retain(|update| usize::try_from(update.partition_index).is_ok_and(|place| place < max_count));
    updates.sort_by_key(|update| update.partition_index);
    updates.dedup_by_key(|update| update.partition_index);
    if updates.len() < count {
        let refused = count - updates.len();
        tracing::warn!(target: "ottla.metadata", topic, refused, "a broker numbers partitions twice, or far too high");
    }
    updates
}

/// Partitions as they are put together.
struct TopicBuilder {
    partitions: Vec<Partition>,
    nodes: Vec<i32>,
}

impl TopicBuilder {
    fn with_room_for(count: usize, updates: &[MetadataResponsePartition]) -> Self {
        let nodes = updates.iter().map(|update| update.replica_nodes.len()).sum();
        Self { partitions: Vec::with_capacity(count), nodes: Vec::with_capacity(nodes) }
    }

    /// A partition that the broker leaves out: nobody leads it, as far as is known.
    fn push_unknown(&mut self, index: i32) {
        let (leader, leader_epoch, error) = (-1, -1, ErrorCode::LeaderNotAvailable);
        let nobody = Span::default();
        let [replicas, isr, offline] = [nobody; 3];
        self.partitions.push(Partition { index, leader, leader_epoch, error, replicas, isr, offline });
    }

    fn push_update(&mut self, update: &MetadataResponsePartition) {
        let partition = Partition {
            index: update.partition_index,
            leader: update.leader_id,
            leader_epoch: update.leader_epoch,
            error: ErrorCode::from(update.error_code),
            replicas: Span::default(),
            isr: Span::default(),
            offline: Span::default(),
        };
        self.push(partition, [&update.replica_nodes, &update.isr_nodes, &update.offline_replicas]);
    }

    fn push_known(&mut self, topic: &Topic, partition: &Partition) {
        self.push(*partition, [topic.replicas(partition), topic.isr(partition), topic.offline(partition)]);
    }

    fn push(&mut self, partition: Partition, [replicas, isr, offline]: [&[i32]; 3]) {
        let all = self.add(replicas);
        // Mostly every replica is in sync, and one list serves as both.
        let in_sync = if isr == replicas { all } else { self.add(isr) };
        let offline = self.add(offline);
        self.partitions.push(Partition { replicas: all, isr: in_sync, offline, ..partition });
    }

    fn add(&mut self, nodes: &[i32]) -> Span {
        match (u32::try_from(self.nodes.len()), u32::try_from(nodes.len())) {
            (Ok(start), Ok(len @ 1..)) => {
                self.nodes.extend_from_slice(nodes);
                Span { start, len }
            }
            _ => Span::default(),
        }
    }
}

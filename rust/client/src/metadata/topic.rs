//! A topic and its partitions, in a compact layout: a cluster of 200,000 partitions must fit in little
//! memory. A partition takes 40 bytes, and all broker ids of a topic are in one array.
//!
//! Invariants: while a topic keeps its id, neither a partition's leader epoch nor the number of
//! partitions decreases, so that a response from a broker that lags behind cannot undo newer
//! information. A partition's index is its position, without gaps. Equal content has an equal layout, so
//! that topics can be compared field by field.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::metadata::{MetadataResponsePartition, MetadataResponseTopic};
use ottla_protocol::wire::Uuid;

/// A range of a topic's array of broker ids. 32 bits are enough for anything that fits in a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Span {
    start: u32,
    len: u32,
}

/// A partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partition {
    /// The partition's number.
    pub index: i32,
    /// The leader's id; -1 without a leader.
    pub leader: i32,
    /// The leader's epoch; -1 if the broker does not report it.
    pub leader_epoch: i32,
    /// The error that the broker reports for it.
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
    /// Its id; zero if the broker does not report ids.
    pub id: Uuid,
    /// Whether it is internal to Kafka.
    pub is_internal: bool,
    /// The error that the broker reports for it.
    pub error: ErrorCode,
    /// Its partitions, by number.
    pub partitions: Box<[Partition]>,
    /// Broker ids, which the partitions' spans refer to.
    nodes: Box<[i32]>,
    pub(super) used: UsageFlag,
}

/// Whether the topic was looked up since the last check. Unused topics are dropped from the metadata.
#[derive(Debug, Default)]
pub(super) struct UsageFlag(AtomicBool);

impl UsageFlag {
    pub(super) fn set(&self) {
        // It is nearly always set already; reading it leaves other processors' caches alone.
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

/// The flag is not part of the topic's content.
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

    /// The ids of the brokers with a replica of a partition, the preferred leader first.
    #[must_use]
    pub fn replicas(&self, partition: &Partition) -> &[i32] {
        self.span(partition.replicas)
    }

    /// The ids of the brokers whose replica is in sync.
    #[must_use]
    pub fn isr(&self, partition: &Partition) -> &[i32] {
        self.span(partition.isr)
    }

    /// The ids of the brokers whose replica is offline.
    #[must_use]
    pub fn offline(&self, partition: &Partition) -> &[i32] {
        self.span(partition.offline)
    }

    fn span(&self, Span { start, len }: Span) -> &[i32] {
        let (start, len) = (start as usize, len as usize);
        self.nodes.get(start..start + len).unwrap_or_default()
    }

    /// Whether the topic exists: the metadata also has entries for requested names without a topic.
    #[must_use]
    pub fn exists(&self) -> bool {
        !self.partitions.is_empty() && self.error != ErrorCode::UnknownTopicOrPartition
    }

    /// Changes the leader of a partition if the epoch is newer. Returns whether it was.
    pub(super) fn move_leader(&mut self, index: i32, leader: i32, leader_epoch: i32) -> bool {
        let position = usize::try_from(index).ok();
        let Some(partition) = position.and_then(|position| self.partitions.get_mut(position)) else {
            return false;
        };
        let is_news = partition.index == index && leader_epoch > partition.leader_epoch;
        if is_news {
            *partition = Partition { leader, leader_epoch, error: ErrorCode::None, ..*partition };
        }
        is_news
    }

    /// Merges a topic of a response with what is known, where that is newer. `None` without a name.
    pub(super) fn merged(response: MetadataResponseTopic, known: Option<&Self>) -> Option<Self> {
        let error = ErrorCode::from(response.error_code);
        let name: Arc<str> = match known {
            Some(known) => Arc::clone(&known.name),
            None => response.name.as_deref()?.into(),
        };
        // A topic with an error keeps its leader epochs: it may come back unchanged.
        if let Some(known) = known.filter(|_| error != ErrorCode::None && response.partitions.is_empty()) {
            let mut topic = Self { error, ..known.clone() };
            for partition in &mut topic.partitions {
                (partition.leader, partition.error) = (-1, error);
            }
            return Some(topic);
        }
        // A topic that was deleted and created again has a new id, and its epochs start again. A
        // response without ids comes from an old broker and says nothing about that.
        let id = match known {
            Some(known) if response.topic_id.is_zero() => known.id,
            _ => response.topic_id,
        };
        let same = known.filter(|known| known.id == id || known.id.is_zero());
        // Under one id, a topic never loses partitions.
        let min_count =
            known.filter(|known| known.id == id && !id.is_zero()).map_or(0, |k| k.partitions.len());
        let updates = in_index_order(response.partitions, min_count, &name);
        let count = updates.last().map_or(0, |last| position(last) + 1).max(min_count);
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

/// The position of a partition; its number must not be negative.
fn position(update: &MetadataResponsePartition) -> usize {
    usize::try_from(update.partition_index).unwrap_or_default()
}

/// Sorts a topic's partitions by number and removes duplicates and implausibly high numbers. Brokers may
/// omit partitions (older ones do while a partition has never had a live replica), and these get
/// entries, too, so a single number could demand much memory. The bound is generous, because the
/// partitioner depends on the number of partitions, and with most brokers down, most of a topic's
/// partitions may be missing.
fn in_index_order(
    mut updates: Vec<MetadataResponsePartition>,
    min_count: usize,
    topic: &str,
) -> Vec<MetadataResponsePartition> {
    let max_count = (16 * updates.len() + 1_000).max(min_count);
    let count = updates.len();
    updates
        .retain(|update| usize::try_from(update.partition_index).is_ok_and(|position| position < max_count));
    updates.sort_by_key(|update| update.partition_index);
    updates.dedup_by_key(|update| update.partition_index);
    if updates.len() < count {
        let refused = count - updates.len();
        tracing::warn!(target: "ottla.metadata", topic, refused, "ignored partitions with duplicate or implausibly high numbers");
    }
    updates
}

/// The partitions of a topic under construction.
struct TopicBuilder {
    partitions: Vec<Partition>,
    nodes: Vec<i32>,
}

impl TopicBuilder {
    fn with_room_for(count: usize, updates: &[MetadataResponsePartition]) -> Self {
        let nodes = updates.iter().map(|update| update.replica_nodes.len()).sum();
        Self { partitions: Vec::with_capacity(count), nodes: Vec::with_capacity(nodes) }
    }

    /// Adds a partition that the response omits: it has no known leader.
    fn push_unknown(&mut self, index: i32) {
        let (leader, leader_epoch, error) = (-1, -1, ErrorCode::LeaderNotAvailable);
        let no_brokers = Span::default();
        let [replicas, isr, offline] = [no_brokers; 3];
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
        // Usually all replicas are in sync, and the two share a span.
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

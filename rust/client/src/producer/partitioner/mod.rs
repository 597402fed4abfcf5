//! Partitioners: which partition a record goes to. `murmur2.rs` and `consistent.rs` hash keys; for
//! records without a key, `sticky.rs` decides when to switch partitions, `weights.rs` and
//! `availability.rs` which one comes next, and `weight_age.rs` when to ask these again. These files
//! do no I/O: time, queue lengths and random numbers are arguments.
//!
//! Invariant: a key's partition depends only on the key, the number of partitions and the
//! configuration.

mod availability;
mod consistent;
mod murmur2;
mod sticky;
mod weight_age;
mod weights;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use arc_swap::ArcSwapOption;
use parking_lot::{Mutex, MutexGuard};

pub use availability::BrokerAvailability;
pub use consistent::consistent;
pub use murmur2::{murmur2, partition_for_key};
pub use sticky::StickyPartition;
pub use weight_age::WeightAge;
pub use weights::{PartitionLoad, PartitionWeights};

use super::record::Record;
use crate::cluster::Client;
use crate::config::{Config, Partitioner};
use crate::metadata::{Broker, Partition, Topic};

/// A hash modulo `count`; 0 if `count` is 0.
fn below(hash: u32, count: usize) -> i32 {
    match u32::try_from(count) {
        Ok(count) if count > 0 => (hash % count).cast_signed(),
        _ => 0,
    }
}

/// The partitioner's state for one topic. It outlives changes of the topic's metadata.
#[derive(Debug, Default)]
pub(super) struct PartitionerState {
    sticky: Mutex<StickyPartition>,
    /// The adaptive weights, once calculated.
    weights: ArcSwapOption<PartitionWeights>,
    /// The number of records distributed round robin.
    round_robin: AtomicUsize,
    /// Whether there have been records without a key.
    has_keyless: AtomicBool,
}

impl PartitionerState {
    /// The partition for a record, or `None` if it goes to the sticky partition.
    pub(super) fn partition_for(&self, client: &Client, topic: &Topic, record: &Record<'_>) -> Option<i32> {
        let config = client.config();
        let count = topic.partitions.len();
        let key = record.key.filter(|_| !config.partitioner_ignore_keys);
        match (config.partitioner, key) {
            (Partitioner::Default, Some(key)) => Some(partition_for_key(key, count)),
            (Partitioner::Murmur2, key) => Some(partition_for_key(key.unwrap_or_default(), count)),
            (Partitioner::Consistent, key) => Some(consistent(key.unwrap_or_default(), count)),
            // librdkafka treats an empty key as no key.
            (Partitioner::ConsistentRandom, Some(key)) if !key.is_empty() => Some(consistent(key, count)),
            (Partitioner::Random, Some(_)) => Some(self.random(client, topic)),
            (Partitioner::RoundRobin, _) => Some(self.next_round_robin(topic)),
            (
                Partitioner::Default
                | Partitioner::ConsistentRandom
                | Partitioner::Random
                | Partitioner::UniformSticky,
                _,
            ) => None,
        }
    }

    /// Locks the sticky partition, for [`PartitionerState::sticky_partition`].
    pub(super) fn lock(&self) -> MutexGuard<'_, StickyPartition> {
        if !self.has_keyless.load(Ordering::Relaxed) {
            self.has_keyless.store(true, Ordering::Relaxed);
        }
        self.sticky.lock()
    }

    /// The sticky partition for the next `bytes`. `has_room` says whether a partition's open batch
    /// has space for them.
    pub(super) fn sticky_partition(
        &self,
        sticky: &mut StickyPartition,
        client: &Client,
        topic: &Topic,
        bytes: usize,
        has_room: impl FnOnce(i32) -> bool,
    ) -> i32 {
        let batch_size = client.config().batch_size;
        let pick = || {
            let random = client.inner.environment.random();
            match &*self.weights.load() {
                Some(weights) => weights.pick(random),
                None => uniform(client, topic).pick(random),
            }
        };
        let exists =
            |partition: &i32| usize::try_from(*partition).is_ok_and(|at| at < topic.partitions.len());
        if let Some(partition) = sticky.next(bytes, batch_size, has_room, pick).filter(exists) {
            return partition;
        }
        // The topic was recreated with fewer partitions, so the old weights no longer apply.
        *sticky = StickyPartition::default();
        let pick = || uniform(client, topic).pick(client.inner.environment.random());
        sticky.next(bytes, batch_size, |_| false, pick).unwrap_or_default()
    }

    fn random(&self, client: &Client, topic: &Topic) -> i32 {
        let count = topic.partitions.len();
        let partition = client.inner.environment.random_below(count);
        let has_leader = topic.partitions.get(partition).is_some_and(|p| p.leader >= 0);
        // Choose again once if the partition has no leader, as librdkafka does.
        let partition = if has_leader { partition } else { client.inner.environment.random_below(count) };
        i32::try_from(partition).unwrap_or_default()
    }

    /// The next partition, round robin among those with a leader, or among all if none has one.
    fn next_round_robin(&self, topic: &Topic) -> i32 {
        let partitions = &topic.partitions;
        let count_so_far = self.round_robin.fetch_add(1, Ordering::Relaxed);
        let with_leader = partitions.iter().filter(|partition| partition.leader >= 0).count();
        let mut among = partitions.iter().filter(|partition| with_leader == 0 || partition.leader >= 0);
        let count = if with_leader == 0 { partitions.len() } else { with_leader };
        let chosen = count_so_far.checked_rem(count).and_then(|at| among.nth(at));
        chosen.map(|partition| partition.index).unwrap_or_default()
    }

    /// Whether the weights adapt to the queues.
    pub(super) fn is_adaptive(&self) -> bool {
        self.has_keyless.load(Ordering::Relaxed)
    }

    /// Sets new weights.
    pub(super) fn set_weights(&self, weights: PartitionWeights) {
        self.weights.store(Some(weights.into()));
    }
}

/// The same weight for each partition that can be written to.
fn uniform(client: &Client, topic: &Topic) -> PartitionWeights {
    PartitionWeights::uniform(&partition_loads(topic, &client.inner.metadata.peek().brokers, client.config()))
}

/// The loads of a topic's partitions, with empty queues.
pub(super) fn partition_loads(
    topic: &Topic,
    brokers: &BTreeMap<i32, Broker>,
    config: &Config,
) -> Vec<PartitionLoad> {
    let rack = Some(&config.client_rack).filter(|rack| config.partitioner_rack_aware && !rack.is_empty());
    let in_rack = |leader: i32| rack.is_some() && brokers.get(&leader).and_then(|b| b.rack.as_ref()) == rack;
    let load = |partition: &Partition| PartitionLoad {
        partition: partition.index,
        available: partition.leader >= 0,
        in_rack: in_rack(partition.leader),
        queued_batches: 0,
    };
    topic.partitions.iter().map(load).collect()
}

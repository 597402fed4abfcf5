//! Which partition a record goes to. Each way is a file without I/O, to which time, queue lengths and
//! randomness are given: `murmur2.rs` and `consistent.rs` for keys, `sticky.rs` for when to move on,
//! `load.rs` for where to, `availability.rs` for brokers that stand still. `balance.rs` looks at the
//! queues for them.
//!
//! Invariant: a key's partition depends on the key, the number of partitions and the configuration
//! alone.

mod adaptive;
mod availability;
mod consistent;
mod murmur2;
mod sticky;
mod weights;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use arc_swap::ArcSwapOption;
use parking_lot::{Mutex, MutexGuard};

pub(super) use adaptive::AdaptivePartitioning;
pub use availability::BrokerAvailability;
pub use consistent::consistent;
pub use murmur2::{murmur2, partition_for_key};
pub use sticky::StickyPartition;
pub use weights::{PartitionLoad, PartitionWeights};

use super::TopicWriter;
use super::accumulator::Record;
use crate::cluster::Client;
use crate::config::Partitioner;
use adaptive::loads;

/// A hash's place among `count`; 0 if there are none.
fn below(hash: u32, count: usize) -> i32 {
    match u32::try_from(count) {
        Ok(count) if count > 0 => (hash % count).cast_signed(),
        _ => 0,
    }
}

/// What one topic's choices are made by. It outlives changes of the topic's metadata.
#[derive(Debug, Default)]
pub(super) struct PartitionerState {
    sticky: Mutex<StickyPartition>,
    /// The chances, once the queues have been looked at.
    weights: ArcSwapOption<PartitionWeights>,
    /// Records that were dealt out in round_robin.
    round_robin: AtomicUsize,
    /// There have been records without a key.
    has_keyless: AtomicBool,
}

impl PartitionerState {
    /// The partition for a record, unless it goes where others go: to the sticky one.
    pub(super) fn partition_for(
        &self,
        client: &Client,
        writer: &TopicWriter,
        record: &Record<'_>,
    ) -> Option<i32> {
        let config = client.config();
        let count = writer.partition_count();
        let key = record.key.filter(|_| !config.partitioner_ignore_keys);
        match (config.partitioner, key) {
            (Partitioner::Default, Some(key)) => Some(partition_for_key(key, count)),
            (Partitioner::Murmur2, key) => Some(partition_for_key(key.unwrap_or_default(), count)),
            (Partitioner::Consistent, key) => Some(consistent(key.unwrap_or_default(), count)),
            // An empty key is none, to librdkafka.
            (Partitioner::ConsistentRandom, Some(key)) if !key.is_empty() => Some(consistent(key, count)),
            (Partitioner::Random, Some(_)) => Some(self.random(client, writer)),
            (Partitioner::RoundRobin, _) => Some(self.round_robin(writer)),
            (
                Partitioner::Default
                | Partitioner::ConsistentRandom
                | Partitioner::Random
                | Partitioner::UniformSticky,
                _,
            ) => None,
        }
    }

    /// The sticky partition, for [`PartitionerState::stick`].
    pub(super) fn lock(&self) -> MutexGuard<'_, StickyPartition> {
        if !self.has_keyless.load(Ordering::Relaxed) {
            self.has_keyless.store(true, Ordering::Relaxed);
        }
        self.sticky.lock()
    }

    /// The sticky partition for `bytes` more; `has_room` says whether they would go into a partition's
    /// open batch.
    pub(super) fn sticky_partition(
        &self,
        sticky: &mut StickyPartition,
        client: &Client,
        writer: &TopicWriter,
        bytes: usize,
        has_room: impl FnOnce(i32) -> bool,
    ) -> i32 {
        let batch_size = client.config().batch_size;
        let pick = || {
            let random = client.inner.environment.random();
            match &*self.weights.load() {
                Some(weights) => weights.pick(random),
                None => uniform(client, writer).pick(random),
            }
        };
        let exists =
            |partition: &i32| usize::try_from(*partition).is_ok_and(|at| at < writer.partition_count());
        if let Some(partition) = sticky.next(bytes, batch_size, has_room, pick).filter(exists) {
            return partition;
        }
        // Of a topic that was made anew with fewer partitions the old chances say nothing.
        *sticky = StickyPartition::default();
        let pick = || uniform(client, writer).pick(client.inner.environment.random());
        sticky.next(bytes, batch_size, |_| false, pick).unwrap_or_default()
    }

    fn random(&self, client: &Client, writer: &TopicWriter) -> i32 {
        let count = writer.partition_count();
        let partition = client.inner.environment.below(count);
        let has_leader = writer.topic.partitions.get(partition).is_some_and(|p| p.leader >= 0);
        // Once more if it has no leader, as librdkafka has it.
        let partition = if has_leader { partition } else { client.inner.environment.below(count) };
        i32::try_from(partition).unwrap_or_default()
    }

    /// Partitions with a leader one after the other, or all if none has one.
    fn round_robin(&self, writer: &TopicWriter) -> i32 {
        let partitions = &writer.topic.partitions;
        let round_robin = self.round_robin.fetch_add(1, Ordering::Relaxed);
        let with_leader = partitions.iter().filter(|partition| partition.leader >= 0).count();
        let mut among = partitions.iter().filter(|partition| with_leader == 0 || partition.leader >= 0);
        let count = if with_leader == 0 { partitions.len() } else { with_leader };
        let chosen = round_robin.checked_rem(count).and_then(|at| among.nth(at));
        chosen.map(|partition| partition.index).unwrap_or_default()
    }

    /// Whether the queues' lengths matter here.
    fn is_adaptive(&self) -> bool {
        self.has_keyless.load(Ordering::Relaxed)
    }

    /// Takes in new chances.
    fn set_weights(&self, weights: PartitionWeights) {
        self.weights.store(Some(weights.into()));
    }
}

/// The same chance for each partition that can be written to.
fn uniform(client: &Client, writer: &TopicWriter) -> PartitionWeights {
    PartitionWeights::uniform(&loads(&writer.topic, &client.inner.metadata.peek().brokers, client.config()))
}

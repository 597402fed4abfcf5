//! Adapts the partition weights to how fast brokers accept batches (KIP-794). The sender calls it
//! after each round, for the topics that get records without a key.
//!
//! Invariants: it only changes probabilities; it never moves a record that was already appended. The weights are as old
//! as it takes to send some hundreds of records at most, and what they cost does not grow with the partitions.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tokio::time::{Duration, Instant};

use super::inner::ProducerInner;
use super::partitioner::{BrokerAvailability, PartitionWeights, partition_loads};
use super::topic_writer::TopicWriter;
use crate::connection::{ConnectionRole, ConnectionState};

/// How long the weights of a partition are kept: some fifty times as long as it takes to calculate them.
const KEPT_FOR_EACH_PARTITION: Duration = Duration::from_micros(2);

/// What is known of the weights that were last calculated.
#[derive(Debug, Default)]
pub(super) struct WeightAge {
    kept_until: Option<Instant>,
    /// The generation of the metadata, if no batch was queued or in flight.
    idle_since: Option<u64>,
}

impl WeightAge {
    /// Whether the weights are too old, or of a load that has changed.
    fn is_due(&self, idle_since: Option<u64>, now: Instant) -> bool {
        let is_still_idle = idle_since.is_some() && idle_since == self.idle_since;
        !is_still_idle && self.kept_until.is_none_or(|until| now >= until)
    }

    fn calculated(&mut self, partitions: usize, idle_since: Option<u64>, now: Instant) {
        let partitions = u32::try_from(partitions).unwrap_or(u32::MAX);
        self.kept_until = Some(now + KEPT_FOR_EACH_PARTITION.saturating_mul(partitions));
        self.idle_since = idle_since;
    }
}

/// Recalculates the weights from the queues, after the batches that can be sent have been.
/// `in_flight` is the number of requests in flight, by broker.
pub(super) fn update_weights(
    inner: &ProducerInner,
    (age, availability): (&mut WeightAge, &mut BrokerAvailability),
    in_flight: &HashMap<i32, usize>,
    now: Instant,
) {
    if !inner.client.config().partitioner_adaptive {
        return;
    }
    let generation = inner.client.snapshot().generation;
    let idle_since = inner.accumulator.active.lock().is_empty().then_some(generation);
    if !age.is_due(idle_since, now) {
        return;
    }
    let topic_writers = inner.topic_writers.read();
    let writers: Vec<&Arc<TopicWriter>> =
        topic_writers.values().filter(|writer| writer.partitioner.is_adaptive()).collect();
    if writers.is_empty() {
        return;
    }
    let brokers = Arc::clone(&inner.client.snapshot().brokers);
    update_availability(inner, availability, &writers, in_flight, now);
    age.calculated(writers.iter().map(|writer| writer.queues.len()).sum(), idle_since, now);
    for writer in writers {
        let config = inner.client.config();
        let mut loads = partition_loads(&writer.topic, &brokers, config);
        for (load, (partition, queue)) in
            loads.iter_mut().zip(writer.topic.partitions.iter().zip(&writer.queues))
        {
            load.queued_batches = queue.queued_batches(config.batch_size);
            load.available &=
                availability.is_available(partition.leader, config.partitioner_availability_timeout, now);
        }
        writer.partitioner.set_weights(PartitionWeights::adaptive(&loads));
    }
}

/// Notes which brokers accept no batches, if `partitioner.availability.timeout.ms` is set.
fn update_availability(
    inner: &ProducerInner,
    availability: &mut BrokerAvailability,
    writers: &[&Arc<TopicWriter>],
    in_flight: &HashMap<i32, usize>,
    now: Instant,
) {
    let config = inner.client.config();
    if config.partitioner_availability_timeout.is_zero() {
        return;
    }
    let mut brokers: BTreeMap<i32, bool> = BTreeMap::new();
    for writer in writers {
        for (partition, queue) in writer.topic.partitions.iter().zip(&writer.queues) {
            let waiting = inner.accumulator.has_sendable(queue, now);
            *brokers.entry(partition.leader).or_default() |= waiting;
        }
    }
    let is_down = |state| matches!(state, ConnectionState::Connecting | ConnectionState::BackingOff);
    let status = inner.client.inner.pool.status();
    let down: Vec<i32> = status
        .iter()
        .filter(|status| (status.role, status.owner) == (ConnectionRole::Data, inner.client.owner()))
        .filter(|status| is_down(status.state))
        .map(|status| status.broker)
        .collect();
    for (broker, waiting) in brokers {
        if waiting {
            availability.mark_waiting(broker, now);
        } else if in_flight.get(&broker).is_none_or(|count| *count == 0) && !down.contains(&broker) {
            availability.mark_progress(broker);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_kept_the_longer_the_more_partitions_there_are_and_while_nothing_is_sent() {
        let now = Instant::now();
        let mut age = WeightAge::default();
        assert!(age.is_due(Some(7), now));
        age.calculated(10_000, None, now);
        assert!(!age.is_due(None, now + Duration::from_millis(19)));
        assert!(age.is_due(None, now + Duration::from_millis(20)));
        age.calculated(3, Some(7), now);
        let later = now + Duration::from_secs(30);
        assert!(!age.is_due(Some(7), later), "still idle");
        assert!(age.is_due(Some(8), later), "the metadata has changed");
        assert!(age.is_due(None, later), "a batch was queued");
    }
}

//! Adapts the partition weights to how fast brokers accept batches (KIP-794). The sender calls it
//! after each round, for the topics that get records without a key.
//!
//! Invariant: it only changes probabilities; it never moves a record that was already appended.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tokio::time::Instant;

use super::inner::ProducerInner;
use super::partitioner::{BrokerAvailability, PartitionWeights, partition_loads};
use super::sending::Sending;
use super::topic_writer::TopicWriter;
use crate::connection::{ConnectionRole, ConnectionState};
use crate::metadata::Snapshot;

/// Recalculates the weights from the queues, after the batches that can be sent have been.
pub(super) fn update_weights(
    inner: &ProducerInner,
    sending: &mut Sending,
    snapshot: &Snapshot,
    now: Instant,
) {
    if !inner.client.config().partitioner_adaptive {
        return;
    }
    let Sending { weight_age: age, availability, in_flight, .. } = sending;
    let idle_since = inner.accumulator.active.lock().is_empty().then_some(snapshot.generation);
    if !age.is_due(idle_since, now) {
        return;
    }
    let topic_writers = inner.topic_writers.read();
    let writers: Vec<&Arc<TopicWriter>> =
        topic_writers.values().filter(|writer| writer.partitioner.is_adaptive()).collect();
    if writers.is_empty() {
        return;
    }
    update_availability(inner, availability, &writers, in_flight, now);
    age.calculated(writers.iter().map(|writer| writer.queues.len()).sum(), idle_since, now);
    for writer in writers {
        let config = inner.client.config();
        let mut loads = partition_loads(&writer.topic, &snapshot.brokers, config);
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

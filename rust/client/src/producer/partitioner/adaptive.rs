//! Has the chances of partitions follow what brokers take: looked at whenever the sender has been
//! at work, for the topics that get records without a key.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tokio::time::Instant;

use super::{BrokerAvailability, PartitionLoad, PartitionWeights};
use crate::config::Config;
use crate::connection::{ConnectionState, Lane};
use crate::metadata::{Broker, Partition, Topic};
use crate::producer::TopicWriter;
use crate::producer::sender::Shared;

/// What is known of the brokers between two looks.
#[derive(Debug, Default)]
pub(in crate::producer) struct AdaptivePartitioning {
    availability: BrokerAvailability,
}

impl AdaptivePartitioning {
    /// Looks at the queues, of which those that could leave have just left. `in_flight` are the
    /// requests on their way, by broker.
    pub(in crate::producer) fn update(
        &mut self,
        shared: &Shared,
        in_flight: &HashMap<i32, usize>,
        now: Instant,
    ) {
        if !shared.client.config().partitioner_adaptive {
            return;
        }
        let topic_writers = shared.topic_writers.read();
        let writers: Vec<&Arc<TopicWriter>> =
            topic_writers.values().filter(|writer| writer.partitioner.is_adaptive()).collect();
        if writers.is_empty() {
            return;
        }
        let brokers = Arc::clone(&shared.client.snapshot().brokers);
        self.update_availability(shared, &writers, in_flight, now);
        for writer in writers {
            let config = shared.client.config();
            let mut loads = loads(&writer.topic, &brokers, config);
            for (load, (partition, queue)) in
                loads.iter_mut().zip(writer.topic.partitions.iter().zip(&writer.queues))
            {
                load.queued_batches = queue.queued_batches(config.batch_size);
                load.available &= self.availability.is_available(
                    partition.leader,
                    config.partitioner_availability_timeout,
                    now,
                );
            }
            writer.partitioner.set_weights(PartitionWeights::adaptive(&loads));
        }
    }

    /// Looks at which brokers take nothing, if that matters.
    fn update_availability(
        &mut self,
        shared: &Shared,
        writers: &[&Arc<TopicWriter>],
        in_flight: &HashMap<i32, usize>,
        now: Instant,
    ) {
        let config = shared.client.config();
        if config.partitioner_availability_timeout.is_zero() {
            return;
        }
        let mut brokers: BTreeMap<i32, bool> = BTreeMap::new();
        for writer in writers {
            for (partition, queue) in writer.topic.partitions.iter().zip(&writer.queues) {
                let waits = shared.accumulator.has_sendable(queue, now);
                *brokers.entry(partition.leader).or_default() |= waits;
            }
        }
        let down = |state| matches!(state, ConnectionState::Connecting | ConnectionState::BackingOff);
        let status = shared.client.inner.pool.status();
        let down: Vec<i32> = status
            .iter()
            .filter(|status| (status.lane, status.owner) == (Lane::Data, shared.client.owner()))
            .filter(|status| down(status.state))
            .map(|status| status.broker)
            .collect();
        for (broker, waits) in brokers {
            if waits {
                self.availability.mark_waiting(broker, now);
            } else if in_flight.get(&broker).is_none_or(|count| *count == 0) && !down.contains(&broker) {
                self.availability.mark_progress(broker);
            }
        }
    }

    /// A broker has answered a request.
    pub(in crate::producer) fn response_received(&mut self, broker: i32) {
        self.availability.mark_progress(broker);
    }
}

/// A topic's partitions, none of which has anything waiting yet.
pub(super) fn loads(topic: &Topic, brokers: &BTreeMap<i32, Broker>, config: &Config) -> Vec<PartitionLoad> {
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

//! Has the chances of partitions follow what brokers take: looked at whenever the sender has been
//! at work, for the topics that get records without a key.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tokio::time::Instant;

use super::{Availability, Load, Table};
use crate::config::Config;
use crate::connection::{ConnectionRole, ConnectionState};
use crate::metadata::{Broker, Partition, Topic};
use crate::producer::Target;
use crate::producer::sender::Shared;

/// What is known of the brokers between two looks.
#[derive(Debug, Default)]
pub(in crate::producer) struct Balance {
    availability: Availability,
}

impl Balance {
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
        let targets = shared.targets.read();
        let used: Vec<&Arc<Target>> =
            targets.values().filter(|target| target.chooser.is_adaptive()).collect();
        if used.is_empty() {
            return;
        }
        let brokers = Arc::clone(&shared.client.snapshot().brokers);
        self.look(shared, &used, in_flight, now);
        for target in used {
            let config = shared.client.config();
            let mut loads = loads(&target.topic, &brokers, config);
            for (load, (partition, queue)) in
                loads.iter_mut().zip(target.topic.partitions.iter().zip(&target.queues))
            {
                load.waiting = queue.waiting(config.batch_size);
                load.available &= self.availability.is_available(
                    partition.leader,
                    config.partitioner_availability_timeout,
                    now,
                );
            }
            target.chooser.weigh(Table::adaptive(&loads));
        }
    }

    /// Looks at which brokers take nothing, if that matters.
    fn look(
        &mut self,
        shared: &Shared,
        used: &[&Arc<Target>],
        in_flight: &HashMap<i32, usize>,
        now: Instant,
    ) {
        let config = shared.client.config();
        if config.partitioner_availability_timeout.is_zero() {
            return;
        }
        let mut brokers: BTreeMap<i32, bool> = BTreeMap::new();
        for target in used {
            for (partition, queue) in target.topic.partitions.iter().zip(&target.queues) {
                let waits = shared.accumulator.has_sendable(queue, now);
                *brokers.entry(partition.leader).or_default() |= waits;
            }
        }
        let down = |state| matches!(state, ConnectionState::Connecting | ConnectionState::BackingOff);
        let status = shared.client.inner.pool.status();
        let down: Vec<i32> = status
            .iter()
            .filter(|status| (status.role, status.owner) == (ConnectionRole::Data, shared.client.owner()))
            .filter(|status| down(status.state))
            .map(|status| status.broker)
            .collect();
        for (broker, waits) in brokers {
            if waits {
                self.availability.waits(broker, now);
            } else if in_flight.get(&broker).is_none_or(|count| *count == 0) && !down.contains(&broker) {
                self.availability.moves(broker);
            }
        }
    }

    /// A broker has answered a request.
    pub(in crate::producer) fn answered(&mut self, broker: i32) {
        self.availability.moves(broker);
    }
}

/// A topic's partitions, none of which has anything waiting yet.
pub(super) fn loads(topic: &Topic, brokers: &BTreeMap<i32, Broker>, config: &Config) -> Vec<Load> {
    let rack = Some(&config.client_rack).filter(|rack| config.partitioner_rack_aware && !rack.is_empty());
    let near = |leader: i32| rack.is_some() && brokers.get(&leader).and_then(|b| b.rack.as_ref()) == rack;
    let load = |partition: &Partition| Load {
        partition: partition.index,
        available: partition.leader >= 0,
        near: near(partition.leader),
        waiting: 0,
    };
    topic.partitions.iter().map(load).collect()
}

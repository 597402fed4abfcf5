//! Events: the differences between two snapshots. No I/O and no state.
//!
//! Invariant: applying [`diff`] to the old topology gives the new one. Each broker, topic, partition and
//! leader that differs has exactly one event.

use std::fmt;
use std::sync::Arc;

use super::{Broker, Snapshot, Topic};
use crate::error::Error;

/// A change in the cluster or in the connections to it.
#[derive(Debug, Clone)]
pub enum Event {
    /// A broker was added.
    BrokerAdded(Broker),
    /// A broker was removed.
    BrokerLost(Broker),
    /// A broker's address or rack changed.
    BrokerMoved {
        /// The broker before the change.
        from: Broker,
        /// The broker after the change.
        to: Broker,
    },
    /// A topic was created, or became known to this client.
    TopicAppeared {
        /// Its name.
        topic: Arc<str>,
        /// Its number of partitions.
        partitions: usize,
    },
    /// A topic was deleted.
    TopicGone {
        /// Its name.
        topic: Arc<str>,
    },
    /// A topic was deleted and created again under the same name.
    TopicRecreated {
        /// Its name.
        topic: Arc<str>,
        /// Its number of partitions.
        partitions: usize,
    },
    /// A topic's number of partitions increased.
    PartitionsAdded {
        /// Its name.
        topic: Arc<str>,
        /// The number before.
        from: usize,
        /// The number after.
        to: usize,
    },
    /// A partition's leader changed; -1 stands for no leader.
    LeaderChanged {
        /// The topic.
        topic: Arc<str>,
        /// The partition.
        partition: i32,
        /// The previous leader's id.
        from: i32,
        /// The new leader's id.
        to: i32,
        /// The new leader's epoch; -1 if unknown.
        epoch: i32,
    },
    /// A connection was opened.
    ConnectionOpened {
        /// The broker's id.
        broker: i32,
        /// Its address.
        address: String,
    },
    /// A connection was lost or could not be opened.
    ConnectionLost {
        /// The broker's id.
        broker: i32,
        /// Its address.
        address: String,
        /// The cause.
        cause: Error,
    },
    /// The number of events that were dropped because they were not read in time.
    Missed(u64),
    /// The client was closed. No event follows.
    Closed,
}

impl Event {
    /// The topic that the event is about.
    #[must_use]
    pub fn topic(&self) -> Option<&Arc<str>> {
        match self {
            Self::TopicAppeared { topic, .. }
            | Self::TopicGone { topic }
            | Self::TopicRecreated { topic, .. }
            | Self::PartitionsAdded { topic, .. }
            | Self::LeaderChanged { topic, .. } => Some(topic),
            Self::BrokerAdded(_)
            | Self::BrokerLost(_)
            | Self::BrokerMoved { .. }
            | Self::ConnectionOpened { .. }
            | Self::ConnectionLost { .. }
            | Self::Missed(_)
            | Self::Closed => None,
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BrokerAdded(broker) => write!(f, "broker {} at {} is new", broker.id, broker.endpoint),
            Self::BrokerLost(broker) => write!(f, "broker {} at {} is gone", broker.id, broker.endpoint),
            Self::BrokerMoved { from, to } if from.endpoint == to.endpoint => {
                let rack = |broker: &Broker| broker.rack.clone().unwrap_or_else(|| "none".to_owned());
                write!(f, "broker {} moved from rack {} to {}", to.id, rack(from), rack(to))
            }
            Self::BrokerMoved { from, to } => {
                write!(f, "broker {} moved from {} to {}", to.id, from.endpoint, to.endpoint)
            }
            Self::TopicAppeared { topic, partitions } => {
                write!(f, "topic {topic} appeared, with {partitions} partitions")
            }
            Self::TopicGone { topic } => write!(f, "topic {topic} is gone"),
            Self::TopicRecreated { topic, partitions } => {
                write!(f, "topic {topic} was recreated, with {partitions} partitions")
            }
            Self::PartitionsAdded { topic, from, to } => {
                write!(f, "topic {topic} grew from {from} partitions to {to}")
            }
            Self::LeaderChanged { topic, partition, from, to, epoch } => {
                write!(f, "the leader of {topic}-{partition} changed from {from} to {to} (epoch {epoch})")
            }
            Self::ConnectionOpened { broker, address } => {
                write!(f, "connected to broker {broker} at {address}")
            }
            Self::ConnectionLost { broker, cause, .. } => {
                write!(f, "the connection to broker {broker} ended: {cause}")
            }
            Self::Missed(count) => write!(f, "{count} events were missed"),
            Self::Closed => f.write_str("the client was closed"),
        }
    }
}

/// The events that lead from one snapshot to the next: brokers first, then topics by name.
#[must_use]
pub fn diff(before: &Snapshot, after: &Snapshot) -> Vec<Event> {
    let mut events = Vec::new();
    for (id, broker) in after.brokers.iter() {
        match before.brokers.get(id) {
            None => events.push(Event::BrokerAdded(broker.clone())),
            Some(known) if known == broker => {}
            Some(known) => events.push(Event::BrokerMoved { from: known.clone(), to: broker.clone() }),
        }
    }
    let lost = before.brokers.values().filter(|broker| !after.brokers.contains_key(&broker.id));
    events.extend(lost.cloned().map(Event::BrokerLost));
    // There is no event for the controller: with KRaft, brokers report one of themselves at random.
    let mut topics: Vec<&Arc<Topic>> = after.topics().collect();
    topics.sort_by(|a, b| a.name.cmp(&b.name));
    for topic in topics {
        let known = before.peek_topic(&topic.name);
        if known.is_none_or(|known| !Arc::ptr_eq(known, topic)) {
            topic_changes(known.map(Arc::as_ref).filter(|known| known.exists()), topic, &mut events);
        }
    }
    let mut gone: Vec<&Arc<Topic>> = before.topics().filter(|topic| topic.exists()).collect();
    gone.retain(|topic| after.peek_topic(&topic.name).is_none());
    gone.sort_by(|a, b| a.name.cmp(&b.name));
    events.extend(gone.into_iter().map(|topic| Event::TopicGone { topic: Arc::clone(&topic.name) }));
    events
}

fn topic_changes(known: Option<&Topic>, topic: &Topic, events: &mut Vec<Event>) {
    let name = || Arc::clone(&topic.name);
    let partitions = topic.partitions.len();
    let known = match (known, topic.exists()) {
        (None, false) => return,
        (Some(_), false) => return events.push(Event::TopicGone { topic: name() }),
        (None, true) => return events.push(Event::TopicAppeared { topic: name(), partitions }),
        (Some(known), true) => known,
    };
    if known.id != topic.id && !known.id.is_zero() && !topic.id.is_zero() {
        return events.push(Event::TopicRecreated { topic: name(), partitions });
    }
    if partitions > known.partitions.len() {
        events.push(Event::PartitionsAdded { topic: name(), from: known.partitions.len(), to: partitions });
    }
    for partition in &topic.partitions {
        let from = known.partition(partition.index).map(|known| known.leader);
        if let Some(from) = from.filter(|from| *from != partition.leader) {
            let (to, epoch) = (partition.leader, partition.leader_epoch);
            let partition = partition.index;
            events.push(Event::LeaderChanged { topic: name(), partition, from, to, epoch });
        }
    }
}

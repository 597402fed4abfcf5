//! What changed between two snapshots, as events; no I/O and no state.
//!
//! Invariant: applying what [`diff`] says to the topology before gives the topology after: each
//! broker, topic, partition and leader that differs is named once.

use std::fmt;
use std::sync::Arc;

use super::{Broker, Snapshot, Topic};
use crate::error::Error;

/// Something about the cluster, or about the way to it, has changed.
#[derive(Debug, Clone)]
pub enum Event {
    /// A broker is new.
    BrokerAdded(Broker),
    /// A broker is gone.
    BrokerLost(Broker),
    /// A broker is at another address, or in another rack.
    BrokerMoved {
        /// As it was.
        from: Broker,
        /// As it is.
        to: Broker,
    },
    /// A topic is new to this client.
    TopicAppeared {
        /// Its name.
        topic: Arc<str>,
        /// How many partitions it has.
        partitions: usize,
    },
    /// A topic is gone.
    TopicGone {
        /// Its name.
        topic: Arc<str>,
    },
    /// A topic was deleted, and made again with the same name.
    TopicRecreated {
        /// Its name.
        topic: Arc<str>,
        /// How many partitions it has.
        partitions: usize,
    },
    /// A topic has more partitions.
    PartitionsAdded {
        /// Its name.
        topic: Arc<str>,
        /// How many it had.
        from: usize,
        /// How many it has.
        to: usize,
    },
    /// A partition has another leader; -1 is none.
    LeaderChanged {
        /// The topic.
        topic: Arc<str>,
        /// The partition.
        partition: i32,
        /// Which broker led it.
        from: i32,
        /// Which broker leads it.
        to: i32,
        /// The new leader's epoch; -1 if the brokers do not tell.
        epoch: i32,
    },
    /// A connection came up.
    ConnectionOpened {
        /// The broker.
        broker: i32,
        /// Its address.
        address: String,
    },
    /// A connection ended, or did not come up.
    ConnectionLost {
        /// The broker.
        broker: i32,
        /// Its address.
        address: String,
        /// Why.
        cause: Error,
    },
    /// So many events came faster than they were taken, and are lost.
    Missed(u64),
    /// The client was closed: nothing follows.
    Closed,
}

impl Event {
    /// The topic that it is about.
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
                write!(f, "topic {topic} was made anew, with {partitions} partitions")
            }
            Self::PartitionsAdded { topic, from, to } => {
                write!(f, "topic {topic} went from {from} partitions to {to}")
            }
            Self::LeaderChanged { topic, partition, from, to, epoch } => {
                write!(f, "{topic}-{partition} is led by {to}, not by {from} any more (epoch {epoch})")
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

/// What changed from one snapshot to the next: brokers first, then topics by name.
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
    // No event for the controller: with KRaft, brokers name one of themselves at random.
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

//! [`Events`]: what happened lately that a user of the gateway would want to know.
//!
//! Invariant: bounded. The oldest events give way, and one that repeats itself is counted, so that a client which fails
//! again and again does not push out the others.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::SystemTime;

use parking_lot::Mutex;

use crate::session::{Coordinated, SessionStatus};

/// The events that are kept.
const KEPT_MAX: usize = 1_000;
/// Among how many of the latest events one that repeats itself is found.
const REPEATS_WITHIN: usize = 32;
/// The groups and transactional ids whose coordinators are remembered.
const COORDINATORS_MAX: usize = 10_000;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// A broker joined the cluster.
    BrokerJoined,
    /// A broker has another address in the cluster.
    BrokerMoved,
    /// A broker left the cluster.
    BrokerLeft,
    /// The cluster could not be asked for its brokers.
    ClusterLost,
    /// The cluster answers again.
    ClusterFound,
    /// A group or a transactional id is at another coordinator.
    CoordinatorMoved,
    /// A connection was closed when it was accepted, since there were too many.
    Refused,
    /// A request was not passed on, since the rules do not allow it.
    Denied,
    /// A connection was not set up, or ended with an error.
    ConnectionFailed,
    /// A fault was injected.
    FaultInjected,
    /// An injected fault was removed.
    FaultRemoved,
    /// An injected fault has hit a request or a connection.
    FaultHit,
}

impl EventKind {
    /// The name in lower case, with underscores.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::BrokerJoined => "broker_joined",
            Self::BrokerMoved => "broker_moved",
            Self::BrokerLeft => "broker_left",
            Self::ClusterLost => "cluster_lost",
            Self::ClusterFound => "cluster_found",
            Self::CoordinatorMoved => "coordinator_moved",
            Self::Refused => "refused",
            Self::Denied => "denied",
            Self::ConnectionFailed => "connection_failed",
            Self::FaultInjected => "fault_injected",
            Self::FaultRemoved => "fault_removed",
            Self::FaultHit => "fault_hit",
        }
    }
}

/// Something that happened.
#[derive(Debug, Clone)]
pub struct Event {
    /// Its number; the first one is 1.
    pub number: u64,
    /// When it happened; the last time if it repeated itself.
    pub time: SystemTime,
    /// What happened.
    pub kind: EventKind,
    /// How often, with few other events in between.
    pub count: u64,
    /// The broker.
    pub broker: Option<i32>,
    /// The group or the transactional id.
    pub name: Option<String>,
    /// The client's id, as it calls itself.
    pub client_id: Option<String>,
    /// The client's address.
    pub peer: Option<SocketAddr>,
    /// More about it, such as an address or an error.
    pub detail: Option<String>,
}

impl Event {
    pub(crate) fn new(kind: EventKind) -> Self {
        let (number, time, count) = (0, SystemTime::UNIX_EPOCH, 1);
        Self {
            number,
            time,
            kind,
            count,
            broker: None,
            name: None,
            client_id: None,
            peer: None,
            detail: None,
        }
    }

    pub(crate) fn of(kind: EventKind, status: &SessionStatus) -> Self {
        let client_id = Some(status.client_id()).filter(|id| !id.is_empty());
        Self { client_id, peer: Some(status.peer()), broker: status.broker(), ..Self::new(kind) }
    }

    pub(crate) fn broker(self, broker: i32) -> Self {
        Self { broker: Some(broker), ..self }
    }

    pub(crate) fn detail(self, detail: impl std::fmt::Display) -> Self {
        Self { detail: Some(detail.to_string()), ..self }
    }

    /// Whether it is the same but for its number, its time and the client's port.
    fn repeats(&self, other: &Self) -> bool {
        let ip = |event: &Self| event.peer.map(|peer| peer.ip());
        self.kind == other.kind
            && self.broker == other.broker
            && self.name == other.name
            && self.client_id == other.client_id
            && self.detail == other.detail
            && ip(self) == ip(other)
    }
}

/// The latest events, and the coordinators that clients were last seen at.
#[derive(Debug, Default)]
pub(crate) struct Events {
    log: Mutex<Log>,
    coordinators: Mutex<Coordinators>,
}

/// The coordinators of groups and transactional ids, each with the number of the response that showed it.
#[derive(Debug, Default)]
struct Coordinators {
    known: BTreeMap<Coordinated, (i32, u64)>,
    last: u64,
}

impl Coordinators {
    /// Records a coordinator; returns the one before. The name that was seen the longest ago gives way.
    fn record(&mut self, what: &Coordinated, broker: i32) -> Option<i32> {
        self.last += 1;
        if let Some(known) = self.known.get_mut(what) {
            return Some(std::mem::replace(known, (broker, self.last)).0);
        }
        if self.known.len() >= COORDINATORS_MAX {
            let oldest = self.known.iter().min_by_key(|(_, (_, seen))| *seen).map(|(name, _)| name.clone());
            oldest.and_then(|name| self.known.remove(&name));
        }
        self.known.insert(what.clone(), (broker, self.last));
        None
    }
}

#[derive(Debug, Default)]
struct Log {
    kept: VecDeque<Event>,
    last: u64,
}

impl Events {
    /// Adds an event.
    pub(crate) fn push(&self, event: Event) {
        let time = SystemTime::now();
        let mut log = self.log.lock();
        log.last += 1;
        let number = log.last;
        // It gets a new number, so that one who has seen it learns that it happened again.
        let older = log.kept.len().saturating_sub(REPEATS_WITHIN);
        let before = log.kept.iter().skip(older).position(|known| known.repeats(&event));
        let before = before.and_then(|at| log.kept.remove(older + at));
        let count = before.map_or(0, |event| event.count) + 1;
        if log.kept.len() == KEPT_MAX {
            log.kept.pop_front();
        }
        log.kept.push_back(Event { number, time, count, ..event });
    }

    /// A broker has served a client as the coordinator of a group or a transactional id.
    pub(crate) fn coordinates(&self, status: &SessionStatus, what: &Coordinated) {
        let Some(broker) = status.broker() else { return };
        let before = self.coordinators.lock().record(what, broker);
        if let Some(before) = before.filter(|before| *before != broker) {
            let event = Event::of(EventKind::CoordinatorMoved, status).detail(before);
            self.push(Event { name: Some(what.name.clone()), ..event });
        }
    }

    /// The events after the one with this number, the oldest first.
    pub(crate) fn after(&self, number: u64) -> Vec<Event> {
        self.log.lock().kept.iter().filter(|event| event.number > number).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_repeats_itself_is_counted() {
        let events = Events::default();
        let failed = || Event::new(EventKind::ConnectionFailed).detail("reset");
        events.push(failed());
        events.push(failed());
        events.push(Event::new(EventKind::BrokerLeft).broker(1));
        events.push(failed());
        let seen = |number| {
            let events = events.after(number);
            events.iter().map(|event| (event.number, event.kind, event.count)).collect::<Vec<_>>()
        };
        let left = (3, EventKind::BrokerLeft, 1);
        let again = (4, EventKind::ConnectionFailed, 3);
        assert_eq!(seen(0), [left, again]);
        assert_eq!(seen(3), [again]);
    }

    #[test]
    fn the_coordinator_that_was_seen_the_longest_ago_gives_way() {
        let name = |n: usize| Coordinated { role: crate::session::Role::Group, name: n.to_string() };
        let mut coordinators = Coordinators::default();
        (0..COORDINATORS_MAX).for_each(|n| _ = coordinators.record(&name(n), 1));
        assert_eq!(coordinators.record(&name(0), 2), Some(1));
        assert_eq!(coordinators.record(&name(COORDINATORS_MAX), 1), None);
        assert_eq!(coordinators.known.len(), COORDINATORS_MAX);
        assert_eq!(coordinators.record(&name(0), 2), Some(2));
        assert_eq!(coordinators.record(&name(1), 1), None);
    }

    #[test]
    fn the_oldest_give_way() {
        let events = Events::default();
        for broker in 0..i32::try_from(KEPT_MAX).unwrap_or(0) + 5 {
            events.push(Event::new(EventKind::BrokerLeft).broker(broker));
        }
        let kept = events.after(0);
        assert_eq!((kept.len(), kept.first().and_then(|event| event.broker)), (KEPT_MAX, Some(5)));
    }
}

//! The injected faults, and which of them hit a request.
//!
//! Invariant: a fault hits at most `times` requests, and only after `skip` matching ones have passed.

use std::mem::{Discriminant, discriminant};

use ottla_protocol::ApiKey;

use crate::{Fault, FaultId, Match, Reaction};

/// A topic of a request, or one of its partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultTarget {
    /// The topic.
    pub topic: String,
    /// The partition; `None` for the topic itself.
    pub partition: Option<i32>,
}

/// The parts of a request that conditions look at.
#[derive(Debug)]
pub struct RequestInfo<'a> {
    /// The broker.
    pub broker: i32,
    /// The API.
    pub api: ApiKey,
    /// The version.
    pub version: i16,
    /// The client's name.
    pub client_id: Option<&'a str>,
    /// The topics and partitions that the request names.
    pub targets: &'a [FaultTarget],
    /// The faults that the link has already, each of which hits a connection once.
    pub link_faults: &'a [FaultId],
}

/// A fault that hit a request.
#[derive(Debug, Clone)]
pub struct Hit {
    /// The fault.
    pub id: FaultId,
    /// Its condition, which says what parts of the request it covers.
    pub on: Match,
    /// What happens to the request.
    pub then: Reaction,
}

/// A fault that was injected.
#[derive(Debug, Clone)]
pub struct InjectedFault {
    /// Its id.
    pub id: FaultId,
    /// The fault.
    pub fault: Fault,
    /// How many requests it has hit.
    pub hits: u64,
    passed: u64,
}

impl InjectedFault {
    /// Whether it has hit as many requests as it may.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        self.fault.times.is_some_and(|times| self.hits >= times)
    }
}

/// The injected faults, including those with no hits left, whose counts remain available.
#[derive(Debug, Default)]
pub struct FaultRegistry {
    next: u64,
    faults: Vec<InjectedFault>,
}

impl FaultRegistry {
    /// Adds a fault, after all others.
    pub fn inject(&mut self, fault: Fault) -> FaultId {
        let id = FaultId(self.next);
        self.next += 1;
        self.faults.push(InjectedFault { id, fault, passed: 0, hits: 0 });
        id
    }

    /// Removes a fault; returns it if it was there.
    pub fn remove(&mut self, id: FaultId) -> Option<InjectedFault> {
        let at = self.faults.iter().position(|injected| injected.id == id)?;
        Some(self.faults.remove(at))
    }

    /// Removes all faults, and returns them.
    pub fn clear(&mut self) -> Vec<InjectedFault> {
        std::mem::take(&mut self.faults)
    }

    /// Whether no fault is there.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.faults.is_empty()
    }

    /// The faults, in the order of their injection.
    #[must_use]
    pub fn all(&self) -> &[InjectedFault] {
        &self.faults
    }

    /// A fault, unless it was removed.
    #[must_use]
    pub fn get(&self, id: FaultId) -> Option<&InjectedFault> {
        self.faults.iter().find(|injected| injected.id == id)
    }

    /// How many requests a fault has hit; 0 if it was removed.
    #[must_use]
    pub fn hits(&self, id: FaultId) -> u64 {
        self.get(id).map_or(0, |injected| injected.hits)
    }

    /// Counts a hit of a fault that concerns connections.
    pub fn count_hit(&mut self, id: FaultId) {
        if let Some(injected) = self.faults.iter_mut().find(|injected| injected.id == id) {
            injected.hits += 1;
        }
    }

    /// Takes back a hit of a fault that found nothing to act on.
    pub fn undo_hit(&mut self, id: FaultId) {
        if let Some(injected) = self.faults.iter_mut().find(|injected| injected.id == id) {
            injected.hits = injected.hits.saturating_sub(1);
        }
    }

    /// Finds the faults that hit a request, in the order of their injection, and counts the hits.
    pub fn hit(&mut self, request: &RequestInfo<'_>) -> Vec<Hit> {
        let mut hits = Vec::new();
        let mut hit_kinds: Vec<(Discriminant<Reaction>, Option<String>, Option<i32>)> = Vec::new();
        for injected in &mut self.faults {
            let Fault { on, then, .. } = &injected.fault;
            let kind = (discriminant(then), on.topic.clone(), on.partition);
            let inapplicable = match then {
                Reaction::OmitPartition(_) => request.api != ApiKey::Metadata,
                // No request meets it: it is there for connections.
                Reaction::Freeze => true,
                // A connection that has it already.
                _ => request.link_faults.contains(&injected.id),
            };
            if injected.is_exhausted() || inapplicable || !on.matches(request) || hit_kinds.contains(&kind) {
                continue;
            }
            if injected.passed < on.skip {
                injected.passed += 1;
                continue;
            }
            hits.push(Hit { id: injected.id, on: on.clone(), then: then.clone() });
            injected.hits += 1;
            hit_kinds.push(kind);
        }
        hits
    }
}

impl Match {
    fn matches(&self, request: &RequestInfo<'_>) -> bool {
        self.broker.is_none_or(|id| id == request.broker)
            && self.api.is_none_or(|api| api == request.api)
            && self.versions.as_ref().is_none_or(|versions| versions.contains(&request.version))
            && self.client_id.as_deref().is_none_or(|name| Some(name) == request.client_id)
            && (!self.has_target()
                || request.targets.iter().any(|target| self.covers(&target.topic, target.partition)))
    }

    /// Whether requests must name a topic or a partition to meet the condition.
    #[must_use]
    pub fn has_target(&self) -> bool {
        self.topic.is_some() || self.partition.is_some()
    }

    /// Whether the condition covers a topic or one of its partitions.
    #[must_use]
    pub fn covers(&self, topic: &str, partition: Option<i32>) -> bool {
        self.topic.as_deref().is_none_or(|name| name == topic)
            && self.partition.is_none_or(|index| Some(index) == partition)
    }
}

//! Which faults an arriving request meets.
//!
//! Invariant: a fault hits at most `times` requests, and only after `skip` matching ones have passed.

use std::mem::{Discriminant, discriminant};
use std::time::Duration;

use bytes::Bytes;
use ottla_protocol::{ApiKey, ErrorCode};

use super::{Fault, FaultId, Match, Reaction, When};

/// A topic, or one of its partitions, that a request concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) topic: String,
    pub(crate) partition: Option<i32>,
}

/// A request that came in.
#[derive(Debug)]
pub(crate) struct Arrival<'a> {
    pub(crate) broker: i32,
    pub(crate) api: ApiKey,
    pub(crate) version: i16,
    pub(crate) client_id: Option<&'a str>,
    pub(crate) targets: &'a [Target],
}

/// All that happens to one request.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) errors: Vec<(Match, ErrorCode)>,
    pub(crate) late_errors: Vec<(Match, ErrorCode)>,
    pub(crate) moves: Vec<(Match, i32)>,
    pub(crate) omitted: Vec<(Match, i32)>,
    pub(crate) disconnect: Option<When>,
    pub(crate) delay: Duration,
    pub(crate) throttle: Option<i32>,
    pub(crate) silence: bool,
    pub(crate) raw: Option<Bytes>,
    pub(crate) corrupt: Option<(FaultId, Match)>,
    pub(crate) truncate: bool,
}

#[derive(Debug)]
struct Entry {
    id: FaultId,
    fault: Fault,
    passed: u64,
    hits: u64,
}

/// The faults of a cluster, spent ones included, so that their hits can be asked for.
#[derive(Debug, Default)]
pub(crate) struct FaultBook {
    next: u64,
    entries: Vec<Entry>,
}

impl FaultBook {
    pub(crate) fn inject(&mut self, fault: Fault) -> FaultId {
        let id = FaultId(self.next);
        self.next += 1;
        self.entries.push(Entry { id, fault, passed: 0, hits: 0 });
        id
    }

    pub(crate) fn remove(&mut self, id: FaultId) {
        self.entries.retain(|entry| entry.id != id);
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn hits(&self, id: FaultId) -> u64 {
        self.entries.iter().find(|entry| entry.id == id).map_or(0, |entry| entry.hits)
    }

    /// Takes a hit back: the fault found nothing to act on.
    pub(crate) fn take_back(&mut self, id: FaultId) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.id == id) {
            entry.hits = entry.hits.saturating_sub(1);
        }
    }

    /// Decides what happens to a request, and counts it.
    pub(crate) fn plan(&mut self, arrival: &Arrival<'_>) -> Plan {
        let mut plan = Plan::default();
        let mut met: Vec<(Discriminant<Reaction>, Option<String>, Option<i32>)> = Vec::new();
        for entry in &mut self.entries {
            let Fault { on, then, times } = &entry.fault;
            let kind = (discriminant(then), on.topic.clone(), on.partition);
            let spent = times.is_some_and(|times| entry.hits >= times);
            let unsuited = matches!(then, Reaction::OmitPartition(_)) && arrival.api != ApiKey::Metadata;
            if spent || unsuited || !on.meets(arrival) || met.contains(&kind) {
                continue;
            }
            if entry.passed < on.skip {
                entry.passed += 1;
                continue;
            }
            entry.hits += 1;
            met.push(kind);
            plan.add(entry.id, arrival.api, on, then);
        }
        plan
    }
}

impl Plan {
    fn add(&mut self, id: FaultId, api: ApiKey, on: &Match, then: &Reaction) {
        match then {
            Reaction::Error(code) => self.errors.push((on.clone(), *code)),
            Reaction::ErrorAfterHandling(code) if changes_state(api) => {
                self.late_errors.push((on.clone(), *code));
            }
            Reaction::ErrorAfterHandling(code) => self.errors.push((on.clone(), *code)),
            Reaction::OmitPartition(index) => self.omitted.push((on.clone(), *index)),
            Reaction::MoveLeader { to } => self.moves.push((on.clone(), *to)),
            Reaction::Disconnect(when) => self.disconnect = self.disconnect.or(Some(*when)),
            Reaction::Delay(delay) => self.delay = self.delay.saturating_add(*delay),
            Reaction::Throttle(ms) => self.throttle = self.throttle.or(Some(*ms)),
            Reaction::Silence => self.silence = true,
            Reaction::Bytes(bytes) => self.raw = self.raw.take().or_else(|| Some(bytes.clone())),
            Reaction::CorruptRecords => self.corrupt = self.corrupt.take().or_else(|| Some((id, on.clone()))),
            Reaction::TruncateFrame => self.truncate = true,
        }
    }
}

/// Whether requests of this API change the cluster, so that they can be applied and answered with an
/// error: their handlers ask [`crate::api::Call`] for late faults.
fn changes_state(api: ApiKey) -> bool {
    matches!(
        api,
        ApiKey::Produce
            | ApiKey::OffsetCommit
            | ApiKey::JoinGroup
            | ApiKey::SyncGroup
            | ApiKey::Heartbeat
            | ApiKey::LeaveGroup
            | ApiKey::ConsumerGroupHeartbeat
            | ApiKey::InitProducerId
            | ApiKey::CreateTopics
            | ApiKey::DeleteTopics
            | ApiKey::CreatePartitions
            | ApiKey::DeleteRecords
            | ApiKey::DeleteGroups
            | ApiKey::OffsetDelete
    )
}

impl Match {
    fn meets(&self, arrival: &Arrival<'_>) -> bool {
        self.broker.is_none_or(|id| id == arrival.broker)
            && self.api.is_none_or(|api| api == arrival.api)
            && self.versions.as_ref().is_none_or(|versions| versions.contains(&arrival.version))
            && self.client_id.as_deref().is_none_or(|name| Some(name) == arrival.client_id)
            && (self.topic.is_none() && self.partition.is_none()
                || arrival.targets.iter().any(|target| self.covers(&target.topic, target.partition)))
    }

    /// Whether a topic, or a partition of it, is one that this fault is for.
    pub(crate) fn covers(&self, topic: &str, partition: Option<i32>) -> bool {
        self.topic.as_deref().is_none_or(|name| name == topic)
            && self.partition.is_none_or(|index| Some(index) == partition)
    }
}

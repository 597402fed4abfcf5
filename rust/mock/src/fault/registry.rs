//! The injected faults, and which of them hit a request.
//!
//! Invariant: a fault hits at most `times` requests, and only after `skip` matching ones have passed.

use std::mem::{Discriminant, discriminant};
use std::time::Duration;

use bytes::Bytes;
use ottla_protocol::{ApiKey, ErrorCode};

use super::{Fault, FaultId, Match, Reaction, When};

/// A topic of a request, or one of its partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FaultTarget {
    pub(crate) topic: String,
    pub(crate) partition: Option<i32>,
}

/// The parts of a request that conditions look at.
#[derive(Debug)]
pub(crate) struct RequestInfo<'a> {
    pub(crate) broker: i32,
    pub(crate) api: ApiKey,
    pub(crate) version: i16,
    pub(crate) client_id: Option<&'a str>,
    pub(crate) targets: &'a [FaultTarget],
}

/// The combined reactions of all faults that hit a request.
#[derive(Debug, Default)]
pub(crate) struct FaultPlan {
    pub(crate) errors: Vec<(Match, ErrorCode)>,
    pub(crate) errors_after_handling: Vec<(Match, ErrorCode)>,
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
struct InjectedFault {
    id: FaultId,
    fault: Fault,
    passed: u64,
    hits: u64,
}

/// The injected faults of a cluster, including those with no hits left, whose counts remain available.
#[derive(Debug, Default)]
pub(crate) struct FaultRegistry {
    next: u64,
    faults: Vec<InjectedFault>,
}

impl FaultRegistry {
    pub(crate) fn inject(&mut self, fault: Fault) -> FaultId {
        let id = FaultId(self.next);
        self.next += 1;
        self.faults.push(InjectedFault { id, fault, passed: 0, hits: 0 });
        id
    }

    pub(crate) fn remove(&mut self, id: FaultId) {
        self.faults.retain(|injected| injected.id != id);
    }

    pub(crate) fn clear(&mut self) {
        self.faults.clear();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.faults.is_empty()
    }

    pub(crate) fn hits(&self, id: FaultId) -> u64 {
        self.faults.iter().find(|injected| injected.id == id).map_or(0, |injected| injected.hits)
    }

    /// Takes back a hit of a fault that found nothing to act on.
    pub(crate) fn undo_hit(&mut self, id: FaultId) {
        if let Some(injected) = self.faults.iter_mut().find(|injected| injected.id == id) {
            injected.hits = injected.hits.saturating_sub(1);
        }
    }

    /// Combines the reactions to a request, and counts the hits.
    pub(crate) fn plan(&mut self, request: &RequestInfo<'_>) -> FaultPlan {
        let mut plan = FaultPlan::default();
        let mut hit_kinds: Vec<(Discriminant<Reaction>, Option<String>, Option<i32>)> = Vec::new();
        for injected in &mut self.faults {
            let Fault { on, then, times } = &injected.fault;
            let kind = (discriminant(then), on.topic.clone(), on.partition);
            let exhausted = times.is_some_and(|times| injected.hits >= times);
            let inapplicable = matches!(then, Reaction::OmitPartition(_)) && request.api != ApiKey::Metadata;
            if exhausted || inapplicable || !on.matches(request) || hit_kinds.contains(&kind) {
                continue;
            }
            if injected.passed < on.skip {
                injected.passed += 1;
                continue;
            }
            injected.hits += 1;
            hit_kinds.push(kind);
            plan.add(injected.id, request.api, on, then);
        }
        plan
    }
}

impl FaultPlan {
    fn add(&mut self, id: FaultId, api: ApiKey, on: &Match, then: &Reaction) {
        match then {
            Reaction::Error(code) => self.errors.push((on.clone(), *code)),
            Reaction::ErrorAfterHandling(code) if changes_state(api) => {
                self.errors_after_handling.push((on.clone(), *code));
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

/// Whether requests of this API change the cluster, so that they can be applied and still return an error:
/// their handlers check for faults after handling.
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
            | ApiKey::ShareGroupHeartbeat
            | ApiKey::ShareAcknowledge
            | ApiKey::AlterShareGroupOffsets
            | ApiKey::DeleteShareGroupOffsets
            | ApiKey::InitProducerId
            | ApiKey::CreateTopics
            | ApiKey::DeleteTopics
            | ApiKey::CreatePartitions
            | ApiKey::DeleteRecords
            | ApiKey::DeleteGroups
            | ApiKey::OffsetDelete
            | ApiKey::AlterUserScramCredentials
            | ApiKey::AlterClientQuotas
            | ApiKey::CreateDelegationToken
            | ApiKey::RenewDelegationToken
            | ApiKey::ExpireDelegationToken
            | ApiKey::AlterPartitionReassignments
            | ApiKey::ElectLeaders
            | ApiKey::UpdateFeatures
            | ApiKey::UnregisterBroker
            | ApiKey::CreateAcls
            | ApiKey::DeleteAcls
            | ApiKey::AlterConfigs
            | ApiKey::AlterReplicaLogDirs
            | ApiKey::IncrementalAlterConfigs
    )
}

impl Match {
    fn matches(&self, request: &RequestInfo<'_>) -> bool {
        self.broker.is_none_or(|id| id == request.broker)
            && self.api.is_none_or(|api| api == request.api)
            && self.versions.as_ref().is_none_or(|versions| versions.contains(&request.version))
            && self.client_id.as_deref().is_none_or(|name| Some(name) == request.client_id)
            && (self.topic.is_none() && self.partition.is_none()
                || request.targets.iter().any(|target| self.covers(&target.topic, target.partition)))
    }

    /// Whether the condition covers a topic or one of its partitions.
    pub(crate) fn covers(&self, topic: &str, partition: Option<i32>) -> bool {
        self.topic.as_deref().is_none_or(|name| name == topic)
            && self.partition.is_none_or(|index| Some(index) == partition)
    }
}

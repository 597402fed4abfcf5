//! The combined reactions of the faults that hit a request; `ottla_faults` defines faults and decides which these are.

use std::time::Duration;

use bytes::Bytes;
use ottla_faults::Hit;
pub use ottla_faults::{Fault, FaultId, Match, Reaction, When};
pub(crate) use ottla_faults::{FaultRegistry, FaultTarget, RequestInfo};
use ottla_protocol::{ApiKey, ErrorCode};

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

impl FaultPlan {
    /// Combines the reactions to a request.
    pub(crate) fn new(api: ApiKey, hits: Vec<Hit>) -> Self {
        let mut plan = Self::default();
        hits.into_iter().for_each(|hit| plan.add(api, hit));
        plan
    }

    fn add(&mut self, api: ApiKey, Hit { id, on, then }: Hit) {
        match then {
            Reaction::Error(code) => self.errors.push((on, code)),
            Reaction::ErrorAfterHandling(code) if changes_state(api) => {
                self.errors_after_handling.push((on, code));
            }
            Reaction::ErrorAfterHandling(code) => self.errors.push((on, code)),
            Reaction::OmitPartition(index) => self.omitted.push((on, index)),
            Reaction::MoveLeader { to } => self.moves.push((on, to)),
            Reaction::Disconnect(when) => self.disconnect = self.disconnect.or(Some(when)),
            Reaction::Delay(delay) => self.delay = self.delay.saturating_add(delay),
            Reaction::Throttle(ms) => self.throttle = self.throttle.or(Some(ms)),
            Reaction::Silence => self.silence = true,
            Reaction::Bytes(bytes) => self.raw = self.raw.take().or(Some(bytes)),
            Reaction::CorruptRecords => self.corrupt = self.corrupt.take().or(Some((id, on))),
            Reaction::TruncateFrame => self.truncate = true,
            // A gateway in front of the cluster has these.
            Reaction::Cut(_) | Reaction::Slow(_) | Reaction::Freeze => {}
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

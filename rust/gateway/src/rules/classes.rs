//! Which APIs change what.
//!
//! Invariant: every API that changes the cluster is in one of the lists, apart from what consumers do: memberships,
//! offsets of groups and acknowledgements.

use ottla_protocol::ApiKey;

/// What administers the cluster.
pub(super) const ADMINISTRATION: &[ApiKey] = &[
    ApiKey::AddRaftVoter,
    ApiKey::AlterClientQuotas,
    ApiKey::AlterConfigs,
    ApiKey::AlterPartitionReassignments,
    ApiKey::AlterReplicaLogDirs,
    ApiKey::AlterShareGroupOffsets,
    ApiKey::AlterUserScramCredentials,
    ApiKey::CreateAcls,
    ApiKey::CreateDelegationToken,
    ApiKey::CreatePartitions,
    ApiKey::CreateTopics,
    ApiKey::DeleteAcls,
    ApiKey::DeleteGroups,
    ApiKey::DeleteRecords,
    ApiKey::DeleteShareGroupOffsets,
    ApiKey::DeleteShareGroupState,
    ApiKey::DeleteTopics,
    ApiKey::ElectLeaders,
    ApiKey::ExpireDelegationToken,
    ApiKey::IncrementalAlterConfigs,
    ApiKey::InitializeShareGroupState,
    ApiKey::OffsetDelete,
    ApiKey::RemoveRaftVoter,
    ApiKey::RenewDelegationToken,
    ApiKey::UnregisterBroker,
    ApiKey::UnregisterController,
    ApiKey::UpdateFeatures,
    ApiKey::WriteShareGroupState,
    ApiKey::WriteTxnMarkers,
];

/// What producers do.
pub(super) const WRITING: &[ApiKey] = &[
    ApiKey::AddOffsetsToTxn,
    ApiKey::AddPartitionsToTxn,
    ApiKey::EndTxn,
    ApiKey::InitProducerId,
    ApiKey::Produce,
    ApiKey::TxnOffsetCommit,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// What changes nothing, or is what consumers do.
    const ALLOWED: &[ApiKey] = &[
        ApiKey::ApiVersions,
        ApiKey::ConsumerGroupDescribe,
        ApiKey::ConsumerGroupHeartbeat,
        ApiKey::DescribeAcls,
        ApiKey::DescribeClientQuotas,
        ApiKey::DescribeCluster,
        ApiKey::DescribeConfigs,
        ApiKey::DescribeDelegationToken,
        ApiKey::DescribeGroups,
        ApiKey::DescribeLogDirs,
        ApiKey::DescribeProducers,
        ApiKey::DescribeQuorum,
        ApiKey::DescribeShareGroupOffsets,
        ApiKey::DescribeTopicPartitions,
        ApiKey::DescribeTransactions,
        ApiKey::DescribeUserScramCredentials,
        ApiKey::Fetch,
        ApiKey::FindCoordinator,
        ApiKey::GetTelemetrySubscriptions,
        ApiKey::Heartbeat,
        ApiKey::JoinGroup,
        ApiKey::LeaveGroup,
        ApiKey::ListConfigResources,
        ApiKey::ListGroups,
        ApiKey::ListOffsets,
        ApiKey::ListPartitionReassignments,
        ApiKey::ListTransactions,
        ApiKey::Metadata,
        ApiKey::OffsetCommit,
        ApiKey::OffsetFetch,
        ApiKey::OffsetForLeaderEpoch,
        ApiKey::PushTelemetry,
        ApiKey::ReadShareGroupState,
        ApiKey::ReadShareGroupStateSummary,
        ApiKey::SaslAuthenticate,
        ApiKey::SaslHandshake,
        ApiKey::ShareAcknowledge,
        ApiKey::ShareFetch,
        ApiKey::ShareGroupDescribe,
        ApiKey::ShareGroupHeartbeat,
        ApiKey::StreamsGroupDescribe,
        ApiKey::StreamsGroupHeartbeat,
        ApiKey::StreamsGroupTopologyDescriptionUpdate,
        ApiKey::SyncGroup,
    ];

    /// A new API fails here until somebody decides.
    #[test]
    fn every_api_is_in_one_class() {
        let mut all: Vec<ApiKey> = [ADMINISTRATION, WRITING, ALLOWED].concat();
        all.sort_unstable();
        assert_eq!(all, ApiKey::ALL);
    }
}

//! The release of Kafka that an API needs, for the error of a broker that lacks it.
//!
//! Derived from the `kafka-clients` jars of every release since 2.8, and from the release notes before. An API
//! that was in early access or in preview at first has the release whose brokers serve it by default.

use ottla_protocol::ApiKey;

/// The first release whose brokers serve an API; `None` if all that this client supports may do so.
pub(super) fn introduced_in(api: ApiKey) -> Option<&'static str> {
    Some(match api {
        ApiKey::ElectLeaders => "2.2",
        ApiKey::IncrementalAlterConfigs => "2.3",
        ApiKey::AlterPartitionReassignments | ApiKey::ListPartitionReassignments | ApiKey::OffsetDelete => {
            "2.4"
        }
        ApiKey::DescribeClientQuotas | ApiKey::AlterClientQuotas => "2.6",
        ApiKey::DescribeUserScramCredentials | ApiKey::AlterUserScramCredentials | ApiKey::UpdateFeatures => {
            "2.7"
        }
        ApiKey::DescribeCluster | ApiKey::DescribeProducers => "2.8",
        ApiKey::DescribeTransactions | ApiKey::ListTransactions => "3.0",
        // Brokers with ZooKeeper have neither.
        ApiKey::UnregisterBroker => "3.0 with KRaft",
        ApiKey::DescribeQuorum => "3.3 with KRaft",
        ApiKey::GetTelemetrySubscriptions | ApiKey::PushTelemetry | ApiKey::ListConfigResources => "3.7",
        ApiKey::DescribeTopicPartitions => "3.8",
        ApiKey::AddRaftVoter | ApiKey::RemoveRaftVoter => "3.9",
        ApiKey::ConsumerGroupHeartbeat | ApiKey::ConsumerGroupDescribe => "4.0",
        ApiKey::ShareGroupHeartbeat
        | ApiKey::ShareGroupDescribe
        | ApiKey::ShareFetch
        | ApiKey::ShareAcknowledge
        | ApiKey::DescribeShareGroupOffsets
        | ApiKey::AlterShareGroupOffsets
        | ApiKey::DeleteShareGroupOffsets
        | ApiKey::StreamsGroupHeartbeat
        | ApiKey::StreamsGroupDescribe => "4.2",
        ApiKey::StreamsGroupTopologyDescriptionUpdate | ApiKey::UnregisterController => "4.4",
        _ => return None,
    })
}

//! [`Role`]: what a connection is for, from the requests that a client makes on it.

use ottla_protocol::ApiKey;

/// What a connection is for. One may have several roles: librdkafka sends everything that is for a broker on one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// It came to the bootstrap address.
    Bootstrap,
    /// It produces or fetches records, or looks up offsets.
    Data,
    /// It is a member of a group, or commits offsets; the broker is the group's coordinator.
    Group,
    /// It is a member of a share group, or fetches records for one.
    Share,
    /// It changes a transaction; the broker is its coordinator, or that of its group.
    Transaction,
    /// It manages or inspects topics, groups, configurations or the cluster.
    Admin,
}

impl Role {
    /// The name in lower case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bootstrap => "bootstrap",
            Self::Data => "data",
            Self::Group => "group",
            Self::Share => "share",
            Self::Transaction => "transaction",
            Self::Admin => "admin",
        }
    }

    /// The role that a request of the API shows; `None` for those that each client makes to find its way.
    pub(super) fn of(api: ApiKey) -> Option<Self> {
        Some(match api {
            ApiKey::ApiVersions
            | ApiKey::Metadata
            | ApiKey::FindCoordinator
            | ApiKey::SaslHandshake
            | ApiKey::SaslAuthenticate
            | ApiKey::GetTelemetrySubscriptions
            | ApiKey::PushTelemetry => return None,
            ApiKey::Produce
            | ApiKey::Fetch
            | ApiKey::ListOffsets
            | ApiKey::OffsetForLeaderEpoch
            | ApiKey::InitProducerId => Self::Data,
            ApiKey::JoinGroup
            | ApiKey::SyncGroup
            | ApiKey::Heartbeat
            | ApiKey::LeaveGroup
            | ApiKey::ConsumerGroupHeartbeat
            | ApiKey::StreamsGroupHeartbeat
            | ApiKey::OffsetCommit
            | ApiKey::OffsetFetch => Self::Group,
            ApiKey::ShareGroupHeartbeat | ApiKey::ShareFetch | ApiKey::ShareAcknowledge => Self::Share,
            ApiKey::AddPartitionsToTxn
            | ApiKey::AddOffsetsToTxn
            | ApiKey::EndTxn
            | ApiKey::TxnOffsetCommit => Self::Transaction,
            _ => Self::Admin,
        })
    }
}

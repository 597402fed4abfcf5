//! The recovery from each error code, in one table.
//!
//! Invariant: the match is exhaustive, so that a new code does not compile without a decision.
//! COORDINATOR_LOAD_IN_PROGRESS requires a wait, never a new lookup of the coordinator. Unknown codes
//! are left to the application.

use ottla_protocol::ErrorCode;
use tokio::time::Duration;

/// How long [`Recovery::Passing`] is repeated. What lasts longer is reported to the application.
pub const PASSES_WITHIN: Duration = Duration::from_secs(10);

/// What the client does about an error code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// Nothing: the request succeeded.
    Done,
    /// Back off, refresh the metadata, and retry with the new leader.
    Refresh,
    /// Back off, and retry with the same broker.
    Backoff,
    /// Back off, and repeat a request without effects, with a warning and for [`PASSES_WITHIN`] at most: the
    /// broker met something unexpected, such as a topic that was just deleted. A change is not repeated.
    Passing,
    /// Back off, look up the coordinator again, and retry there.
    FindCoordinator,
    /// Back off, refresh the metadata for the controller, and retry there.
    FindController,
    /// Start a new fetch or share session.
    NewSession,
    /// Rejoin the group.
    Rejoin,
    /// Retry after the next heartbeat, which brings the new member epoch.
    AwaitEpoch,
    /// Follow `auto.offset.reset`, or let the application decide.
    ResetOffset,
    /// Follow the rules for producer epochs (KIP-360, KIP-890).
    ProducerEpoch,
    /// Succeed: an earlier attempt wrote the batch.
    Written,
    /// Split the batch; fail if it is a single record.
    Split,
    /// Forget the brokers and bootstrap again (KIP-1102).
    Rebootstrap,
    /// Report the error to the application: a retry would not help.
    Application,
}

/// The recovery for `code`.
#[must_use]
pub fn recovery(code: ErrorCode) -> Recovery {
    use ErrorCode as E;
    match code {
        E::None => Recovery::Done,
        E::UnknownTopicOrPartition
        | E::LeaderNotAvailable
        | E::NotLeaderOrFollower
        | E::ReplicaNotAvailable
        | E::NetworkException
        | E::KafkaStorageError
        | E::ListenerNotFound
        | E::FencedLeaderEpoch
        | E::UnknownTopicId
        | E::InconsistentTopicId
        | E::UnknownLeaderEpoch
        | E::BrokerNotAvailable => Recovery::Refresh,
        E::CoordinatorLoadInProgress
        | E::RequestTimedOut
        | E::NotEnoughReplicas
        | E::NotEnoughReplicasAfterAppend
        | E::CorruptMessage
        | E::OffsetNotAvailable
        | E::UnstableOffsetCommit
        | E::ThrottlingQuotaExceeded
        | E::ConcurrentTransactions
        | E::ShareSessionLimitReached => Recovery::Backoff,
        E::NotCoordinator | E::CoordinatorNotAvailable => Recovery::FindCoordinator,
        E::NotController => Recovery::FindController,
        E::FetchSessionIdNotFound
        | E::InvalidFetchSessionEpoch
        | E::FetchSessionTopicIdError
        | E::ShareSessionNotFound
        | E::InvalidShareSessionEpoch => Recovery::NewSession,
        E::IllegalGeneration
        | E::UnknownMemberId
        | E::RebalanceInProgress
        | E::MemberIdRequired
        | E::FencedMemberEpoch => Recovery::Rejoin,
        E::StaleMemberEpoch => Recovery::AwaitEpoch,
        E::OffsetOutOfRange => Recovery::ResetOffset,
        E::OutOfOrderSequenceNumber
        | E::UnknownProducerId
        | E::InvalidProducerEpoch
        | E::ProducerFenced
        | E::InvalidProducerIdMapping
        | E::TransactionAbortable => Recovery::ProducerEpoch,
        E::DuplicateSequenceNumber => Recovery::Written,
        E::MessageTooLarge | E::RecordListTooLarge => Recovery::Split,
        E::RebootstrapRequired => Recovery::Rebootstrap,
        E::UnknownServerError => Recovery::Passing,
        E::InvalidFetchSize
        | E::StaleControllerEpoch
        | E::OffsetMetadataTooLarge
        | E::InvalidTopicException
        | E::InvalidRequiredAcks
        | E::InconsistentGroupProtocol
        | E::InvalidGroupId
        | E::InvalidSessionTimeout
        | E::InvalidCommitOffsetSize
        | E::TopicAuthorizationFailed
        | E::GroupAuthorizationFailed
        | E::ClusterAuthorizationFailed
        | E::InvalidTimestamp
        | E::UnsupportedSaslMechanism
        | E::IllegalSaslState
        | E::UnsupportedVersion
        | E::TopicAlreadyExists
        | E::InvalidPartitions
        | E::InvalidReplicationFactor
        | E::InvalidReplicaAssignment
        | E::InvalidConfig
        | E::InvalidRequest
        | E::UnsupportedForMessageFormat
        | E::PolicyViolation
        | E::InvalidTxnState
        | E::InvalidTransactionTimeout
        | E::TransactionCoordinatorFenced
        | E::TransactionalIdAuthorizationFailed
        | E::SecurityDisabled
        | E::OperationNotAttempted
        | E::LogDirNotFound
        | E::SaslAuthenticationFailed
        | E::ReassignmentInProgress
        | E::DelegationTokenAuthDisabled
        | E::DelegationTokenNotFound
        | E::DelegationTokenOwnerMismatch
        | E::DelegationTokenRequestNotAllowed
        | E::DelegationTokenAuthorizationFailed
        | E::DelegationTokenExpired
        | E::InvalidPrincipalType
        | E::NonEmptyGroup
        | E::GroupIdNotFound
        | E::TopicDeletionDisabled
        | E::UnsupportedCompressionType
        | E::StaleBrokerEpoch
        | E::PreferredLeaderNotAvailable
        | E::GroupMaxSizeReached
        | E::FencedInstanceId
        | E::EligibleLeadersNotAvailable
        | E::ElectionNotNeeded
        | E::NoReassignmentInProgress
        | E::GroupSubscribedToTopic
        | E::InvalidRecord
        | E::ResourceNotFound
        | E::DuplicateResource
        | E::UnacceptableCredential
        | E::InconsistentVoterSet
        | E::InvalidUpdateVersion
        | E::FeatureUpdateFailed
        | E::PrincipalDeserializationFailure
        | E::SnapshotNotFound
        | E::PositionOutOfRange
        | E::DuplicateBrokerRegistration
        | E::BrokerIdNotRegistered
        | E::InconsistentClusterId
        | E::TransactionalIdNotFound
        | E::IneligibleReplica
        | E::NewLeaderElected
        | E::OffsetMovedToTieredStorage
        | E::UnreleasedInstanceId
        | E::UnsupportedAssignor
        | E::MismatchedEndpointType
        | E::UnsupportedEndpointType
        | E::UnknownControllerId
        | E::UnknownSubscriptionId
        | E::TelemetryTooLarge
        | E::InvalidRegistration
        | E::InvalidRecordState
        | E::FencedStateEpoch
        | E::InvalidVoterKey
        | E::DuplicateVoter
        | E::VoterNotFound
        | E::InvalidRegularExpression
        | E::StreamsInvalidTopology
        | E::StreamsInvalidTopologyEpoch
        | E::StreamsTopologyFenced
        | E::GroupDeletionFailed
        | E::StreamsTopologyDescriptionUpdateFailed
        | E::ControllerIdNotRegistered
        | E::Unknown(_) => Recovery::Application,
    }
}

impl Recovery {
    /// Whether a request to a partition's leader is retried automatically.
    #[must_use]
    pub fn retries(self) -> bool {
        matches!(
            self,
            Self::Refresh | Self::Backoff | Self::NewSession | Self::FindController | Self::Rebootstrap
        )
    }
}

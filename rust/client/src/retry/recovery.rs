//! What to do about each error code: the one table of recovery.
//!
//! Invariant: the match is exhaustive, so that a new code does not compile until somebody has
//! decided about it. COORDINATOR_LOAD_IN_PROGRESS is a wait and never a search for another
//! coordinator; what an unknown code means only the application can decide.

use ottla_protocol::ErrorCode;

/// What the client does about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// Nothing went wrong.
    Done,
    /// Refresh the metadata, back off, retry with the leader that it names.
    Refresh,
    /// Back off and retry where it was tried.
    Backoff,
    /// Ask again who the coordinator is, back off, retry there.
    FindCoordinator,
    /// Refresh the metadata for the controller, back off, retry there.
    FindController,
    /// Start a new fetch or share session.
    NewSession,
    /// Join the group again.
    Rejoin,
    /// Retry when the next heartbeat has brought the new member epoch.
    AwaitEpoch,
    /// Do as `auto.offset.reset` or the application says.
    ResetOffset,
    /// Follow the rules of the producer's epoch (KIP-360, KIP-890).
    ProducerEpoch,
    /// The batch was written by an earlier attempt: success.
    Written,
    /// Split the batch, or tell the application if it is a single record.
    Split,
    /// Forget the brokers and bootstrap again (KIP-1102).
    Rebootstrap,
    /// Tell the application; trying again would not help.
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
        E::UnknownServerError
        | E::InvalidFetchSize
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
    /// Whether a request to a partition's leader is tried again by itself.
    #[must_use]
    pub fn retries(self) -> bool {
        matches!(self, Self::Refresh | Self::Backoff | Self::NewSession | Self::FindController)
    }
}

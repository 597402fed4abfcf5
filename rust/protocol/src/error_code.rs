//! Kafka's error codes: code, name, retry class of Java's client, and meaning.
//!
//! The client's own reaction to each is in its recovery table. A code of a newer broker becomes
//! [`ErrorCode::Unknown`].

use std::fmt;

/// How Java's client reacts to an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Raise it to the application.
    Fatal,
    /// Retry.
    Retriable,
    /// Refresh the metadata and retry.
    Metadata,
}

macro_rules! error_codes {
    ($($code:literal $variant:ident $name:literal $class:ident $meaning:literal;)*) => {
        /// An error code in a response.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $(#[doc = $meaning] $variant,)*
            /// An unknown code.
            Unknown(i16),
        }

        impl ErrorCode {
            /// Every known code.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The number on the wire.
            #[must_use]
            pub fn code(self) -> i16 {
                match self { $(Self::$variant => $code,)* Self::Unknown(code) => code }
            }

            /// Kafka's name of the error.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* Self::Unknown(_) => "UNKNOWN_ERROR_CODE" }
            }

            /// How Java's client reacts to the error.
            #[must_use]
            pub fn class(self) -> Class {
                match self { $(Self::$variant => Class::$class,)* Self::Unknown(_) => Class::Fatal }
            }

            /// The meaning, in a phrase.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* Self::Unknown(_) => "an error that this version of the client does not know" }
            }
        }

        impl From<i16> for ErrorCode {
            fn from(code: i16) -> Self {
                match code { $($code => Self::$variant,)* unknown => Self::Unknown(unknown) }
            }
        }
    };
}

error_codes! {
    -1 UnknownServerError "UNKNOWN_SERVER_ERROR" Fatal "the broker failed for an unknown reason; its log explains it";
    0 None "NONE" Fatal "no error";
    1 OffsetOutOfRange "OFFSET_OUT_OF_RANGE" Fatal "the offset is not in the partition's log";
    2 CorruptMessage "CORRUPT_MESSAGE" Retriable "the record batch has a bad checksum, a bad size, or no key in a compacted topic";
    3 UnknownTopicOrPartition "UNKNOWN_TOPIC_OR_PARTITION" Metadata "the broker does not host this topic or partition";
    4 InvalidFetchSize "INVALID_FETCH_SIZE" Fatal "the fetch size is invalid";
    5 LeaderNotAvailable "LEADER_NOT_AVAILABLE" Metadata "the partition has no leader: an election is under way, or all of its in-sync replicas are down";
    6 NotLeaderOrFollower "NOT_LEADER_OR_FOLLOWER" Metadata "the broker is no longer the leader (or a follower) of this partition";
    7 RequestTimedOut "REQUEST_TIMED_OUT" Retriable "the broker did not complete the request in time";
    8 BrokerNotAvailable "BROKER_NOT_AVAILABLE" Fatal "the broker is not available";
    9 ReplicaNotAvailable "REPLICA_NOT_AVAILABLE" Metadata "the replica is not available";
    10 MessageTooLarge "MESSAGE_TOO_LARGE" Fatal "the batch is larger than the topic's max.message.bytes";
    11 StaleControllerEpoch "STALE_CONTROLLER_EPOCH" Fatal "the controller has moved";
    12 OffsetMetadataTooLarge "OFFSET_METADATA_TOO_LARGE" Fatal "the metadata committed with the offset is too large";
    13 NetworkException "NETWORK_EXCEPTION" Metadata "the connection was closed before the response arrived";
    14 CoordinatorLoadInProgress "COORDINATOR_LOAD_IN_PROGRESS" Retriable "the coordinator is still loading its state";
    15 CoordinatorNotAvailable "COORDINATOR_NOT_AVAILABLE" Retriable "no coordinator is available yet";
    16 NotCoordinator "NOT_COORDINATOR" Retriable "the broker is no longer the coordinator";
    17 InvalidTopicException "INVALID_TOPIC_EXCEPTION" Fatal "the topic's name is invalid (letters, digits, '.', '_' and '-', at most 249), or the topic may not be written to";
    18 RecordListTooLarge "RECORD_LIST_TOO_LARGE" Fatal "the batch is larger than a log segment";
    19 NotEnoughReplicas "NOT_ENOUGH_REPLICAS" Retriable "fewer replicas are in sync than min.insync.replicas; nothing was written: bring the brokers of the missing replicas back, or lower min.insync.replicas";
    20 NotEnoughReplicasAfterAppend "NOT_ENOUGH_REPLICAS_AFTER_APPEND" Retriable "written, but to fewer replicas than min.insync.replicas: bring the brokers of the missing replicas back, or lower min.insync.replicas";
    21 InvalidRequiredAcks "INVALID_REQUIRED_ACKS" Fatal "acks has an invalid value";
    22 IllegalGeneration "ILLEGAL_GENERATION" Fatal "the group has moved on to another generation";
    23 InconsistentGroupProtocol "INCONSISTENT_GROUP_PROTOCOL" Fatal "the group's members have no assignor in common, or the group is of another type";
    24 InvalidGroupId "INVALID_GROUP_ID" Fatal "the group id is invalid";
    25 UnknownMemberId "UNKNOWN_MEMBER_ID" Fatal "the coordinator does not know this member";
    26 InvalidSessionTimeout "INVALID_SESSION_TIMEOUT" Fatal "the session timeout is outside the broker's bounds";
    27 RebalanceInProgress "REBALANCE_IN_PROGRESS" Fatal "the group is rebalancing";
    28 InvalidCommitOffsetSize "INVALID_COMMIT_OFFSET_SIZE" Fatal "the offsets to commit are too large";
    29 TopicAuthorizationFailed "TOPIC_AUTHORIZATION_FAILED" Fatal "the principal is not authorized for this topic: grant it with kafka-acls (Read, Write or Describe)";
    30 GroupAuthorizationFailed "GROUP_AUTHORIZATION_FAILED" Fatal "the principal is not authorized for this group: grant it with kafka-acls (Read on the group)";
    31 ClusterAuthorizationFailed "CLUSTER_AUTHORIZATION_FAILED" Fatal "the principal is not authorized to do this on the cluster: grant it with kafka-acls (on the cluster)";
    32 InvalidTimestamp "INVALID_TIMESTAMP" Fatal "the record's timestamp is outside the topic's bounds";
    33 UnsupportedSaslMechanism "UNSUPPORTED_SASL_MECHANISM" Fatal "the broker does not offer this SASL mechanism";
    34 IllegalSaslState "ILLEGAL_SASL_STATE" Fatal "the request is not allowed at this point of the SASL exchange";
    35 UnsupportedVersion "UNSUPPORTED_VERSION" Fatal "the broker does not support this version of the API";
    36 TopicAlreadyExists "TOPIC_ALREADY_EXISTS" Fatal "a topic with this name already exists";
    37 InvalidPartitions "INVALID_PARTITIONS" Fatal "the number of partitions is invalid";
    38 InvalidReplicationFactor "INVALID_REPLICATION_FACTOR" Fatal "the replication factor is below one or above the number of brokers";
    39 InvalidReplicaAssignment "INVALID_REPLICA_ASSIGNMENT" Fatal "the replica assignment is invalid";
    40 InvalidConfig "INVALID_CONFIG" Fatal "the configuration is invalid";
    41 NotController "NOT_CONTROLLER" Retriable "the broker is no longer the controller";
    42 InvalidRequest "INVALID_REQUEST" Fatal "the broker finds the request malformed or inconsistent";
    43 UnsupportedForMessageFormat "UNSUPPORTED_FOR_MESSAGE_FORMAT" Fatal "the topic's message format does not support this";
    44 PolicyViolation "POLICY_VIOLATION" Fatal "a policy of the cluster forbids this";
    45 OutOfOrderSequenceNumber "OUT_OF_ORDER_SEQUENCE_NUMBER" Fatal "the sequence number does not follow the last one";
    46 DuplicateSequenceNumber "DUPLICATE_SEQUENCE_NUMBER" Fatal "the batch was already written";
    47 InvalidProducerEpoch "INVALID_PRODUCER_EPOCH" Fatal "the producer's epoch is old";
    48 InvalidTxnState "INVALID_TXN_STATE" Fatal "the transaction is not in a state that allows this";
    49 InvalidProducerIdMapping "INVALID_PRODUCER_ID_MAPPING" Fatal "the producer id does not belong to this transactional id";
    50 InvalidTransactionTimeout "INVALID_TRANSACTION_TIMEOUT" Fatal "the transaction timeout is above the broker's maximum";
    51 ConcurrentTransactions "CONCURRENT_TRANSACTIONS" Retriable "an earlier transaction of this producer is still being completed";
    52 TransactionCoordinatorFenced "TRANSACTION_COORDINATOR_FENCED" Fatal "the transaction coordinator has been replaced";
    53 TransactionalIdAuthorizationFailed "TRANSACTIONAL_ID_AUTHORIZATION_FAILED" Fatal "not allowed to use this transactional id";
    54 SecurityDisabled "SECURITY_DISABLED" Fatal "the cluster has no authorizer";
    55 OperationNotAttempted "OPERATION_NOT_ATTEMPTED" Fatal "not attempted because another part of the request failed";
    56 KafkaStorageError "KAFKA_STORAGE_ERROR" Metadata "a log directory of the broker is offline: its disk failed, is full or is read-only; the broker's log names it";
    57 LogDirNotFound "LOG_DIR_NOT_FOUND" Fatal "the broker has no such log directory";
    58 SaslAuthenticationFailed "SASL_AUTHENTICATION_FAILED" Fatal "the credentials were refused";
    59 UnknownProducerId "UNKNOWN_PRODUCER_ID" Fatal "the broker has no state for this producer id";
    60 ReassignmentInProgress "REASSIGNMENT_IN_PROGRESS" Fatal "the partition is being reassigned";
    61 DelegationTokenAuthDisabled "DELEGATION_TOKEN_AUTH_DISABLED" Fatal "delegation tokens are not enabled";
    62 DelegationTokenNotFound "DELEGATION_TOKEN_NOT_FOUND" Fatal "no such delegation token";
    63 DelegationTokenOwnerMismatch "DELEGATION_TOKEN_OWNER_MISMATCH" Fatal "not an owner or renewer of the token";
    64 DelegationTokenRequestNotAllowed "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED" Fatal "token requests are not allowed on this kind of connection";
    65 DelegationTokenAuthorizationFailed "DELEGATION_TOKEN_AUTHORIZATION_FAILED" Fatal "not allowed to use this token";
    66 DelegationTokenExpired "DELEGATION_TOKEN_EXPIRED" Fatal "the token has expired";
    67 InvalidPrincipalType "INVALID_PRINCIPAL_TYPE" Fatal "the type of principal is not supported";
    68 NonEmptyGroup "NON_EMPTY_GROUP" Fatal "the group has members";
    69 GroupIdNotFound "GROUP_ID_NOT_FOUND" Fatal "no such group";
    70 FetchSessionIdNotFound "FETCH_SESSION_ID_NOT_FOUND" Retriable "the broker does not know the fetch session";
    71 InvalidFetchSessionEpoch "INVALID_FETCH_SESSION_EPOCH" Retriable "the fetch session's epoch is not the expected one";
    72 ListenerNotFound "LISTENER_NOT_FOUND" Metadata "the leader has no listener with the name that this connection uses";
    73 TopicDeletionDisabled "TOPIC_DELETION_DISABLED" Fatal "deleting topics is not enabled";
    74 FencedLeaderEpoch "FENCED_LEADER_EPOCH" Metadata "the client's leader epoch is older than the broker's";
    75 UnknownLeaderEpoch "UNKNOWN_LEADER_EPOCH" Retriable "the client's leader epoch is newer than the broker's";
    76 UnsupportedCompressionType "UNSUPPORTED_COMPRESSION_TYPE" Fatal "the compression is not supported here";
    77 StaleBrokerEpoch "STALE_BROKER_EPOCH" Fatal "the broker's epoch is old";
    78 OffsetNotAvailable "OFFSET_NOT_AVAILABLE" Retriable "the new leader does not know its high watermark yet";
    79 MemberIdRequired "MEMBER_ID_REQUIRED" Fatal "join again with the member id in the response";
    80 PreferredLeaderNotAvailable "PREFERRED_LEADER_NOT_AVAILABLE" Metadata "the preferred leader is not available";
    81 GroupMaxSizeReached "GROUP_MAX_SIZE_REACHED" Fatal "the group is full";
    82 FencedInstanceId "FENCED_INSTANCE_ID" Fatal "another member uses the same group.instance.id";
    83 EligibleLeadersNotAvailable "ELIGIBLE_LEADERS_NOT_AVAILABLE" Metadata "no eligible replica is available";
    84 ElectionNotNeeded "ELECTION_NOT_NEEDED" Metadata "the leader is already the requested one";
    85 NoReassignmentInProgress "NO_REASSIGNMENT_IN_PROGRESS" Fatal "no reassignment is in progress";
    86 GroupSubscribedToTopic "GROUP_SUBSCRIBED_TO_TOPIC" Fatal "the group consumes the topic, so its offsets cannot be deleted";
    87 InvalidRecord "INVALID_RECORD" Fatal "the broker's validation refused the record";
    88 UnstableOffsetCommit "UNSTABLE_OFFSET_COMMIT" Retriable "an open transaction holds offsets of the group";
    89 ThrottlingQuotaExceeded "THROTTLING_QUOTA_EXCEEDED" Retriable "the quota for such changes is exhausted for now";
    90 ProducerFenced "PRODUCER_FENCED" Fatal "a newer producer uses the same transactional id";
    91 ResourceNotFound "RESOURCE_NOT_FOUND" Fatal "no such resource";
    92 DuplicateResource "DUPLICATE_RESOURCE" Fatal "the request names a resource twice";
    93 UnacceptableCredential "UNACCEPTABLE_CREDENTIAL" Fatal "the credential does not meet the requirements";
    94 InconsistentVoterSet "INCONSISTENT_VOTER_SET" Fatal "the voters disagree about the voter set";
    95 InvalidUpdateVersion "INVALID_UPDATE_VERSION" Fatal "the version to update to is invalid";
    96 FeatureUpdateFailed "FEATURE_UPDATE_FAILED" Fatal "the feature could not be updated";
    97 PrincipalDeserializationFailure "PRINCIPAL_DESERIALIZATION_FAILURE" Fatal "the forwarded principal could not be read";
    98 SnapshotNotFound "SNAPSHOT_NOT_FOUND" Fatal "no such snapshot";
    99 PositionOutOfRange "POSITION_OUT_OF_RANGE" Fatal "the position is outside the snapshot";
    100 UnknownTopicId "UNKNOWN_TOPIC_ID" Metadata "the broker does not host a topic with this id";
    101 DuplicateBrokerRegistration "DUPLICATE_BROKER_REGISTRATION" Fatal "the broker id is already in use";
    102 BrokerIdNotRegistered "BROKER_ID_NOT_REGISTERED" Fatal "the broker id is not registered";
    103 InconsistentTopicId "INCONSISTENT_TOPIC_ID" Metadata "the log belongs to a topic with another id";
    104 InconsistentClusterId "INCONSISTENT_CLUSTER_ID" Fatal "the request is for another cluster";
    105 TransactionalIdNotFound "TRANSACTIONAL_ID_NOT_FOUND" Fatal "no such transactional id";
    106 FetchSessionTopicIdError "FETCH_SESSION_TOPIC_ID_ERROR" Retriable "the fetch session mixes topic names and ids";
    107 IneligibleReplica "INELIGIBLE_REPLICA" Fatal "the replica is not eligible to be in sync";
    108 NewLeaderElected "NEW_LEADER_ELECTED" Fatal "the change also elected another leader";
    109 OffsetMovedToTieredStorage "OFFSET_MOVED_TO_TIERED_STORAGE" Fatal "the offset has moved to tiered storage";
    110 FencedMemberEpoch "FENCED_MEMBER_EPOCH" Fatal "the coordinator has fenced this member's epoch";
    111 UnreleasedInstanceId "UNRELEASED_INSTANCE_ID" Fatal "another member still holds this group.instance.id";
    112 UnsupportedAssignor "UNSUPPORTED_ASSIGNOR" Fatal "the group does not support this assignor";
    113 StaleMemberEpoch "STALE_MEMBER_EPOCH" Fatal "the member's epoch is old";
    114 MismatchedEndpointType "MISMATCHED_ENDPOINT_TYPE" Fatal "the request was sent to the wrong type of endpoint";
    115 UnsupportedEndpointType "UNSUPPORTED_ENDPOINT_TYPE" Fatal "the type of endpoint is not supported";
    116 UnknownControllerId "UNKNOWN_CONTROLLER_ID" Fatal "no controller with this id";
    117 UnknownSubscriptionId "UNKNOWN_SUBSCRIPTION_ID" Fatal "the telemetry subscription is unknown or outdated";
    118 TelemetryTooLarge "TELEMETRY_TOO_LARGE" Fatal "the telemetry is larger than the broker accepts";
    119 InvalidRegistration "INVALID_REGISTRATION" Fatal "the registration is invalid";
    120 TransactionAbortable "TRANSACTION_ABORTABLE" Fatal "the transaction failed and can be aborted";
    121 InvalidRecordState "INVALID_RECORD_STATE" Fatal "the record is not in a state that can be acknowledged";
    122 ShareSessionNotFound "SHARE_SESSION_NOT_FOUND" Retriable "the broker does not know the share session";
    123 InvalidShareSessionEpoch "INVALID_SHARE_SESSION_EPOCH" Retriable "the share session's epoch is not the expected one";
    124 FencedStateEpoch "FENCED_STATE_EPOCH" Fatal "the state's epoch is not the expected one";
    125 InvalidVoterKey "INVALID_VOTER_KEY" Fatal "the voter's key is not that of the replica";
    126 DuplicateVoter "DUPLICATE_VOTER" Fatal "the voter already exists";
    127 VoterNotFound "VOTER_NOT_FOUND" Fatal "no such voter";
    128 InvalidRegularExpression "INVALID_REGULAR_EXPRESSION" Fatal "the regular expression is invalid";
    129 RebootstrapRequired "REBOOTSTRAP_REQUIRED" Fatal "the client must bootstrap again";
    130 StreamsInvalidTopology "STREAMS_INVALID_TOPOLOGY" Fatal "the topology is invalid";
    131 StreamsInvalidTopologyEpoch "STREAMS_INVALID_TOPOLOGY_EPOCH" Fatal "the topology's epoch is invalid";
    132 StreamsTopologyFenced "STREAMS_TOPOLOGY_FENCED" Fatal "the topology's epoch is old";
    133 ShareSessionLimitReached "SHARE_SESSION_LIMIT_REACHED" Retriable "the broker has reached its limit of share sessions";
    134 GroupDeletionFailed "GROUP_DELETION_FAILED" Fatal "the group could not be deleted";
    135 StreamsTopologyDescriptionUpdateFailed "STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED" Fatal "the topology's description could not be stored";
    136 ControllerIdNotRegistered "CONTROLLER_ID_NOT_REGISTERED" Fatal "the controller id is not registered";
}

impl ErrorCode {
    /// Returns `Ok` for [`ErrorCode::None`].
    pub fn ok(self) -> Result<(), Self> {
        if self == Self::None { Ok(()) } else { Err(self) }
    }

    /// Whether the same request may succeed later.
    #[must_use]
    pub fn is_retriable(self) -> bool {
        self.class() != Class::Fatal
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.name(), self.code(), self.meaning())
    }
}

//! [`ApiKey`]: the APIs with their keys, versions and header versions, one row each.
//!
//! [`ApiKey::client_max`] holds the version limits that are not in Kafka's schemas.

use crate::messages::{self, Message};
use crate::wire::WireError;

/// A request of an API.
pub trait Request: Message {
    /// The request's API.
    const API: ApiKey;
    /// The response to the request.
    type Response: Message;
}

macro_rules! apis {
    ($($key:literal $name:ident: $module:ident::{$request:ident, $response:ident};)*) => {
        /// An API of Kafka's protocol that brokers serve to clients.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(i16)]
        pub enum ApiKey {
            $(#[doc = concat!("See [`messages::", stringify!($module), "`].")] $name = $key,)*
        }

        impl ApiKey {
            /// All APIs, by key.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Kafka's name of the API.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }

            /// The lowest and the highest version that this crate supports.
            #[must_use]
            pub fn versions(self) -> (i16, i16) {
                match self {
                    $(Self::$name => (messages::$module::$request::MIN_VERSION, messages::$module::$request::MAX_VERSION),)*
                }
            }

            fn is_flexible(self, version: i16) -> bool {
                match self { $(Self::$name => (messages::$module::$request::FLEXIBLE)(version),)* }
            }

            /// The layout of the response, and whether a version of it is flexible.
            #[cfg(feature = "layout")]
            pub(crate) fn response_layout(self, version: i16) -> (crate::layout::Kind, bool) {
                use crate::layout::HasLayout;
                match self {
                    $(Self::$name => (
                        messages::$module::$response::KIND,
                        (messages::$module::$response::FLEXIBLE)(version),
                    ),)*
                }
            }
        }

        impl TryFrom<i16> for ApiKey {
            type Error = WireError;

            fn try_from(key: i16) -> Result<Self, WireError> {
                match key {
                    $($key => Ok(Self::$name),)*
                    unknown => Err(WireError::ApiKey(unknown)),
                }
            }
        }

        $(impl Request for messages::$module::$request {
            const API: ApiKey = ApiKey::$name;
            type Response = messages::$module::$response;
        })*

        /// Calls a macro for each message: the requests and responses of all APIs.
        #[cfg(feature = "schema")]
        #[macro_export]
        #[doc(hidden)]
        macro_rules! for_each_message {
            ($callback:ident) => {
                $($callback!($crate::messages::$module::$request); $callback!($crate::messages::$module::$response);)*
            };
        }
    };
}

apis! {
    0 Produce: produce::{ProduceRequest, ProduceResponse};
    1 Fetch: fetch::{FetchRequest, FetchResponse};
    2 ListOffsets: list_offsets::{ListOffsetsRequest, ListOffsetsResponse};
    3 Metadata: metadata::{MetadataRequest, MetadataResponse};
    8 OffsetCommit: offset_commit::{OffsetCommitRequest, OffsetCommitResponse};
    9 OffsetFetch: offset_fetch::{OffsetFetchRequest, OffsetFetchResponse};
    10 FindCoordinator: find_coordinator::{FindCoordinatorRequest, FindCoordinatorResponse};
    11 JoinGroup: join_group::{JoinGroupRequest, JoinGroupResponse};
    12 Heartbeat: heartbeat::{HeartbeatRequest, HeartbeatResponse};
    13 LeaveGroup: leave_group::{LeaveGroupRequest, LeaveGroupResponse};
    14 SyncGroup: sync_group::{SyncGroupRequest, SyncGroupResponse};
    15 DescribeGroups: describe_groups::{DescribeGroupsRequest, DescribeGroupsResponse};
    16 ListGroups: list_groups::{ListGroupsRequest, ListGroupsResponse};
    17 SaslHandshake: sasl_handshake::{SaslHandshakeRequest, SaslHandshakeResponse};
    18 ApiVersions: api_versions::{ApiVersionsRequest, ApiVersionsResponse};
    19 CreateTopics: create_topics::{CreateTopicsRequest, CreateTopicsResponse};
    20 DeleteTopics: delete_topics::{DeleteTopicsRequest, DeleteTopicsResponse};
    21 DeleteRecords: delete_records::{DeleteRecordsRequest, DeleteRecordsResponse};
    22 InitProducerId: init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};
    23 OffsetForLeaderEpoch: offset_for_leader_epoch::{OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse};
    24 AddPartitionsToTxn: add_partitions_to_txn::{AddPartitionsToTxnRequest, AddPartitionsToTxnResponse};
    25 AddOffsetsToTxn: add_offsets_to_txn::{AddOffsetsToTxnRequest, AddOffsetsToTxnResponse};
    26 EndTxn: end_txn::{EndTxnRequest, EndTxnResponse};
    27 WriteTxnMarkers: write_txn_markers::{WriteTxnMarkersRequest, WriteTxnMarkersResponse};
    28 TxnOffsetCommit: txn_offset_commit::{TxnOffsetCommitRequest, TxnOffsetCommitResponse};
    29 DescribeAcls: describe_acls::{DescribeAclsRequest, DescribeAclsResponse};
    30 CreateAcls: create_acls::{CreateAclsRequest, CreateAclsResponse};
    31 DeleteAcls: delete_acls::{DeleteAclsRequest, DeleteAclsResponse};
    32 DescribeConfigs: describe_configs::{DescribeConfigsRequest, DescribeConfigsResponse};
    33 AlterConfigs: alter_configs::{AlterConfigsRequest, AlterConfigsResponse};
    34 AlterReplicaLogDirs: alter_replica_log_dirs::{AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse};
    35 DescribeLogDirs: describe_log_dirs::{DescribeLogDirsRequest, DescribeLogDirsResponse};
    36 SaslAuthenticate: sasl_authenticate::{SaslAuthenticateRequest, SaslAuthenticateResponse};
    37 CreatePartitions: create_partitions::{CreatePartitionsRequest, CreatePartitionsResponse};
    38 CreateDelegationToken: create_delegation_token::{CreateDelegationTokenRequest, CreateDelegationTokenResponse};
    39 RenewDelegationToken: renew_delegation_token::{RenewDelegationTokenRequest, RenewDelegationTokenResponse};
    40 ExpireDelegationToken: expire_delegation_token::{ExpireDelegationTokenRequest, ExpireDelegationTokenResponse};
    41 DescribeDelegationToken: describe_delegation_token::{DescribeDelegationTokenRequest, DescribeDelegationTokenResponse};
    42 DeleteGroups: delete_groups::{DeleteGroupsRequest, DeleteGroupsResponse};
    43 ElectLeaders: elect_leaders::{ElectLeadersRequest, ElectLeadersResponse};
    44 IncrementalAlterConfigs: incremental_alter_configs::{IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse};
    45 AlterPartitionReassignments: alter_partition_reassignments::{AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse};
    46 ListPartitionReassignments: list_partition_reassignments::{ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse};
    47 OffsetDelete: offset_delete::{OffsetDeleteRequest, OffsetDeleteResponse};
    48 DescribeClientQuotas: describe_client_quotas::{DescribeClientQuotasRequest, DescribeClientQuotasResponse};
    49 AlterClientQuotas: alter_client_quotas::{AlterClientQuotasRequest, AlterClientQuotasResponse};
    50 DescribeUserScramCredentials: describe_user_scram_credentials::{DescribeUserScramCredentialsRequest, DescribeUserScramCredentialsResponse};
    51 AlterUserScramCredentials: alter_user_scram_credentials::{AlterUserScramCredentialsRequest, AlterUserScramCredentialsResponse};
    55 DescribeQuorum: describe_quorum::{DescribeQuorumRequest, DescribeQuorumResponse};
    57 UpdateFeatures: update_features::{UpdateFeaturesRequest, UpdateFeaturesResponse};
    60 DescribeCluster: describe_cluster::{DescribeClusterRequest, DescribeClusterResponse};
    61 DescribeProducers: describe_producers::{DescribeProducersRequest, DescribeProducersResponse};
    64 UnregisterBroker: unregister_broker::{UnregisterBrokerRequest, UnregisterBrokerResponse};
    65 DescribeTransactions: describe_transactions::{DescribeTransactionsRequest, DescribeTransactionsResponse};
    66 ListTransactions: list_transactions::{ListTransactionsRequest, ListTransactionsResponse};
    68 ConsumerGroupHeartbeat: consumer_group_heartbeat::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse};
    69 ConsumerGroupDescribe: consumer_group_describe::{ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse};
    71 GetTelemetrySubscriptions: get_telemetry_subscriptions::{GetTelemetrySubscriptionsRequest, GetTelemetrySubscriptionsResponse};
    72 PushTelemetry: push_telemetry::{PushTelemetryRequest, PushTelemetryResponse};
    74 ListConfigResources: list_config_resources::{ListConfigResourcesRequest, ListConfigResourcesResponse};
    75 DescribeTopicPartitions: describe_topic_partitions::{DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse};
    76 ShareGroupHeartbeat: share_group_heartbeat::{ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse};
    77 ShareGroupDescribe: share_group_describe::{ShareGroupDescribeRequest, ShareGroupDescribeResponse};
    78 ShareFetch: share_fetch::{ShareFetchRequest, ShareFetchResponse};
    79 ShareAcknowledge: share_acknowledge::{ShareAcknowledgeRequest, ShareAcknowledgeResponse};
    80 AddRaftVoter: add_raft_voter::{AddRaftVoterRequest, AddRaftVoterResponse};
    81 RemoveRaftVoter: remove_raft_voter::{RemoveRaftVoterRequest, RemoveRaftVoterResponse};
    83 InitializeShareGroupState: initialize_share_group_state::{InitializeShareGroupStateRequest, InitializeShareGroupStateResponse};
    84 ReadShareGroupState: read_share_group_state::{ReadShareGroupStateRequest, ReadShareGroupStateResponse};
    85 WriteShareGroupState: write_share_group_state::{WriteShareGroupStateRequest, WriteShareGroupStateResponse};
    86 DeleteShareGroupState: delete_share_group_state::{DeleteShareGroupStateRequest, DeleteShareGroupStateResponse};
    87 ReadShareGroupStateSummary: read_share_group_state_summary::{ReadShareGroupStateSummaryRequest, ReadShareGroupStateSummaryResponse};
    88 StreamsGroupHeartbeat: streams_group_heartbeat::{StreamsGroupHeartbeatRequest, StreamsGroupHeartbeatResponse};
    89 StreamsGroupDescribe: streams_group_describe::{StreamsGroupDescribeRequest, StreamsGroupDescribeResponse};
    90 DescribeShareGroupOffsets: describe_share_group_offsets::{DescribeShareGroupOffsetsRequest, DescribeShareGroupOffsetsResponse};
    91 AlterShareGroupOffsets: alter_share_group_offsets::{AlterShareGroupOffsetsRequest, AlterShareGroupOffsetsResponse};
    92 DeleteShareGroupOffsets: delete_share_group_offsets::{DeleteShareGroupOffsetsRequest, DeleteShareGroupOffsetsResponse};
    93 StreamsGroupTopologyDescriptionUpdate: streams_group_topology_description_update::{StreamsGroupTopologyDescriptionUpdateRequest, StreamsGroupTopologyDescriptionUpdateResponse};
    94 UnregisterController: unregister_controller::{UnregisterControllerRequest, UnregisterControllerResponse};
}

impl ApiKey {
    /// The version of the request header: 2 from the first flexible version on, else 1.
    #[must_use]
    pub fn request_header_version(self, version: i16) -> i16 {
        if self.is_flexible(version) { 2 } else { 1 }
    }

    /// The version of the response header: 1 from the first flexible version on, else 0. Always 0 for
    /// ApiVersions, whose response must be readable before versions are negotiated.
    #[must_use]
    pub fn response_header_version(self, version: i16) -> i16 {
        i16::from(self != Self::ApiVersions && self.is_flexible(version))
    }

    /// The highest version that a client may use by default.
    ///
    /// - InitProducerId 6 is not stable (KIP-939).
    /// - AddPartitionsToTxn 4 and later are for brokers (KIP-890).
    /// - TxnOffsetCommit 5, EndTxn 5 and Produce 12 belong to version 2 of the transaction protocol; the
    ///   caller must check that the cluster has finalized it (KIP-890).
    /// - Fetch 13 and later require the ids of all topics; the caller must check that it has them.
    #[must_use]
    pub fn client_max(self) -> i16 {
        match self {
            Self::InitProducerId => 5,
            Self::AddPartitionsToTxn => 3,
            _ => self.versions().1,
        }
    }

    /// The version to use with a broker that supports `min`–`max`, or `None` if they have none in common.
    #[must_use]
    pub fn negotiate(self, min: i16, max: i16) -> Option<i16> {
        let version = self.client_max().min(max);
        (version >= self.versions().0.max(min)).then_some(version)
    }
}

//! The APIs that the mock supports: one file each, a function from a request and the state to a response.
//! To add an API, add a file here and a row to `supported_apis!`.
//!
//! A handler that must wait (Fetch, ShareFetch, JoinGroup, SyncGroup) returns a deadline and is called again.

mod add_offsets_to_txn;
mod add_partitions_to_txn;
mod alter_client_quotas;
mod alter_configs;
mod alter_partition_reassignments;
mod alter_replica_log_dirs;
mod alter_share_group_offsets;
mod alter_user_scram_credentials;
pub(crate) mod api_versions;
mod config_resources;
mod consumer_group_describe;
mod consumer_group_heartbeat;
mod context;
mod corrupt;
mod create_acls;
mod create_delegation_token;
mod create_partitions;
mod create_topics;
mod delete_acls;
mod delete_groups;
mod delete_records;
mod delete_share_group_offsets;
mod delete_topics;
mod describe_acls;
mod describe_client_quotas;
mod describe_cluster;
mod describe_configs;
mod describe_delegation_token;
mod describe_groups;
mod describe_log_dirs;
mod describe_producers;
mod describe_quorum;
mod describe_share_group_offsets;
mod describe_transactions;
mod describe_user_scram_credentials;
mod elect_leaders;
mod end_txn;
mod expire_delegation_token;
mod fetch;
mod find_coordinator;
mod get_telemetry_subscriptions;
mod heartbeat;
mod incremental_alter_configs;
mod init_producer_id;
mod join_group;
mod leave_group;
mod list_config_resources;
mod list_groups;
mod list_offsets;
mod list_partition_reassignments;
mod list_transactions;
mod metadata;
mod node_endpoints;
mod offset_commit;
mod offset_delete;
mod offset_fetch;
mod offset_for_leader_epoch;
mod produce;
mod push_telemetry;
mod renew_delegation_token;
mod sasl_authenticate;
mod sasl_handshake;
mod share_acknowledge;
mod share_acknowledgements;
mod share_fetch;
mod share_group_describe;
mod share_group_heartbeat;
mod sync_group;
mod txn_offset_commit;
mod unregister_broker;
mod update_features;
mod write_txn_markers;

use ottla_protocol::{ApiKey, ErrorCode, Request};
use tokio::sync::oneshot::Receiver;
use tokio::time::Instant;

pub(crate) use self::context::RequestContext;
use self::fetch::FetchContext;
use self::share_fetch::ShareFetchContext;
use crate::config::{ApiLimit, MockConfig};
use crate::fault::FaultTarget;
use crate::group::classic::{JoinGroupResult, SyncGroupResult};
use crate::log::{AppendError, ValidatedBatch};
use crate::state::ClusterState;

/// Kafka's text for a request that it cannot read, without more detail.
const MALFORMED: &str = "This most likely occurs because of a request being malformed by the client library or the \
                         message was sent to an incompatible broker. See the broker logs for more details.";
/// The result of a handler.
#[derive(Debug)]
pub(crate) enum HandlerResult<R> {
    /// Send this response.
    Response(R),
    /// Send no response, as for `acks=0`.
    NoResponse,
    /// Close the connection.
    Close,
    /// Call the handler again once the state has changed, or at this time.
    WaitUntil(Instant),
}

/// What a waiting request keeps between the calls of its handler.
#[derive(Debug, Default)]
pub(crate) enum Pending {
    #[default]
    Nothing,
    Fetch(Box<FetchContext>),
    ShareFetch(Box<ShareFetchContext>),
    Join(Receiver<JoinGroupResult>),
    Sync(Receiver<SyncGroupResult>),
}

/// The error code and the time of a response about a token's expiry. As in Kafka, the time is -1 only for a connection
/// that may not request tokens.
fn token_expiry(outcome: Result<i64, ErrorCode>) -> (i16, i64) {
    match outcome {
        Ok(expires) => (0, expires),
        Err(code) if code == ErrorCode::DelegationTokenRequestNotAllowed => (code.code(), -1),
        Err(code) => (code.code(), 0),
    }
}

/// PRODUCER_FENCED, under the name that versions before `first` of an API know.
fn fenced_code(code: ErrorCode, version: i16, first: i16) -> ErrorCode {
    match code {
        ErrorCode::ProducerFenced if version < first => ErrorCode::InvalidProducerEpoch,
        code => code,
    }
}

/// A request that the mock handles.
pub(crate) trait RequestHandler: Request + Sync {
    /// The topics and partitions of the request, matched against faults.
    fn targets(&self, _version: i16, _state: &ClusterState) -> Vec<FaultTarget> {
        Vec::new()
    }

    /// Validates the request's records, one result per partition; runs before the state is locked.
    fn validate_records(&self, _version: i16) -> Vec<Result<ValidatedBatch, AppendError>> {
        Vec::new()
    }

    /// Handles the request. Called again after [`HandlerResult::WaitUntil`].
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<Self::Response>;

    /// The response's `throttle_time_ms`, if it has one.
    fn throttle_time(_response: &mut Self::Response) -> Option<&mut i32> {
        None
    }
}

macro_rules! supported_apis {
    ($($api:ident: $module:ident::$request:ident;)*) => {
        /// Every API that the mock supports.
        const SUPPORTED_APIS: &[ApiKey] = &[$(ApiKey::$api,)*];

        /// Calls a generic function for the request type of an API; `None` if unsupported.
        macro_rules! with_request_type {
            ($key:expr, $run:ident, $args:expr) => {
                match $key {
                    $(ottla_protocol::ApiKey::$api =>
                        Some($run::<ottla_protocol::messages::$module::$request>($args)),)*
                    _ => None,
                }
            };
        }
        pub(crate) use with_request_type;
    };
}

supported_apis! {
    Produce: produce::ProduceRequest;
    Fetch: fetch::FetchRequest;
    ListOffsets: list_offsets::ListOffsetsRequest;
    Metadata: metadata::MetadataRequest;
    OffsetCommit: offset_commit::OffsetCommitRequest;
    OffsetFetch: offset_fetch::OffsetFetchRequest;
    FindCoordinator: find_coordinator::FindCoordinatorRequest;
    JoinGroup: join_group::JoinGroupRequest;
    Heartbeat: heartbeat::HeartbeatRequest;
    LeaveGroup: leave_group::LeaveGroupRequest;
    SyncGroup: sync_group::SyncGroupRequest;
    DescribeGroups: describe_groups::DescribeGroupsRequest;
    ListGroups: list_groups::ListGroupsRequest;
    ApiVersions: api_versions::ApiVersionsRequest;
    CreateTopics: create_topics::CreateTopicsRequest;
    DeleteTopics: delete_topics::DeleteTopicsRequest;
    DeleteRecords: delete_records::DeleteRecordsRequest;
    InitProducerId: init_producer_id::InitProducerIdRequest;
    AddPartitionsToTxn: add_partitions_to_txn::AddPartitionsToTxnRequest;
    AddOffsetsToTxn: add_offsets_to_txn::AddOffsetsToTxnRequest;
    EndTxn: end_txn::EndTxnRequest;
    TxnOffsetCommit: txn_offset_commit::TxnOffsetCommitRequest;
    WriteTxnMarkers: write_txn_markers::WriteTxnMarkersRequest;
    DescribeProducers: describe_producers::DescribeProducersRequest;
    DescribeTransactions: describe_transactions::DescribeTransactionsRequest;
    ListTransactions: list_transactions::ListTransactionsRequest;
    OffsetForLeaderEpoch: offset_for_leader_epoch::OffsetForLeaderEpochRequest;
    DescribeAcls: describe_acls::DescribeAclsRequest;
    CreateAcls: create_acls::CreateAclsRequest;
    DeleteAcls: delete_acls::DeleteAclsRequest;
    DescribeConfigs: describe_configs::DescribeConfigsRequest;
    AlterConfigs: alter_configs::AlterConfigsRequest;
    IncrementalAlterConfigs: incremental_alter_configs::IncrementalAlterConfigsRequest;
    ListConfigResources: list_config_resources::ListConfigResourcesRequest;
    CreatePartitions: create_partitions::CreatePartitionsRequest;
    SaslHandshake: sasl_handshake::SaslHandshakeRequest;
    SaslAuthenticate: sasl_authenticate::SaslAuthenticateRequest;
    DeleteGroups: delete_groups::DeleteGroupsRequest;
    OffsetDelete: offset_delete::OffsetDeleteRequest;
    AlterReplicaLogDirs: alter_replica_log_dirs::AlterReplicaLogDirsRequest;
    DescribeLogDirs: describe_log_dirs::DescribeLogDirsRequest;
    DescribeClientQuotas: describe_client_quotas::DescribeClientQuotasRequest;
    AlterClientQuotas: alter_client_quotas::AlterClientQuotasRequest;
    DescribeUserScramCredentials: describe_user_scram_credentials::DescribeUserScramCredentialsRequest;
    AlterUserScramCredentials: alter_user_scram_credentials::AlterUserScramCredentialsRequest;
    CreateDelegationToken: create_delegation_token::CreateDelegationTokenRequest;
    RenewDelegationToken: renew_delegation_token::RenewDelegationTokenRequest;
    ExpireDelegationToken: expire_delegation_token::ExpireDelegationTokenRequest;
    DescribeDelegationToken: describe_delegation_token::DescribeDelegationTokenRequest;
    ElectLeaders: elect_leaders::ElectLeadersRequest;
    AlterPartitionReassignments: alter_partition_reassignments::AlterPartitionReassignmentsRequest;
    ListPartitionReassignments: list_partition_reassignments::ListPartitionReassignmentsRequest;
    UpdateFeatures: update_features::UpdateFeaturesRequest;
    UnregisterBroker: unregister_broker::UnregisterBrokerRequest;
    DescribeQuorum: describe_quorum::DescribeQuorumRequest;
    DescribeCluster: describe_cluster::DescribeClusterRequest;
    ConsumerGroupHeartbeat: consumer_group_heartbeat::ConsumerGroupHeartbeatRequest;
    ConsumerGroupDescribe: consumer_group_describe::ConsumerGroupDescribeRequest;
    ShareGroupHeartbeat: share_group_heartbeat::ShareGroupHeartbeatRequest;
    ShareGroupDescribe: share_group_describe::ShareGroupDescribeRequest;
    ShareFetch: share_fetch::ShareFetchRequest;
    ShareAcknowledge: share_acknowledge::ShareAcknowledgeRequest;
    DescribeShareGroupOffsets: describe_share_group_offsets::DescribeShareGroupOffsetsRequest;
    AlterShareGroupOffsets: alter_share_group_offsets::AlterShareGroupOffsetsRequest;
    DeleteShareGroupOffsets: delete_share_group_offsets::DeleteShareGroupOffsetsRequest;
    GetTelemetrySubscriptions: get_telemetry_subscriptions::GetTelemetrySubscriptionsRequest;
    PushTelemetry: push_telemetry::PushTelemetryRequest;
}

/// The versions of an API that a cluster supports; `None` if it does not support the API.
pub(crate) fn supported_versions(config: &MockConfig, api: ApiKey) -> Option<(i16, i16)> {
    let is_telemetry = matches!(api, ApiKey::GetTelemetrySubscriptions | ApiKey::PushTelemetry);
    if !SUPPORTED_APIS.contains(&api) || (is_telemetry && !config.client_telemetry) {
        return None;
    }
    let (min, max) = (api.versions().0, api.client_max());
    match config.api_limits.get(&api) {
        None => Some((min, max)),
        Some(ApiLimit::Max(limit)) if *limit >= min => Some((min, max.min(*limit))),
        Some(ApiLimit::Max(_) | ApiLimit::Absent) => None,
    }
}

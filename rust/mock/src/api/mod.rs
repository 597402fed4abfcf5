//! The APIs that the mock supports: one file each, a function from a request and the state to a response.
//! To add an API, add a file here and a row to `supported_apis!`.
//!
//! A handler that must wait (Fetch, JoinGroup, SyncGroup) returns a deadline and is called again.

mod add_offsets_to_txn;
mod add_partitions_to_txn;
pub(crate) mod api_versions;
mod consumer_group_describe;
mod consumer_group_heartbeat;
mod create_partitions;
mod create_topics;
mod delete_groups;
mod delete_records;
mod delete_topics;
mod describe_cluster;
mod describe_configs;
mod describe_groups;
mod describe_log_dirs;
mod describe_producers;
mod describe_quorum;
mod describe_transactions;
mod end_txn;
mod fetch;
mod find_coordinator;
mod heartbeat;
mod init_producer_id;
mod join_group;
mod leave_group;
mod list_groups;
mod list_offsets;
mod list_transactions;
mod metadata;
mod node_endpoints;
mod offset_commit;
mod offset_delete;
mod offset_fetch;
mod offset_for_leader_epoch;
mod produce;
mod sasl_authenticate;
mod sasl_handshake;
mod sync_group;
mod txn_offset_commit;
mod write_txn_markers;

use std::time::Duration;

use ottla_protocol::{ApiKey, ErrorCode, Request};
use tokio::sync::oneshot::Receiver;
use tokio::time::Instant;

use self::fetch::FetchContext;
use crate::config::{ApiLimit, MockConfig};
use crate::fault::{FaultTarget, Match};
use crate::group::Group;
use crate::group::classic::{JoinGroupResult, SyncGroupResult};
use crate::log::{AppendError, ValidatedBatch};
use crate::session::Session;
use crate::state::ClusterState;

/// How long a request waits for a group that has no deadline.
const RECHECK_INTERVAL: Duration = Duration::from_secs(1);

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
    Join(Receiver<JoinGroupResult>),
    Sync(Receiver<SyncGroupResult>),
}

/// A request with everything that its handler may use.
#[derive(Debug)]
pub(crate) struct RequestContext<'a> {
    pub(crate) state: &'a mut ClusterState,
    pub(crate) session: &'a mut Session,
    pub(crate) broker: i32,
    pub(crate) version: i16,
    pub(crate) client_id: Option<&'a str>,
    /// Wall-clock time, in milliseconds since 1970.
    pub(crate) now: i64,
    /// Monotonic time, for timeouts.
    pub(crate) clock: Instant,
    /// When the request arrived.
    pub(crate) arrived: Instant,
    pub(crate) pending: &'a mut Pending,
    /// The result of [`RequestHandler::validate_records`].
    pub(crate) validated: &'a [Result<ValidatedBatch, AppendError>],
    /// Injected errors; the request or its part is not applied.
    pub(crate) errors: &'a [(Match, ErrorCode)],
    /// Injected errors; the request is applied all the same.
    pub(crate) errors_after_handling: &'a [(Match, ErrorCode)],
    /// Partitions that faults omit from a Metadata response.
    pub(crate) omitted: &'a [(Match, i32)],
    /// The partitions whose fetched records a fault corrupts.
    pub(crate) corrupt: Option<&'a Match>,
    /// Whether the handler corrupted any records.
    pub(crate) corrupted: bool,
    /// Whether the handler changed state that other requests may wait for.
    pub(crate) changed: bool,
}

impl RequestContext<'_> {
    /// Returns the injected error for a topic or partition.
    pub(crate) fn check_fault(&self, topic: &str, partition: Option<i32>) -> Result<(), ErrorCode> {
        fault_at(self.errors, topic, partition)
    }

    /// Returns the injected error for a topic or partition that was already applied.
    pub(crate) fn check_fault_after_handling(
        &self,
        topic: &str,
        partition: Option<i32>,
    ) -> Result<(), ErrorCode> {
        fault_at(self.errors_after_handling, topic, partition)
    }

    /// Returns the first injected error for a request that was already applied.
    pub(crate) fn check_any_fault_after_handling(&self) -> Result<(), ErrorCode> {
        self.errors_after_handling.first().map_or(Ok(()), |(_, code)| Err(*code))
    }

    /// Returns the first injected error, whatever it targets: for APIs with one error per request.
    pub(crate) fn check_any_fault(&self) -> Result<(), ErrorCode> {
        self.errors.first().map_or(Ok(()), |(_, code)| Err(*code))
    }

    /// Returns the first injected error that targets the whole request, not a topic or partition.
    pub(crate) fn check_request_fault(&self) -> Result<(), ErrorCode> {
        let whole = |on: &Match| on.topic.is_none() && on.partition.is_none();
        self.errors.iter().find(|(on, _)| whole(on)).map_or(Ok(()), |(_, code)| Err(*code))
    }

    /// Fails unless this broker coordinates the group; handles the group's passed deadlines.
    pub(crate) fn enter_group(&mut self, group: &str) -> Result<(), ErrorCode> {
        self.state.check_coordinator(group, self.broker, self.clock)?;
        self.changed |= self.state.groups.advance(group, self.clock);
        Ok(())
    }

    /// The time at which a request that waits for a group is handled again.
    pub(crate) fn group_deadline(&self, group: &str) -> Instant {
        let due = self.state.groups.get(group).and_then(Group::next_deadline);
        due.unwrap_or(self.clock + RECHECK_INTERVAL)
    }

    /// The client's address, as Kafka shows it in group descriptions.
    pub(crate) fn client_host(&self) -> String {
        format!("/{}", self.state.config.host)
    }

    /// Fails with NOT_CONTROLLER if only the controller may change topics and this broker is not it.
    pub(crate) fn check_controller(&self) -> Result<(), ErrorCode> {
        let is_follower = self.state.config.controller_only && self.state.controller != self.broker;
        if is_follower { Err(ErrorCode::NotController) } else { Ok(()) }
    }
}

/// PRODUCER_FENCED, under the name that versions before `first` of an API know.
fn fenced_code(code: ErrorCode, version: i16, first: i16) -> ErrorCode {
    match code {
        ErrorCode::ProducerFenced if version < first => ErrorCode::InvalidProducerEpoch,
        code => code,
    }
}

fn fault_at(errors: &[(Match, ErrorCode)], topic: &str, partition: Option<i32>) -> Result<(), ErrorCode> {
    match errors.iter().find(|(on, _)| on.covers(topic, partition)) {
        Some((_, code)) => Err(*code),
        None => Ok(()),
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

        /// Runs a generic async function for the request type of an API; `None` if unsupported.
        macro_rules! with_request_type {
            ($key:expr, $run:ident, $args:expr) => {
                match $key {
                    $(ottla_protocol::ApiKey::$api =>
                        Some($run::<ottla_protocol::messages::$module::$request>($args).await),)*
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
    DescribeConfigs: describe_configs::DescribeConfigsRequest;
    CreatePartitions: create_partitions::CreatePartitionsRequest;
    SaslHandshake: sasl_handshake::SaslHandshakeRequest;
    SaslAuthenticate: sasl_authenticate::SaslAuthenticateRequest;
    DeleteGroups: delete_groups::DeleteGroupsRequest;
    OffsetDelete: offset_delete::OffsetDeleteRequest;
    DescribeLogDirs: describe_log_dirs::DescribeLogDirsRequest;
    DescribeQuorum: describe_quorum::DescribeQuorumRequest;
    DescribeCluster: describe_cluster::DescribeClusterRequest;
    ConsumerGroupHeartbeat: consumer_group_heartbeat::ConsumerGroupHeartbeatRequest;
    ConsumerGroupDescribe: consumer_group_describe::ConsumerGroupDescribeRequest;
}

/// The versions of an API that a cluster supports; `None` if it does not support the API.
pub(crate) fn supported_versions(config: &MockConfig, api: ApiKey) -> Option<(i16, i16)> {
    if !SUPPORTED_APIS.contains(&api) {
        return None;
    }
    let (min, max) = (api.versions().0, api.client_max());
    match config.api_limits.get(&api) {
        None => Some((min, max)),
        Some(ApiLimit::Max(limit)) if *limit >= min => Some((min, max.min(*limit))),
        Some(ApiLimit::Max(_) | ApiLimit::Absent) => None,
    }
}

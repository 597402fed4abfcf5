//! Requests whose messages are trees: for operations that are written in another language.
//!
//! Invariant: a request whose response was lost is sent again, and the response is marked: its reader must expect that
//! the lost request took effect. If no response came in time, the error of a change says `maybe_done`.

use std::collections::BTreeMap;
use std::sync::Arc;

use ottla_protocol::value::{FromValue, ToValue, Value};
use ottla_protocol::{ApiKey, ErrorCode, Request, WireError, messages};
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant};

use crate::cluster::{Client, Route};
use crate::connection::Connection;
use crate::error::{Error, Kind, Result};
use crate::printable::printable;
use crate::requests::{ListedOffset, OffsetSpec};
use crate::retry::{Retry, deadline};
use crate::topic_partition::TopicPartition;

/// How often the metadata may lack the broker that is to be asked, before the request fails: a broker that has just
/// been found may have left, and its address is known nowhere else.
const MAX_LOOKS_WITHOUT_BROKER: u32 = 3;

/// The broker that a request is sent to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    /// Any broker.
    Any,
    /// The controller, or any broker, which forwards it.
    Controller,
    /// The broker with this id.
    Broker(i32),
}

impl Destination {
    fn route(self) -> Route<'static> {
        match self {
            Self::Any => Route::Any,
            Self::Controller => Route::Controller,
            Self::Broker(id) => Route::Broker(id),
        }
    }
}

/// A request whose message is a tree.
#[derive(Debug, Clone)]
pub struct UntypedRequest {
    /// Its API.
    pub api: ApiKey,
    /// The broker to send it to.
    pub to: Destination,
    /// Forms of the message, the newest first: the first one is sent whose fields all exist in the version. Fields
    /// that it lacks have their defaults.
    pub bodies: Vec<Value>,
    /// The highest version to use.
    pub max_version: i16,
    /// Whether it changes something.
    pub changes: bool,
    /// Whether to check only that the broker has a version with all fields of a form. Nothing is sent, and the response
    /// has no fields.
    pub check_only: bool,
}

/// A response whose message is a tree.
#[derive(Debug, Clone)]
pub struct UntypedResponse {
    /// The version of the request and the response.
    pub version: i16,
    /// The message.
    pub body: Value,
    /// Whether an earlier attempt may have taken effect, whose response was lost.
    pub is_repeated: bool,
}

/// The requests of one operation, under one deadline.
#[derive(Debug)]
pub struct Operation {
    client: Client,
    what: String,
    deadline: Instant,
    /// Counts the pauses.
    retry: tokio::sync::Mutex<Retry>,
}

impl Operation {
    /// Begins an operation; `what` names it in errors.
    #[must_use]
    pub fn new(client: Client, what: String, timeout: Duration) -> Self {
        let retry = tokio::sync::Mutex::new(client.retry(&*what, timeout));
        Self { client, what, deadline: deadline(timeout), retry }
    }

    /// Sends requests at the same time, each until a broker has responded. The results have their order.
    pub async fn send(self: Arc<Self>, requests: Vec<UntypedRequest>) -> Vec<Result<UntypedResponse>> {
        let mut results: Vec<_> = requests.iter().map(|_| Err(unfinished())).collect();
        let mut tasks = JoinSet::new();
        for (index, request) in requests.into_iter().enumerate() {
            let operation = Arc::clone(&self);
            tasks.spawn(async move { (index, operation.send_one(request).await) });
        }
        while let Some(joined) = tasks.join_next().await {
            if let Ok((index, result)) = joined
                && let Some(slot) = results.get_mut(index)
            {
                *slot = result;
            }
        }
        results
    }

    /// The client.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Looks up offsets of partitions, as [`Client::list_offsets_each`], until the deadline.
    pub async fn list_offsets(
        &self,
        wanted: Vec<(TopicPartition, OffsetSpec)>,
        read_committed: bool,
    ) -> BTreeMap<TopicPartition, Result<ListedOffset>> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        self.client.list_offsets_each(wanted, read_committed, left).await
    }

    async fn send_one(&self, mut request: UntypedRequest) -> Result<UntypedResponse> {
        if request.api == ApiKey::DescribeCluster && self.client.config().has_controllers() {
            request.bodies.iter_mut().for_each(ask_for_controllers);
        }
        let UntypedRequest { to, changes, .. } = request;
        let client = &self.client;
        let left = self.deadline.saturating_duration_since(Instant::now());
        let mut retry = client.retry(&*self.what, left);
        let mut is_repeated = false;
        let mut looks_without_broker = 0;
        loop {
            let snapshot = client.snapshot();
            let generation = snapshot.generation;
            let mut sent = false;
            let attempt = async {
                if snapshot.brokers.is_empty() {
                    client.find_cluster(left).await?;
                }
                let connection = client.connection(to.route()).await?;
                let response = send_to(&connection, &request, &mut sent).await?;
                connection.throttle(throttle_time(&response.1));
                Ok(response)
            };
            let error = match retry.attempt(attempt).await {
                Ok((version, body)) => {
                    match unexpected_error(&body).filter(|error| !changes && retry.repeats(error)) {
                        Some(error) => error,
                        None => return Ok(UntypedResponse { version, body, is_repeated }),
                    }
                }
                Err(error) => error,
            };
            is_repeated |= sent && changes;
            let marked = |error: Error| {
                let error = if is_repeated { error.maybe_done() } else { error };
                match to {
                    Destination::Broker(id) => error.broker(id),
                    Destination::Any | Destination::Controller => error,
                }
            };
            let error = marked(error);
            if let Destination::Broker(id) = to
                && !snapshot.brokers.is_empty()
                && !snapshot.brokers.contains_key(&id)
            {
                looks_without_broker += 1;
            }
            let repeats = if changes { error.is_transient() } else { retry.repeats(&error) };
            if !repeats || looks_without_broker == MAX_LOOKS_WITHOUT_BROKER {
                return Err(error);
            }
            client.pause_and_refresh(&mut retry, generation, error).await.map_err(marked)?;
        }
    }

    /// Waits before what failed with `code` is tried again, and refreshes the metadata.
    ///
    /// # Errors
    /// [`Kind::Timeout`] if the deadline leaves no time.
    pub async fn pause(&self, code: ErrorCode, message: String) -> Result<()> {
        let error = Error::with_code(code, message);
        let generation = self.client.snapshot().generation;
        let mut retry = self.retry.lock().await;
        self.client.pause_and_refresh(&mut retry, generation, error).await
    }
}

/// Adds a broker's message to the error for its code, escaped for terminals.
#[must_use]
pub fn with_broker_message(error: Error, message: Option<&str>) -> Error {
    match message {
        None | Some("") => error,
        Some(message) => error.prefixed(printable(message.trim_end().trim_end_matches('.'))),
    }
}

fn unfinished() -> Error {
    Error::new(Kind::Internal, "a request did not finish")
}

/// Makes a DescribeCluster request one for the controllers (KIP-919).
fn ask_for_controllers(body: &mut Value) {
    if let Value::Object(fields) = body {
        fields.push(("endpoint_type".into(), Some(Value::Int(2))));
    }
}

fn throttle_time(response: &Value) -> i32 {
    int_field(response, "throttle_time_ms").and_then(|millis| i32::try_from(millis).ok()).unwrap_or(0)
}

/// The error of a response as a whole, if the broker did not expect it. Others are for the caller to judge.
fn unexpected_error(response: &Value) -> Option<Error> {
    let code = i16::try_from(int_field(response, "error_code")?).ok()?;
    Some(Error::from_code(ErrorCode::from(code))).filter(Error::is_unexpected)
}

fn int_field(response: &Value, field: &str) -> Option<i64> {
    let Value::Object(fields) = response else { return None };
    match fields.iter().find(|(name, _)| name == field) {
        Some((_, Some(Value::Int(number)))) => Some(*number),
        _ => None,
    }
}

/// Sends a request of a type, in the highest version that both sides support. `sent`: whether it may have reached
/// the broker.
async fn send_as<R: Request + FromValue>(
    connection: &Connection,
    request: &UntypedRequest,
    sent: &mut bool,
) -> Result<(i16, Value)>
where
    R::Response: ToValue,
{
    let version = connection.version::<R>(request.max_version)?;
    let message =
        message_for::<R>(&request.bodies, version).map_err(|error| error.address(connection.address()))?;
    if request.check_only {
        return Ok((version, Value::Object(Vec::new())));
    }
    *sent = true;
    let response = connection.request(&message, version).await.inspect_err(|error| {
        // What the protocol has no room for was not written.
        *sent = error.kind() != Kind::Config;
    })?;
    Ok((version, response.to_value(version)))
}

/// The first form of a message that a version can express.
fn message_for<R: Request + FromValue>(bodies: &[Value], version: i16) -> Result<R> {
    let mut missing = "";
    for body in bodies {
        let invalid = |error| Error::new(Kind::Config, format!("{}.{error}", R::NAME));
        let message = R::from_value(body.clone()).map_err(invalid)?;
        match message.to_frame(version) {
            Err(WireError::FieldVersion { field, .. }) => missing = field,
            _ => return Ok(message),
        }
    }
    let api = R::API.name();
    let message =
        format!("{missing} does not exist in version {version} of {api}, the newest that both sides support");
    Err(Error::with_code(ErrorCode::UnsupportedVersion, message))
}

macro_rules! untyped {
    ($($api:ident: $module:ident::$request:ident;)*) => {
        async fn send_to(
            connection: &Connection,
            request: &UntypedRequest,
            sent: &mut bool,
        ) -> Result<(i16, Value)> {
            match request.api {
                // Boxed, because each has a size of its own.
                $(ApiKey::$api => Box::pin(send_as::<messages::$module::$request>(connection, request, sent)).await,)*
                other => {
                    let message = format!("{} cannot be sent as a tree", other.name());
                    Err(Error::new(Kind::Config, message))
                }
            }
        }
    };
}

untyped! {
    AddRaftVoter: add_raft_voter::AddRaftVoterRequest;
    AlterClientQuotas: alter_client_quotas::AlterClientQuotasRequest;
    AlterPartitionReassignments: alter_partition_reassignments::AlterPartitionReassignmentsRequest;
    AlterReplicaLogDirs: alter_replica_log_dirs::AlterReplicaLogDirsRequest;
    AlterShareGroupOffsets: alter_share_group_offsets::AlterShareGroupOffsetsRequest;
    AlterUserScramCredentials: alter_user_scram_credentials::AlterUserScramCredentialsRequest;
    ApiVersions: api_versions::ApiVersionsRequest;
    ConsumerGroupDescribe: consumer_group_describe::ConsumerGroupDescribeRequest;
    CreateAcls: create_acls::CreateAclsRequest;
    CreateDelegationToken: create_delegation_token::CreateDelegationTokenRequest;
    CreatePartitions: create_partitions::CreatePartitionsRequest;
    CreateTopics: create_topics::CreateTopicsRequest;
    DeleteAcls: delete_acls::DeleteAclsRequest;
    DeleteGroups: delete_groups::DeleteGroupsRequest;
    DeleteRecords: delete_records::DeleteRecordsRequest;
    DeleteShareGroupOffsets: delete_share_group_offsets::DeleteShareGroupOffsetsRequest;
    DeleteTopics: delete_topics::DeleteTopicsRequest;
    DescribeAcls: describe_acls::DescribeAclsRequest;
    DescribeClientQuotas: describe_client_quotas::DescribeClientQuotasRequest;
    DescribeCluster: describe_cluster::DescribeClusterRequest;
    DescribeConfigs: describe_configs::DescribeConfigsRequest;
    DescribeDelegationToken: describe_delegation_token::DescribeDelegationTokenRequest;
    DescribeGroups: describe_groups::DescribeGroupsRequest;
    DescribeLogDirs: describe_log_dirs::DescribeLogDirsRequest;
    DescribeQuorum: describe_quorum::DescribeQuorumRequest;
    DescribeShareGroupOffsets: describe_share_group_offsets::DescribeShareGroupOffsetsRequest;
    DescribeUserScramCredentials: describe_user_scram_credentials::DescribeUserScramCredentialsRequest;
    ElectLeaders: elect_leaders::ElectLeadersRequest;
    ExpireDelegationToken: expire_delegation_token::ExpireDelegationTokenRequest;
    FindCoordinator: find_coordinator::FindCoordinatorRequest;
    IncrementalAlterConfigs: incremental_alter_configs::IncrementalAlterConfigsRequest;
    LeaveGroup: leave_group::LeaveGroupRequest;
    ListConfigResources: list_config_resources::ListConfigResourcesRequest;
    ListGroups: list_groups::ListGroupsRequest;
    ListOffsets: list_offsets::ListOffsetsRequest;
    ListPartitionReassignments: list_partition_reassignments::ListPartitionReassignmentsRequest;
    Metadata: metadata::MetadataRequest;
    OffsetCommit: offset_commit::OffsetCommitRequest;
    OffsetDelete: offset_delete::OffsetDeleteRequest;
    OffsetFetch: offset_fetch::OffsetFetchRequest;
    RemoveRaftVoter: remove_raft_voter::RemoveRaftVoterRequest;
    RenewDelegationToken: renew_delegation_token::RenewDelegationTokenRequest;
    ShareGroupDescribe: share_group_describe::ShareGroupDescribeRequest;
    StreamsGroupDescribe: streams_group_describe::StreamsGroupDescribeRequest;
    UnregisterBroker: unregister_broker::UnregisterBrokerRequest;
    UpdateFeatures: update_features::UpdateFeaturesRequest;
}

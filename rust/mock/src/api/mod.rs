//! The APIs that the mock serves: one file each, a plain function from a request and the state to a
//! response. A new API is a file here and a row in the table below.
//!
//! A handler that has to wait (Fetch, JoinGroup, SyncGroup) says until when and is called again.

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
mod describe_quorum;
mod fetch;
mod find_coordinator;
mod heartbeat;
mod hints;
mod init_producer_id;
mod join_group;
mod leave_group;
mod list_groups;
mod list_offsets;
mod metadata;
mod offset_commit;
mod offset_delete;
mod offset_fetch;
mod offset_for_leader_epoch;
mod produce;
mod sasl_authenticate;
mod sasl_handshake;
mod sync_group;

use std::time::Duration;

use ottla_protocol::{ApiKey, ErrorCode, Request};
use tokio::sync::oneshot::Receiver;
use tokio::time::Instant;

use self::fetch::Fetching;
use crate::config::{ApiLimit, MockConfig};
use crate::fault::{Match, Target};
use crate::group::Group;
use crate::group::classic::{Joined, Synced};
use crate::log::{Checked, Refused};
use crate::session::Session;
use crate::state::ClusterState;

/// How long a request waits for a group in which nothing happens by itself.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What a handler makes of a request.
#[derive(Debug)]
pub(crate) enum Served<R> {
    /// This is the answer.
    Answer(R),
    /// No answer is wanted.
    Nothing,
    /// The connection ends.
    Close,
    /// There is no answer yet: ask again when the state has changed, or at this moment.
    Until(Instant),
}

/// What a request that waits remembers until it is asked again.
#[derive(Debug, Default)]
pub(crate) enum Pending {
    #[default]
    Nothing,
    Fetch(Box<Fetching>),
    Join(Receiver<Joined>),
    Sync(Receiver<Synced>),
}

/// A request on its way through its handler.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) state: &'a mut ClusterState,
    pub(crate) session: &'a mut Session,
    pub(crate) broker: i32,
    pub(crate) version: i16,
    pub(crate) client_id: Option<&'a str>,
    /// The broker's clock, in milliseconds since 1970.
    pub(crate) now: i64,
    /// The same for what takes time.
    pub(crate) clock: Instant,
    /// When the request came.
    pub(crate) arrived: Instant,
    pub(crate) pending: &'a mut Pending,
    /// What [`Serve::check_records`] found.
    pub(crate) checked: &'a [Result<Checked, Refused>],
    /// Errors that faults put into the answer.
    pub(crate) errors: &'a [(Match, ErrorCode)],
    /// Those that come although what was asked for was done.
    pub(crate) late_errors: &'a [(Match, ErrorCode)],
    /// Partitions that faults leave out of a Metadata response.
    pub(crate) omitted: &'a [(Match, i32)],
    /// Whose fetched records a fault damages.
    pub(crate) corrupt: Option<&'a Match>,
    /// Whether that happened.
    pub(crate) corrupted: bool,
    /// Whether something changed that others wait for.
    pub(crate) changed: bool,
}

impl Call<'_> {
    /// Fails if a fault wants an error at this topic or partition.
    pub(crate) fn check_fault(&self, topic: &str, partition: Option<i32>) -> Result<(), ErrorCode> {
        fault_at(self.errors, topic, partition)
    }

    /// Fails if a fault wants an error at this topic or partition although its part was applied.
    pub(crate) fn check_late_fault(&self, topic: &str, partition: Option<i32>) -> Result<(), ErrorCode> {
        fault_at(self.late_errors, topic, partition)
    }

    /// The error that a fault wants for the request as a whole although it was applied.
    pub(crate) fn late_fault(&self) -> Result<(), ErrorCode> {
        self.late_errors.first().map_or(Ok(()), |(_, code)| Err(*code))
    }

    /// The error that a fault wants for the request as a whole.
    pub(crate) fn whole_fault(&self) -> Result<(), ErrorCode> {
        self.errors.first().map_or(Ok(()), |(_, code)| Err(*code))
    }

    /// The error that a fault wants for the request as a whole and not for a topic in it.
    pub(crate) fn request_fault(&self) -> Result<(), ErrorCode> {
        let whole = |on: &Match| on.topic.is_none() && on.partition.is_none();
        self.errors.iter().find(|(on, _)| whole(on)).map_or(Ok(()), |(_, code)| Err(*code))
    }

    /// Fails unless this broker coordinates the group; then brings the group up to the present.
    pub(crate) fn enter_group(&mut self, group: &str) -> Result<(), ErrorCode> {
        self.state.check_coordinator(group, self.broker, self.clock)?;
        self.changed |= self.state.groups.advance(group, self.clock);
        Ok(())
    }

    /// When something happens in a group by itself: for a request that waits for that.
    pub(crate) fn group_due(&self, group: &str) -> Instant {
        let due = self.state.groups.get(group).and_then(Group::next_due);
        due.unwrap_or(self.clock + LOOK_AGAIN)
    }

    /// The client's address, as groups show it.
    pub(crate) fn client_host(&self) -> String {
        format!("/{}", self.state.config.host)
    }

    /// Fails on a broker that may not change topics because it is not the controller.
    pub(crate) fn check_controller(&self) -> Result<(), ErrorCode> {
        let elsewhere = self.state.config.controller_only && self.state.controller != self.broker;
        if elsewhere { Err(ErrorCode::NotController) } else { Ok(()) }
    }
}

fn fault_at(errors: &[(Match, ErrorCode)], topic: &str, partition: Option<i32>) -> Result<(), ErrorCode> {
    match errors.iter().find(|(on, _)| on.covers(topic, partition)) {
        Some((_, code)) => Err(*code),
        None => Ok(()),
    }
}

/// A request that the mock serves.
pub(crate) trait Serve: Request + Sync {
    /// What the request concerns, for faults that are for one topic or partition.
    fn targets(&self, _version: i16, _state: &ClusterState) -> Vec<Target> {
        Vec::new()
    }

    /// Checks the records in the request, partition by partition; done before the state is locked.
    fn check_records(&self, _version: i16) -> Vec<Result<Checked, Refused>> {
        Vec::new()
    }

    /// Handles the request. It is called again after [`Served::Until`].
    fn serve(&self, call: &mut Call<'_>) -> Served<Self::Response>;

    /// Where the response says for how long the client is to hold back, if it does.
    fn throttle_time(_response: &mut Self::Response) -> Option<&mut i32> {
        None
    }
}

macro_rules! served {
    ($($api:ident: $module:ident::$request:ident;)*) => {
        /// Every API that the mock serves.
        const SERVED: &[ApiKey] = &[$(ApiKey::$api,)*];

        /// Runs a generic async function for the request type of an API; `None` if it is not served.
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

served! {
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

/// The versions that a cluster serves of an API; `None` if it does not serve it.
pub(crate) fn served_versions(config: &MockConfig, api: ApiKey) -> Option<(i16, i16)> {
    if !SERVED.contains(&api) {
        return None;
    }
    let (min, max) = (api.versions().0, api.client_max());
    match config.api_limits.get(&api) {
        None => Some((min, max)),
        Some(ApiLimit::Max(limit)) if *limit >= min => Some((min, max.min(*limit))),
        Some(ApiLimit::Max(_) | ApiLimit::Absent) => None,
    }
}

//! What a handler may use: the request's circumstances, the state, and injected errors.

use std::time::Duration;

use ottla_protocol::ErrorCode;
use tokio::time::Instant;

use super::Pending;
use crate::fault::Match;
use crate::group::Group;
use crate::log::{AppendError, ValidatedBatch};
use crate::session::Session;
use crate::state::{ClusterState, GROUP_VERSION, Principal, SHARE_VERSION, TelemetryClient};

/// How long a request waits for a group that has no deadline.
const RECHECK_INTERVAL: Duration = Duration::from_secs(1);

/// A request with everything that its handler may use.
#[derive(Debug)]
pub(crate) struct RequestContext<'a> {
    pub(crate) state: &'a mut ClusterState,
    pub(crate) session: &'a mut Session,
    pub(crate) broker: i32,
    /// The number of the connection.
    pub(crate) connection: u64,
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

    /// Fails unless the cluster has finalized KIP-848 groups.
    pub(crate) fn check_consumer_groups(&self) -> Result<(), ErrorCode> {
        let is_enabled = self.state.features.level(GROUP_VERSION) > 0;
        if is_enabled { Ok(()) } else { Err(ErrorCode::UnsupportedVersion) }
    }

    /// Fails unless the cluster has finalized share groups.
    pub(crate) fn check_share_groups(&self) -> Result<(), ErrorCode> {
        let is_enabled = self.state.features.level(SHARE_VERSION) > 0;
        if is_enabled { Ok(()) } else { Err(ErrorCode::UnsupportedVersion) }
    }

    /// The user of the connection, if it may request delegation tokens.
    pub(crate) fn token_user(&self) -> Result<Principal, ErrorCode> {
        self.session.token_user().cloned().ok_or(ErrorCode::DelegationTokenRequestNotAllowed)
    }

    /// The time at which a request that waits for a group is handled again.
    pub(crate) fn group_deadline(&self, group: &str) -> Instant {
        let due = self.state.groups.get(group).and_then(Group::next_deadline);
        due.unwrap_or(self.clock + RECHECK_INTERVAL)
    }

    /// The client, as client metrics subscriptions match it.
    pub(crate) fn telemetry_client(&self) -> TelemetryClient {
        let client_id = self.client_id.unwrap_or_default().to_owned();
        TelemetryClient { client_id, address: self.state.config.host.clone() }
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

fn fault_at(errors: &[(Match, ErrorCode)], topic: &str, partition: Option<i32>) -> Result<(), ErrorCode> {
    match errors.iter().find(|(on, _)| on.covers(topic, partition)) {
        Some((_, code)) => Err(*code),
        None => Ok(()),
    }
}

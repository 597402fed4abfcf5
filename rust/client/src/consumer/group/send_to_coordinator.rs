//! Sends one request of a member to its coordinator, without retries.
//!
//! Invariant: a field that the broker's version cannot carry is an error if dropping it would change the
//! membership.

use std::sync::Arc;

use ottla_protocol::messages::consumer_group_heartbeat::ConsumerGroupHeartbeatRequest;
use ottla_protocol::messages::join_group::JoinGroupRequest;
use ottla_protocol::messages::leave_group::LeaveGroupRequest;
use ottla_protocol::messages::share_group_heartbeat::ShareGroupHeartbeatRequest;
use ottla_protocol::messages::sync_group::SyncGroupRequest;
use ottla_protocol::{ApiKey, ErrorCode, Request};
use tokio::time::{Duration, timeout};

use super::group_state::GroupState;
use super::membership_error::{share_groups_unsupported, unsupported};
use super::membership_manager::{GroupRequest, GroupResponse};
use super::settings::GroupSettings;
use super::waiting::report_while;
use crate::cluster::Client;
use crate::cluster::{Coordinator, CoordinatorKind};
use crate::error::{Error, Kind, Result};

/// The first versions with static members, a list of leaving members, and patterns matched by brokers.
const FIRST_WITH_STATIC_MEMBERS: i16 = 5;
const FIRST_WITH_MEMBER_LIST: i16 = 3;
const FIRST_WITH_REGEX: i16 = 1;
/// Added to the rebalance timeout for JoinGroup responses, as in Java.
const JOIN_TIMEOUT_MARGIN: Duration = Duration::from_secs(5);

/// Finds the group's coordinator, within the request timeout.
async fn find_coordinator(client: &Client, settings: &GroupSettings) -> Result<Coordinator> {
    let found = client.coordinator(CoordinatorKind::Group, &settings.group_id);
    match timeout(settings.request_timeout, found).await {
        Ok(found) => found,
        Err(_) => {
            let message = format!("the coordinator of group {} was not found in time", settings.group_id);
            Err(Error::new(Kind::Timeout, message).api(ApiKey::FindCoordinator))
        }
    }
}

/// Sends a request and returns the coordinator's broker id with the response.
pub(super) async fn send_to_coordinator(
    shared: Arc<GroupState>,
    request: GroupRequest,
) -> (Option<i32>, GroupResponse) {
    let coordinator = match find_coordinator(&shared.client, &shared.settings).await {
        Ok(coordinator) => coordinator,
        Err(error) => return (None, GroupResponse::Failed(error)),
    };
    if let Err(error) = shared.contact.make() {
        return (None, GroupResponse::Failed(error));
    }
    let response = send(&shared, &coordinator, request).await;
    (Some(coordinator.broker()), response.unwrap_or_else(GroupResponse::Failed))
}

/// How long to wait for a response that the coordinator may hold back until all members have joined or the
/// leader has assigned.
fn rebalance_response_timeout(shared: &GroupState) -> Duration {
    let GroupSettings { request_timeout, max_poll_interval, .. } = shared.settings;
    request_timeout.max(max_poll_interval.saturating_add(JOIN_TIMEOUT_MARGIN))
}

async fn send(
    shared: &GroupState,
    coordinator: &Coordinator,
    request: GroupRequest,
) -> Result<GroupResponse> {
    Ok(match request {
        GroupRequest::Join { mut request, subscription, last } => {
            request.protocols = shared.assignors.protocols(subscription, last).await?;
            let version = coordinator.version::<JoinGroupRequest>(i16::MAX)?;
            if request.group_instance_id.is_some() && version < FIRST_WITH_STATIC_MEMBERS {
                let message =
                    "the brokers do not support static members (Kafka 2.3): remove group.instance.id";
                return Err(Error::with_code(ErrorCode::UnsupportedVersion, message));
            }
            let response = coordinator.request_within(&request, version, rebalance_response_timeout(shared));
            let response = report_while(shared, coordinator, &request, response).await?;
            coordinator.throttle(response.throttle_time_ms);
            GroupResponse::Join(response)
        }
        GroupRequest::Sync(request) => {
            let version = coordinator.version::<SyncGroupRequest>(i16::MAX)?;
            let response =
                coordinator.request_within(&request, version, rebalance_response_timeout(shared)).await?;
            coordinator.throttle(response.throttle_time_ms);
            GroupResponse::Sync(response)
        }
        GroupRequest::Heartbeat(request) => {
            let response = send_latest(coordinator, &request).await?;
            coordinator.throttle(response.throttle_time_ms);
            GroupResponse::Heartbeat(response)
        }
        GroupRequest::Leave(mut request) => {
            let version = coordinator.version::<LeaveGroupRequest>(i16::MAX)?;
            if version < FIRST_WITH_MEMBER_LIST {
                request.members.clear();
            } else {
                request.member_id.clear();
            }
            // Do not queue behind a JoinGroup request that waits for other members.
            let free = if coordinator.is_busy() { data_connection(shared, coordinator).await } else { None };
            GroupResponse::Leave(free.as_ref().unwrap_or(coordinator).request(&request, version).await?)
        }
        GroupRequest::ConsumerHeartbeat(mut request) => {
            let version = coordinator.version::<ConsumerGroupHeartbeatRequest>(i16::MAX);
            let version = version.map_err(|error| {
                let message = unsupported(&request.group_id);
                Error::with_code(ErrorCode::UnsupportedVersion, format!("{message} ({})", error.message()))
            })?;
            if version < FIRST_WITH_REGEX
                && let Some(regex) = request.subscribed_topic_regex.take()
                && !regex.is_empty()
            {
                let message = "the brokers do not support topic patterns (Kafka 4.0): subscribe to a pattern that the client matches";
                return Err(Error::with_code(ErrorCode::UnsupportedVersion, message));
            }
            let response = coordinator.request(&request, version).await?;
            coordinator.throttle(response.throttle_time_ms);
            GroupResponse::ConsumerHeartbeat(response)
        }
        GroupRequest::ShareHeartbeat(request) => {
            let version = coordinator.version::<ShareGroupHeartbeatRequest>(i16::MAX);
            let version = version.map_err(|error| {
                let message = share_groups_unsupported(&request.group_id);
                Error::with_code(ErrorCode::UnsupportedVersion, format!("{message} ({})", error.message()))
            })?;
            let response = coordinator.request(&request, version).await?;
            coordinator.throttle(response.throttle_time_ms);
            GroupResponse::ShareHeartbeat(response)
        }
    })
}

/// The coordinator on the other connection, if it can be opened.
async fn data_connection(shared: &GroupState, coordinator: &Coordinator) -> Option<Coordinator> {
    let other = coordinator.on_data_connection(&shared.client);
    timeout(shared.settings.request_timeout, other).await.ok()?.ok()
}

async fn send_latest<R: Request>(coordinator: &Coordinator, request: &R) -> Result<R::Response> {
    let version = coordinator.version::<R>(i16::MAX)?;
    coordinator.request(request, version).await
}

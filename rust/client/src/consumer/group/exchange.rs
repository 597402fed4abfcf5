//! One request of a member to its coordinator: found, asked, answered. One attempt.
//!
//! Invariant: what a broker's version cannot carry is an error that says so, where leaving it out
//! would change what the member is.

use std::sync::Arc;

use ottla_protocol::messages::consumer_group_heartbeat::ConsumerGroupHeartbeatRequest;
use ottla_protocol::messages::join_group::JoinGroupRequest;
use ottla_protocol::messages::leave_group::LeaveGroupRequest;
use ottla_protocol::messages::sync_group::SyncGroupRequest;
use ottla_protocol::{ApiKey, ErrorCode, Request};
use tokio::time::{Duration, timeout};

use super::driver::Shared;
use super::machine::{Answer, Ask};
use super::refusal::unsupported;
use super::settings::GroupSettings;
use crate::cluster::Client;
use crate::cluster::{Coordinator, CoordinatorKind};
use crate::error::{Error, Kind, Result};

/// The first versions that know of static members, of leaving by the list, and of brokers' patterns.
const STATIC_SINCE: i16 = 5;
const LEAVE_LIST_SINCE: i16 = 3;
const REGEX_SINCE: i16 = 1;
/// How much longer than the group may take to rebalance JoinGroup is waited for, as in Java.
const MARGIN: Duration = Duration::from_secs(5);

/// The group's coordinator, in time.
async fn find(client: &Client, settings: &GroupSettings) -> Result<Coordinator> {
    let found = client.coordinator(CoordinatorKind::Group, &settings.group_id);
    match timeout(settings.request_timeout, found).await {
        Ok(found) => found,
        Err(_) => {
            let words = format!("no coordinator of the group {} was found in time", settings.group_id);
            Err(Error::new(Kind::Timeout, words).api(ApiKey::FindCoordinator))
        }
    }
}

/// Asks the coordinator, and says which broker that was.
pub(super) async fn exchange(shared: Arc<Shared>, ask: Ask) -> (Option<i32>, Answer) {
    let coordinator = match find(&shared.client, &shared.settings).await {
        Ok(coordinator) => coordinator,
        Err(error) => return (None, Answer::Failed(error)),
    };
    let answer = send(&shared, &coordinator, ask).await;
    (Some(coordinator.broker()), answer.unwrap_or_else(Answer::Failed))
}

/// How long a coordinator may keep an answer back: until all members have joined, or the leader has
/// assigned.
fn patience(shared: &Shared) -> Duration {
    let GroupSettings { request_timeout, max_poll_interval, .. } = shared.settings;
    request_timeout.max(max_poll_interval.saturating_add(MARGIN))
}

async fn send(shared: &Shared, coordinator: &Coordinator, ask: Ask) -> Result<Answer> {
    Ok(match ask {
        Ask::Join { mut request, subscription, last } => {
            request.protocols = shared.strategy.protocols(subscription, last).await?;
            let version = coordinator.version::<JoinGroupRequest>(i16::MAX)?;
            if request.group_instance_id.is_some() && version < STATIC_SINCE {
                let words = "the brokers do not know static members (Kafka 2.3): leave group.instance.id out";
                return Err(Error::with_code(ErrorCode::UnsupportedVersion, words));
            }
            let response = coordinator.request_within(&request, version, patience(shared)).await?;
            coordinator.throttle(response.throttle_time_ms);
            Answer::Join(response)
        }
        Ask::Sync(request) => {
            let version = coordinator.version::<SyncGroupRequest>(i16::MAX)?;
            let response = coordinator.request_within(&request, version, patience(shared)).await?;
            coordinator.throttle(response.throttle_time_ms);
            Answer::Sync(response)
        }
        Ask::Heartbeat(request) => {
            let response = plain(coordinator, &request).await?;
            coordinator.throttle(response.throttle_time_ms);
            Answer::Heartbeat(response)
        }
        Ask::Leave(mut request) => {
            let version = coordinator.version::<LeaveGroupRequest>(i16::MAX)?;
            if version < LEAVE_LIST_SINCE {
                request.members.clear();
            } else {
                request.member_id.clear();
            }
            // Not behind a JoinGroup that waits for others.
            let free = if coordinator.is_busy() { data_connection(shared, coordinator).await } else { None };
            Answer::Leave(free.as_ref().unwrap_or(coordinator).request(&request, version).await?)
        }
        Ask::ConsumerHeartbeat(mut request) => {
            let version = coordinator.version::<ConsumerGroupHeartbeatRequest>(i16::MAX);
            let version = version.map_err(|error| {
                let words = unsupported(&request.group_id);
                Error::with_code(ErrorCode::UnsupportedVersion, format!("{words} ({})", error.message()))
            })?;
            if version < REGEX_SINCE
                && let Some(regex) = request.subscribed_topic_regex.take()
                && !regex.is_empty()
            {
                let words = "the brokers do not match patterns of topics (Kafka 4.0): subscribe to a pattern that the client matches";
                return Err(Error::with_code(ErrorCode::UnsupportedVersion, words));
            }
            let response = coordinator.request(&request, version).await?;
            coordinator.throttle(response.throttle_time_ms);
            Answer::ConsumerHeartbeat(response)
        }
    })
}

/// The other connection to the coordinator, if it can be had.
async fn data_connection(shared: &Shared, coordinator: &Coordinator) -> Option<Coordinator> {
    let other = coordinator.on_data_connection(&shared.client);
    timeout(shared.settings.request_timeout, other).await.ok()?.ok()
}

async fn plain<R: Request>(coordinator: &Coordinator, request: &R) -> Result<R::Response> {
    let version = coordinator.version::<R>(i16::MAX)?;
    coordinator.request(request, version).await
}

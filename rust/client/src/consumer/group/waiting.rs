//! The wait for the other members of a classic group: a warning that names them, and a line when it is over.
//!
//! A coordinator responds to JoinGroup once all members have joined again. A member that was killed holds that
//! up until its session expires, and one that does not poll until its rebalance timeout.
//!
//! Invariant: a group without other members causes no warning: its coordinator only waits for more of them
//! (`group.initial.rebalance.delay.ms`).

use std::future::Future;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::describe_groups::DescribeGroupsRequest;
use ottla_protocol::messages::join_group::JoinGroupRequest;
use tokio::time::{Instant, sleep, timeout};

use super::group_state::GroupState;
use crate::cluster::Coordinator;
use crate::error::{Error, Result};
use crate::first_names::first_names;
use crate::printable::printable;
use crate::retry::persistent_failures::REPORTED_AFTER;

/// Waits for the response to a JoinGroup request, and reports what it waits for.
pub(super) async fn report_while<T>(
    shared: &GroupState,
    coordinator: &Coordinator,
    request: &JoinGroupRequest,
    response: impl Future<Output = T>,
) -> T {
    let began = Instant::now();
    tokio::pin!(response);
    tokio::select! {
        biased;
        response = &mut response => return response,
        () = sleep(REPORTED_AFTER) => {}
    }
    let others = timeout(shared.settings.request_timeout, other_members(shared, coordinator, request));
    let others = tokio::select! {
        biased;
        response = &mut response => return response,
        others = others => others,
    };
    let names = match others {
        Ok(Ok(others)) if others.is_empty() => return response.await,
        Ok(Ok(others)) => first_names(&others),
        Ok(Err(_)) | Err(_) => "they could not be listed".to_owned(),
    };
    let group = &shared.settings.group_id;
    tracing::warn!(
        target: "ottla.group", %group,
        "waiting for the group's other members: {names}. Each must join again. One that was stopped without closing holds the group up until its session expires (session.timeout.ms, {} s here), one that does not poll for its max.poll.interval.ms ({} s here): close consumers when they end, and poll more often",
        shared.settings.session_timeout.as_secs(), shared.settings.max_poll_interval.as_secs()
    );
    let response = response.await;
    let seconds = began.elapsed().as_secs();
    tracing::info!(target: "ottla.group", %group, "the wait for the group's other members is over, after {seconds} s");
    response
}

/// The client ids and hosts of the other members.
async fn other_members(
    shared: &GroupState,
    coordinator: &Coordinator,
    own: &JoinGroupRequest,
) -> Result<Vec<String>> {
    // On the coordinator's own connection it would wait behind JoinGroup.
    let coordinator = coordinator.on_data_connection(&shared.client).await?;
    let version = coordinator.version::<DescribeGroupsRequest>(i16::MAX)?;
    let groups = vec![shared.settings.group_id.to_string()];
    let request = DescribeGroupsRequest { groups, ..Default::default() };
    let response = coordinator.request(&request, version).await?;
    let Some(group) = response.groups.into_iter().next() else { return Ok(Vec::new()) };
    ErrorCode::from(group.error_code).ok().map_err(Error::from_code)?;
    let is_own = |id: &str, instance: Option<&str>| {
        id == own.member_id || (instance.is_some() && instance == own.group_instance_id.as_deref())
    };
    let others = group.members.into_iter();
    let others = others.filter(|member| !is_own(&member.member_id, member.group_instance_id.as_deref()));
    Ok(others
        .map(|member| format!("{} on {}", printable(&member.client_id), printable(&member.client_host)))
        .collect())
}

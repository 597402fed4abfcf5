//! Checks a group's coordinator: which broker it is, and whether it serves the group.

use std::sync::Arc;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::describe_groups::{DescribeGroupsRequest, DescribedGroup};
use ottla_protocol::messages::find_coordinator::{FindCoordinatorRequest, FindCoordinatorResponse};
use tokio::time::{Duration, Instant, sleep};

use super::ProbeContext;
use super::check::{Check, Reason};
use super::facts::{CoordinatorFacts, Failure};
use super::progress::Subject;
use super::steps::{exchange, failure, of_code, step, supported_version};
use crate::connection::Connection;

/// The first version of FindCoordinator for several groups at once.
const BATCHED_VERSION: i16 = 4;
/// Pause between retries: a cluster's first group creates the offsets topic, which takes a moment.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// Finds the coordinator through `any_broker`, and describes the group there, if the coordinator is
/// among the `reached` brokers.
pub(super) async fn check(
    probe: &ProbeContext,
    group: &str,
    any_broker: &Connection,
    reached: &[(i32, Arc<Connection>)],
) -> CoordinatorFacts {
    let mut facts = CoordinatorFacts {
        group: group.to_owned(),
        steps: Vec::new(),
        broker: None,
        state: None,
        members: None,
    };
    let subject = Subject::group(group);
    let (found, broker) =
        step(probe, &subject, Check::FindCoordinator, retrying(probe, || find(any_broker, group))).await;
    facts.steps.push(found);
    facts.broker = broker;
    let connection = reached.iter().find(|(id, _)| Some(*id) == broker).map(|(_, connection)| connection);
    if let Some(connection) = connection {
        let (described, group) =
            step(probe, &subject, Check::DescribeGroups, retrying(probe, || describe(connection, group)))
                .await;
        facts.steps.push(described);
        if let Some(group) = group {
            facts.state = Some(group.group_state);
            facts.members = Some(group.members.len());
        }
    }
    facts
}

/// Retries while the coordinator is becoming available; returns the last result before the deadline.
async fn retrying<T, F: Future<Output = Result<T, Failure>>>(
    probe: &ProbeContext,
    attempt: impl Fn() -> F,
) -> Result<T, Failure> {
    let end = probe.step_deadline();
    let is_transient = |failure: &Failure| {
        use ErrorCode::{CoordinatorLoadInProgress, CoordinatorNotAvailable, NotCoordinator};
        // Metadata names a broker as coordinator shortly before the broker itself knows.
        matches!(failure.code, Some(CoordinatorNotAvailable | CoordinatorLoadInProgress | NotCoordinator))
    };
    loop {
        match attempt().await {
            Err(failure) if is_transient(&failure) && Instant::now() + 2 * RETRY_PAUSE < end => {
                sleep(RETRY_PAUSE).await
            }
            result => return result,
        }
    }
}

async fn find(connection: &Connection, group: &str) -> Result<i32, Failure> {
    let version = supported_version::<FindCoordinatorRequest>(connection, i16::MAX)?;
    let request = match version {
        BATCHED_VERSION.. => {
            FindCoordinatorRequest { coordinator_keys: vec![group.to_owned()], ..Default::default() }
        }
        _ => FindCoordinatorRequest { key: group.to_owned(), ..Default::default() },
    };
    let response = exchange(connection, &request, version).await?;
    let FindCoordinatorResponse { error_code, node_id, coordinators, .. } = response;
    let (code, id) =
        coordinators.first().map_or((error_code, node_id), |found| (found.error_code, found.node_id));
    ErrorCode::from(code).ok().map_err(of_code)?;
    Ok(id)
}

async fn describe(connection: &Connection, group: &str) -> Result<DescribedGroup, Failure> {
    let request = DescribeGroupsRequest { groups: vec![group.to_owned()], ..Default::default() };
    let response = exchange(connection, &request, i16::MAX).await?;
    let found = response.groups.into_iter().next();
    let mut found = found.ok_or_else(|| failure(Reason::Other, "the response does not contain the group"))?;
    match ErrorCode::from(found.error_code) {
        ErrorCode::None => Ok(found),
        // An unused group, or a group of another type than classic.
        ErrorCode::GroupIdNotFound => {
            "Dead".clone_into(&mut found.group_state);
            Ok(found)
        }
        code => Err(of_code(code)),
    }
}

//! A group's coordinator: who is it, and does it answer for the group?

use std::sync::Arc;

use ottla_protocol::messages::describe_groups::{DescribeGroupsRequest, DescribedGroup};
use ottla_protocol::messages::find_coordinator::{FindCoordinatorRequest, FindCoordinatorResponse};
use ottla_protocol::{ErrorCode, Request};
use tokio::time::{Duration, Instant, sleep};

use super::Probe;
use super::check::{Check, Reason};
use super::facts::{CoordinatorFacts, Failure};
use super::steps::{failure, of_code, of_error, step};
use crate::connection::Connection;

/// The first version that takes many groups at once.
const MANY: i16 = 4;
/// A cluster's first group makes the topic of the offsets, which takes a moment.
const PAUSE: Duration = Duration::from_millis(100);

/// Looks for the coordinator by asking `anyone`, and then asks it about the group, if it is among
/// the brokers that were `reached`.
pub(super) async fn look(
    probe: &Probe,
    group: &str,
    anyone: &Connection,
    reached: &[(i32, Arc<Connection>)],
) -> CoordinatorFacts {
    let mut facts = CoordinatorFacts {
        group: group.to_owned(),
        steps: Vec::new(),
        broker: None,
        state: None,
        members: None,
    };
    let (found, broker) = step(probe, Check::FindCoordinator, retrying(probe, || find(anyone, group))).await;
    facts.steps.push(found);
    facts.broker = broker;
    let connection = reached.iter().find(|(id, _)| Some(*id) == broker).map(|(_, connection)| connection);
    if let Some(connection) = connection {
        let (described, group) =
            step(probe, Check::DescribeGroups, retrying(probe, || describe(connection, group))).await;
        facts.steps.push(described);
        if let Some(group) = group {
            facts.state = Some(group.group_state);
            facts.members = Some(group.members.len());
        }
    }
    facts
}

/// Asks again while the coordinator is on its way, but ends with its answer in time.
async fn retrying<T, F: Future<Output = Result<T, Failure>>>(
    probe: &Probe,
    ask: impl Fn() -> F,
) -> Result<T, Failure> {
    let end = probe.phase_end();
    let coming = |failure: &Failure| {
        use ErrorCode::{CoordinatorLoadInProgress, CoordinatorNotAvailable, NotCoordinator};
        // A broker is named as coordinator a moment before it knows of it itself.
        matches!(failure.code, Some(CoordinatorNotAvailable | CoordinatorLoadInProgress | NotCoordinator))
    };
    loop {
        match ask().await {
            Err(failure) if coming(&failure) && Instant::now() + 2 * PAUSE < end => sleep(PAUSE).await,
            outcome => return outcome,
        }
    }
}

async fn find(connection: &Connection, group: &str) -> Result<i32, Failure> {
    let version = version::<FindCoordinatorRequest>(connection)?;
    let request = match version {
        MANY.. => FindCoordinatorRequest { coordinator_keys: vec![group.to_owned()], ..Default::default() },
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
    let version = version::<DescribeGroupsRequest>(connection)?;
    let request = DescribeGroupsRequest { groups: vec![group.to_owned()], ..Default::default() };
    let response = exchange(connection, &request, version).await?;
    let found = response.groups.into_iter().next();
    let mut found = found.ok_or_else(|| failure(Reason::Other, "the answer leaves the group out"))?;
    match ErrorCode::from(found.error_code) {
        ErrorCode::None => Ok(found),
        // A group that nobody has used yet, or one that is not of the classic kind.
        ErrorCode::GroupIdNotFound => {
            "Dead".clone_into(&mut found.group_state);
            Ok(found)
        }
        code => Err(of_code(code)),
    }
}

fn version<R: Request>(connection: &Connection) -> Result<i16, Failure> {
    connection.version::<R>(i16::MAX).map_err(|error| of_error(&error, false))
}

async fn exchange<R: Request>(
    connection: &Connection,
    request: &R,
    version: i16,
) -> Result<R::Response, Failure> {
    let ended = |error| of_error(&error, connection.close_reason().is_some());
    connection.request(request, version).await.map_err(ended)
}

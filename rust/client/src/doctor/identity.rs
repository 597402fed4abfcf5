//! Checks which broker responds at an advertised address: the one that the metadata names, or another
//! one, as behind a load balancer for all brokers.
//!
//! No response identifies the broker that sent it. But a broker describes only its own configuration: in a
//! DescribeConfigs request for all brokers, only the entry of its own id succeeds. If the principal may
//! not do that, newer brokers compare the id that a client announces in ApiVersions with their own
//! (KIP-1242).

use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::messages::api_versions::ApiVersionsRequest;
use ottla_protocol::messages::describe_configs::{DescribeConfigsRequest, DescribeConfigsResource};
use ottla_protocol::{ErrorCode, Request};

use super::ProbeContext;
use super::check::{Check, Reason};
use super::facts::{Failure, Step};
use super::progress::Subject;
use super::steps::{begin_step, failure};
use crate::connection::{Connection, api_versions_request};

/// The resource type of a broker's configuration.
const BROKER: i8 = 4;
/// The first version of ApiVersions in which the client announces the expected broker id (KIP-1242).
const ANNOUNCED_ID_VERSION: i16 = 5;
/// In a larger cluster, only the expected broker's configuration is requested.
const MAX_DESCRIBED: usize = 200;

/// The broker that should respond.
#[derive(Debug, Clone)]
pub(super) struct ExpectedBroker {
    pub(super) id: i32,
    /// The ids of all brokers of the cluster.
    pub(super) all: Arc<[i32]>,
    pub(super) cluster_id: Option<String>,
}

/// The broker that responds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BrokerIdentity {
    Expected,
    /// Another one, with its id if known.
    Another(Option<i32>),
    /// The broker does not reveal it.
    Unknown,
}

/// Checks the broker's id. Returns the check, unless the broker does not reveal its id, and the id if
/// known.
pub(super) async fn check(
    probe: &ProbeContext,
    subject: &Subject,
    connection: &Connection,
    expected: &ExpectedBroker,
) -> (Option<Step>, Option<i32>) {
    let (mut step, identity) = begin_step(probe, subject, Check::Identity, async {
        Ok::<_, Failure>(identify(connection, expected).await)
    })
    .await;
    let (known, node) = match identity {
        Some(BrokerIdentity::Expected) => (true, Some(expected.id)),
        Some(BrokerIdentity::Another(id)) => {
            let responder = id.map_or("another broker".to_owned(), |id| format!("broker {id}"));
            let message = format!("{responder} responds here, not broker {}", expected.id);
            step.failure = Some(failure(Reason::AnotherBroker, message));
            (true, id)
        }
        Some(BrokerIdentity::Unknown) | None => {
            // A broker that does not reveal its id is not at fault.
            step.failure = None;
            (false, None)
        }
    };
    probe.report_end(subject, &step);
    (known.then_some(step), node)
}

/// Identifies the broker that responds on a connection.
pub(super) async fn identify(connection: &Connection, expected: &ExpectedBroker) -> BrokerIdentity {
    match identify_by_configs(connection, expected).await {
        BrokerIdentity::Unknown => identify_by_announced_id(connection, expected).await,
        known => known,
    }
}

/// Identifies the broker by the only configuration that it describes.
async fn identify_by_configs(connection: &Connection, expected: &ExpectedBroker) -> BrokerIdentity {
    let ids = if expected.all.len() > MAX_DESCRIBED { &[expected.id][..] } else { &expected.all };
    let resource = |id: &i32| DescribeConfigsResource {
        resource_type: BROKER,
        resource_name: id.to_string(),
        configuration_keys: Some(vec!["broker.id".to_owned()]),
    };
    let request =
        DescribeConfigsRequest { resources: ids.iter().map(resource).collect(), ..Default::default() };
    let Some(response) = send(connection, &request, i16::MAX).await else { return BrokerIdentity::Unknown };
    let code = |id: i32| {
        let result = response.results.iter().find(|result| result.resource_name == id.to_string())?;
        Some(ErrorCode::from(result.error_code))
    };
    let described: Vec<i32> = ids.iter().copied().filter(|id| code(*id) == Some(ErrorCode::None)).collect();
    match (&described[..], code(expected.id)) {
        ([id], _) if *id == expected.id => BrokerIdentity::Expected,
        ([id], Some(ErrorCode::InvalidRequest)) => BrokerIdentity::Another(Some(*id)),
        ([], Some(ErrorCode::InvalidRequest)) => BrokerIdentity::Another(None),
        // Not permitted, or a proxy that describes every broker.
        _ => BrokerIdentity::Unknown,
    }
}

/// Identifies the broker by its response to the announced id of the expected one.
async fn identify_by_announced_id(connection: &Connection, expected: &ExpectedBroker) -> BrokerIdentity {
    if connection.version::<ApiVersionsRequest>(i16::MAX).is_ok_and(|version| version < ANNOUNCED_ID_VERSION)
    {
        return BrokerIdentity::Unknown;
    }
    let request = ApiVersionsRequest {
        cluster_id: expected.cluster_id.clone(),
        node_id: expected.id,
        ..api_versions_request()
    };
    match send(connection, &request, i16::MAX).await.map(|response| ErrorCode::from(response.error_code)) {
        Some(ErrorCode::None) => BrokerIdentity::Expected,
        Some(ErrorCode::RebootstrapRequired) => BrokerIdentity::Another(None),
        _ => BrokerIdentity::Unknown,
    }
}

async fn send<R: Request>(connection: &Connection, request: &R, max: i16) -> Option<R::Response> {
    let version = connection.version::<R>(max).ok()?;
    connection.request_within(request, version, Duration::from_secs(30)).await.ok()
}

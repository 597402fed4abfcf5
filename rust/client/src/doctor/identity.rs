//! Who answers at an advertised address: the broker that the metadata names, or another one, as
//! behind one address for all brokers.
//!
//! No answer to a client carries its sender's id. But a broker describes its own configuration
//! only, and refuses to describe another one's: asked for all brokers at once, it says yes to its
//! own id alone. Where the principal may not ask that, newer brokers compare the id that a client
//! announces in ApiVersions with their own (KIP-1242).

use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::messages::api_versions::ApiVersionsRequest;
use ottla_protocol::messages::describe_configs::{DescribeConfigsRequest, DescribeConfigsResource};
use ottla_protocol::{ErrorCode, Request};

use super::Probe;
use super::check::{Check, Reason};
use super::facts::{Failure, Step};
use super::steps::{failure, step};
use crate::connection::Connection;

const BROKER: i8 = 4;
/// The first version in which a client announces whom it takes the broker for.
const ANNOUNCING: i16 = 5;
/// Of a larger cluster, only the broker that is expected is asked about.
const ASK_ABOUT_ALL: usize = 200;

/// Who should be there.
#[derive(Debug, Clone)]
pub(super) struct Expected {
    pub(super) id: i32,
    /// All brokers of the cluster.
    pub(super) all: Arc<[i32]>,
    pub(super) cluster_id: Option<String>,
}

/// Who is there.
enum Who {
    Expected,
    Another(Option<i32>),
    /// The broker does not say.
    Unknown,
}

/// Asks the broker who it is: the check, and the id where it is known. No check where the broker
/// does not say.
pub(super) async fn look(
    probe: &Probe,
    connection: &Connection,
    expected: &Expected,
) -> (Option<Step>, Option<i32>) {
    let (mut step, who) = step(probe, Check::Identity, async {
        Ok::<_, Failure>(match described(connection, expected).await {
            Who::Unknown => announced(connection, expected).await,
            known => known,
        })
    })
    .await;
    match who {
        Some(Who::Expected) => (Some(step), Some(expected.id)),
        Some(Who::Another(id)) => {
            let there = id.map_or("another broker".to_owned(), |id| format!("broker {id}"));
            let words = format!("{there} answers here, not broker {}", expected.id);
            step.failure = Some(failure(Reason::AnotherBroker, words));
            (Some(step), id)
        }
        Some(Who::Unknown) | None => (None, None),
    }
}

/// By the one configuration that the broker describes.
async fn described(connection: &Connection, expected: &Expected) -> Who {
    let asked = if expected.all.len() > ASK_ABOUT_ALL { &[expected.id][..] } else { &expected.all };
    let resource = |id: &i32| DescribeConfigsResource {
        resource_type: BROKER,
        resource_name: id.to_string(),
        configuration_keys: Some(vec!["broker.id".to_owned()]),
    };
    let request =
        DescribeConfigsRequest { resources: asked.iter().map(resource).collect(), ..Default::default() };
    let Some(response) = send(connection, &request, i16::MAX).await else { return Who::Unknown };
    let code = |id: i32| {
        let result = response.results.iter().find(|result| result.resource_name == id.to_string())?;
        Some(ErrorCode::from(result.error_code))
    };
    let own: Vec<i32> = asked.iter().copied().filter(|id| code(*id) == Some(ErrorCode::None)).collect();
    match (&own[..], code(expected.id)) {
        ([id], _) if *id == expected.id => Who::Expected,
        ([id], Some(ErrorCode::InvalidRequest)) => Who::Another(Some(*id)),
        ([], Some(ErrorCode::InvalidRequest)) => Who::Another(None),
        // Refused, or a proxy that describes every broker.
        _ => Who::Unknown,
    }
}

/// By what the broker says to being taken for the expected one.
async fn announced(connection: &Connection, expected: &Expected) -> Who {
    if connection.version::<ApiVersionsRequest>(i16::MAX).is_ok_and(|version| version < ANNOUNCING) {
        return Who::Unknown;
    }
    let request = ApiVersionsRequest {
        client_software_name: "ottla".to_owned(),
        client_software_version: env!("CARGO_PKG_VERSION").to_owned(),
        cluster_id: expected.cluster_id.clone(),
        node_id: expected.id,
    };
    match send(connection, &request, i16::MAX).await.map(|answer| ErrorCode::from(answer.error_code)) {
        Some(ErrorCode::None) => Who::Expected,
        Some(ErrorCode::RebootstrapRequired) => Who::Another(None),
        _ => Who::Unknown,
    }
}

async fn send<R: Request>(connection: &Connection, request: &R, max: i16) -> Option<R::Response> {
    let version = connection.version::<R>(max).ok()?;
    connection.request_within(request, version, Duration::from_secs(30)).await.ok()
}

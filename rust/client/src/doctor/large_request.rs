//! Checks that requests and responses of several packets get through.
//!
//! If a path carries only smaller packets than its ends assume, and the ICMP messages that say so are
//! filtered (an MTU black hole), connections are established and small requests get responses, but large
//! ones vanish. The check requests the metadata of a topic with an impossibly long name; the response
//! repeats the name, so that both directions are tested without changing the cluster. It uses a
//! dedicated connection, so that lost packets delay nothing else.

use std::net::SocketAddr;
use std::sync::Arc;

use ottla_protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic};

use super::ProbeContext;
use super::check::{Check, Reason};
use super::dedicated_connection;
use super::facts::{Failure, Step};
use super::progress::Subject;
use super::steps::{begin_step, failure, of_error};
use crate::cluster::bootstrap::request_metadata;
use crate::connection::Connection;
use crate::endpoint::Endpoint;
use crate::error::Result;

/// The length of the name in bytes: more than any common packet (1,500) carries, and more than the 249
/// that Kafka allows in a topic's name.
const NAME_BYTES: usize = 4096;

/// Checks one broker, which has responded to small requests at this address. Returns the check, the
/// connection if it passed, and the id of the cluster that responded on it.
pub(super) async fn check(
    probe: &ProbeContext,
    subject: &Subject,
    endpoint: &Endpoint,
    address: SocketAddr,
) -> (Step, Option<(Arc<Connection>, Option<String>)>) {
    let (mut checked, response) = begin_step(probe, subject, Check::LargeRequest, async {
        send(probe, endpoint, address).await.map_err(|error| of_error(&error, false))
    })
    .await;
    if let Some(Failure { reason: Reason::TimedOut, .. }) = checked.failure {
        let message = format!("small requests get a response, a request of {NAME_BYTES} bytes does not");
        checked.failure = Some(failure(Reason::LargeRequestsLost, message));
    }
    probe.report_end(subject, &checked);
    (checked, response)
}

async fn send(
    probe: &ProbeContext,
    endpoint: &Endpoint,
    address: SocketAddr,
) -> Result<(Arc<Connection>, Option<String>)> {
    let connection = dedicated_connection::connect(probe, endpoint, address).await?;
    let topic = MetadataRequestTopic { name: Some("~".repeat(NAME_BYTES)), ..Default::default() };
    let request =
        MetadataRequest { topics: Some(vec![topic]), allow_auto_topic_creation: false, ..Default::default() };
    let response = request_metadata(&connection, &request).await?;
    Ok((connection, response.cluster_id))
}

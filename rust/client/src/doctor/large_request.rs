//! Do requests and responses that fill several packets get through?
//!
//! Where a path carries smaller packets than its ends believe and the ICMP messages that say so are
//! filtered, connections come up, small requests are answered, and large ones vanish (an MTU black
//! hole). The request asks for the metadata of a topic whose name no topic can have, and the response
//! repeats that name, so that both directions are tried and nothing changes in the cluster. It has
//! a connection of its own: what is lost on it holds up nothing else.

use std::net::SocketAddr;

use ottla_protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic};

use super::Probe;
use super::check::{Check, Reason};
use super::facts::{Failure, Step};
use super::own_connection;
use super::steps::{failure, of_error, step};
use crate::cluster::bootstrap::request_metadata;
use crate::connection::Endpoint;
use crate::error::Result;

/// The length of the name in bytes: more than any common packet (1,500) carries, and more than the 249
/// that Kafka allows in a topic's name.
const NAME_BYTES: usize = 4096;

/// Checks one broker, which has answered small requests at this address.
pub(super) async fn look(probe: &Probe, endpoint: &Endpoint, address: SocketAddr) -> Step {
    let (mut looked, _) = step(probe, Check::LargeRequest, async {
        exchange(probe, endpoint, address).await.map_err(|error| of_error(&error, false))
    })
    .await;
    if let Some(Failure { reason: Reason::TimedOut, .. }) = looked.failure {
        let message = format!("small requests are answered, one of {NAME_BYTES} bytes is not");
        looked.failure = Some(failure(Reason::LargeRequestsLost, message));
    }
    looked
}

async fn exchange(probe: &Probe, endpoint: &Endpoint, address: SocketAddr) -> Result<()> {
    let connection = own_connection::connect(probe, endpoint, address).await?;
    let topic = MetadataRequestTopic { name: Some("~".repeat(NAME_BYTES)), ..Default::default() };
    let request =
        MetadataRequest { topics: Some(vec![topic]), allow_auto_topic_creation: false, ..Default::default() };
    request_metadata(&connection, &request).await.map(drop)
}

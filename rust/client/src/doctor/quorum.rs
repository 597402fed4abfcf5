//! The quorum of KRaft controllers: which one leads, and do the others keep up?
//!
//! Metadata names a random broker as controller in a KRaft cluster, so the quorum itself is asked.
//! Brokers forward the request to the active controller; without one, it is not answered.

use std::net::SocketAddr;

use ottla_protocol::messages::describe_quorum::{
    DescribeQuorumPartitionData, DescribeQuorumRequest, PartitionData, ReplicaState, TopicData,
};
use ottla_protocol::{ApiKey, ErrorCode};

use super::Probe;
use super::check::{Check, Reason};
use super::facts::{AddressFacts, EndpointFacts, Failure, QuorumFacts, VoterFacts};
use super::own_connection;
use super::steps::{failure, of_code, of_error, step};
use crate::connection::Endpoint;

/// The topic that holds the cluster's metadata.
const METADATA_TOPIC: &str = "__cluster_metadata";

/// Asks a broker for the quorum. None where brokers do not forward this (ZooKeeper, other servers)
/// and where the principal may not ask.
pub(super) async fn look(probe: &Probe, bootstrap: &[EndpointFacts]) -> Option<QuorumFacts> {
    let speaks = |address: &&AddressFacts| {
        let quorum = ApiKey::DescribeQuorum.name();
        address.view.is_some() && address.apis.iter().any(|api| api.name == quorum)
    };
    let (endpoint, address) = bootstrap
        .iter()
        .find_map(|server| Some((&server.endpoint, server.addresses.iter().find(speaks)?.address)))?;
    let (looked, found) = step(probe, Check::DescribeQuorum, describe(probe, endpoint, address)).await;
    let code = looked.failure.as_ref().and_then(|failure| failure.code);
    if code == Some(ErrorCode::ClusterAuthorizationFailed) {
        return None;
    }
    let mut facts = QuorumFacts { steps: vec![looked], leader: None, voters: Vec::new() };
    if let Some(quorum) = found {
        facts.leader = Some(quorum.leader_id).filter(|id| *id >= 0);
        facts.voters = voters(&quorum);
    }
    Some(facts)
}

async fn describe(
    probe: &Probe,
    endpoint: &Endpoint,
    address: SocketAddr,
) -> Result<DescribeQuorumPartitionData, Failure> {
    let connection = own_connection::connect(probe, endpoint, address).await;
    let connection = connection.map_err(|error| of_error(&error, false))?;
    let version =
        connection.version::<DescribeQuorumRequest>(i16::MAX).map_err(|error| of_error(&error, false))?;
    let partitions = vec![PartitionData { partition_index: 0 }];
    let topics = vec![TopicData { topic_name: METADATA_TOPIC.to_owned(), partitions }];
    let request = DescribeQuorumRequest { topics };
    let ended = |error| of_error(&error, connection.close_reason().is_some());
    let response = connection.request(&request, version).await.map_err(ended)?;
    ErrorCode::from(response.error_code).ok().map_err(of_code)?;
    let found = response.topics.into_iter().flat_map(|topic| topic.partitions).next();
    let found = found.ok_or_else(|| failure(Reason::Other, "the response has no quorum"))?;
    ErrorCode::from(found.error_code).ok().map_err(of_code)?;
    Ok(found)
}

/// The voters, with their lag by the leader's clock.
fn voters(quorum: &DescribeQuorumPartitionData) -> Vec<VoterFacts> {
    let caught_up = |voter: &ReplicaState| Some(voter.last_caught_up_timestamp).filter(|time| *time >= 0);
    let leader = quorum.current_voters.iter().find(|voter| voter.replica_id == quorum.leader_id);
    let now = leader.and_then(caught_up);
    let mut voters: Vec<VoterFacts> = quorum
        .current_voters
        .iter()
        .map(|voter| {
            let lag_ms = now.zip(caught_up(voter)).map(|(now, then)| now.saturating_sub(then).max(0));
            VoterFacts { id: voter.replica_id, lag_ms }
        })
        .collect();
    voters.sort_by_key(|voter| voter.id);
    voters
}

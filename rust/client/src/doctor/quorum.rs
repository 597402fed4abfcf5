//! Checks the quorum of KRaft controllers: which one is active, and whether the others keep up.
//!
//! In a KRaft cluster, the metadata names a random broker as controller, so this describes the quorum
//! itself. Brokers forward the request to the active controller; without one, there is no response.

use std::net::SocketAddr;

use ottla_protocol::messages::describe_quorum::{
    DescribeQuorumPartitionData, DescribeQuorumRequest, PartitionData, ReplicaState, TopicData,
};
use ottla_protocol::{ApiKey, ErrorCode};

use super::ProbeContext;
use super::check::{Check, Reason};
use super::dedicated_connection;
use super::facts::{AddressFacts, EndpointFacts, Failure, QuorumFacts, VoterFacts};
use super::progress::Subject;
use super::steps::{exchange, failure, of_code, of_error, step};
use crate::endpoint::Endpoint;

/// The topic that holds the cluster's metadata.
const METADATA_TOPIC: &str = "__cluster_metadata";

/// The first working bootstrap server that forwards DescribeQuorum; `None` without KRaft.
pub(super) fn find_server(bootstrap: &[EndpointFacts]) -> Option<(Endpoint, SocketAddr)> {
    let supports = |address: &&AddressFacts| {
        let quorum = ApiKey::DescribeQuorum.name();
        address.view.is_some() && address.apis.iter().any(|api| api.name == quorum)
    };
    bootstrap
        .iter()
        .find_map(|server| Some((server.endpoint.clone(), server.addresses.iter().find(supports)?.address)))
}

/// Describes the quorum through a broker. `None` without such a broker, and if the principal may not
/// describe the cluster.
pub(super) async fn check(
    probe: &ProbeContext,
    server: Option<(Endpoint, SocketAddr)>,
) -> Option<QuorumFacts> {
    let (endpoint, address) = server?;
    let subject = Subject::controllers();
    let description = describe(probe, &endpoint, address);
    let (checked, quorum) = step(probe, &subject, Check::DescribeQuorum, description).await;
    let code = checked.failure.as_ref().and_then(|failure| failure.code);
    if code == Some(ErrorCode::ClusterAuthorizationFailed) {
        return None;
    }
    let mut facts = QuorumFacts { steps: vec![checked], leader: None, voters: Vec::new() };
    if let Some(quorum) = quorum {
        facts.leader = Some(quorum.leader_id).filter(|id| *id >= 0);
        facts.voters = voters(&quorum);
    }
    Some(facts)
}

async fn describe(
    probe: &ProbeContext,
    endpoint: &Endpoint,
    address: SocketAddr,
) -> Result<DescribeQuorumPartitionData, Failure> {
    let connection = dedicated_connection::connect(probe, endpoint, address).await;
    let connection = connection.map_err(|error| of_error(&error, false))?;
    let partitions = vec![PartitionData { partition_index: 0 }];
    let topics = vec![TopicData { topic_name: METADATA_TOPIC.to_owned(), partitions }];
    let request = DescribeQuorumRequest { topics };
    let response = exchange(&connection, &request, i16::MAX).await?;
    ErrorCode::from(response.error_code).ok().map_err(of_code)?;
    let found = response.topics.into_iter().flat_map(|topic| topic.partitions).next();
    let found = found.ok_or_else(|| failure(Reason::Other, "the response does not contain the quorum"))?;
    ErrorCode::from(found.error_code).ok().map_err(of_code)?;
    Ok(found)
}

/// The voters, with their lag behind the leader.
fn voters(quorum: &DescribeQuorumPartitionData) -> Vec<VoterFacts> {
    let caught_up = |voter: &ReplicaState| Some(voter.last_caught_up_timestamp).filter(|time| *time >= 0);
    let leader = quorum.current_voters.iter().find(|voter| voter.replica_id == quorum.leader_id);
    let latest = leader.and_then(caught_up);
    let mut voters: Vec<VoterFacts> = quorum
        .current_voters
        .iter()
        .map(|voter| {
            let lag_ms =
                latest.zip(caught_up(voter)).map(|(latest, time)| latest.saturating_sub(time).max(0));
            VoterFacts { id: voter.replica_id, lag_ms }
        })
        .collect();
    voters.sort_by_key(|voter| voter.id);
    voters
}

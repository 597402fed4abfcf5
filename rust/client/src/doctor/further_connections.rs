//! Checks whether further connections to an address lead to the same cluster and to the same broker.
//!
//! A load balancer, a virtual IP or a port of every node chooses a server for each connection, so a single
//! connection shows only one of the servers behind it. Two more connections, one after the other, show
//! whether there are others. At an advertised address, the check of large requests makes one of the two.
//!
//! Invariants: besides that one, at most one is open to an address at a time; each wait ends with the step's
//! deadline, and after `TIME`. A connection that fails shows nothing: it may be one too many.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::messages::metadata::MetadataRequest;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::ProbeContext;
use super::dedicated_connection;
use super::facts::{AddressFacts, EndpointFacts};
use super::identity::{self, BrokerIdentity, ExpectedBroker};
use crate::cluster::bootstrap::request_metadata;
use crate::connection::Connection;
use crate::endpoint::Endpoint;

/// Further connections to a bootstrap server's address.
const BOOTSTRAP_CONNECTIONS: usize = 2;
/// How long one may take: they run at the same time as other checks, which they should not outlast.
const TIME: Duration = Duration::from_secs(2);

/// What responded at one further connection.
#[derive(Debug)]
pub(super) struct Observation {
    pub(super) cluster_id: Option<String>,
    /// The broker; `None` if it is not known.
    pub(super) identity: Option<BrokerIdentity>,
}

/// Connects once more to the advertised address of a broker.
pub(super) async fn observe(
    probe: &ProbeContext,
    endpoint: &Endpoint,
    address: SocketAddr,
    expected: &ExpectedBroker,
) -> Option<Observation> {
    let (connection, cluster_id) = connect(probe, endpoint, address).await?;
    Some(observe_on(probe, &connection, cluster_id, Some(expected)).await)
}

/// Identifies the broker of a connection on which it has returned the id of its cluster.
pub(super) async fn observe_on(
    probe: &ProbeContext,
    connection: &Connection,
    cluster_id: Option<String>,
    expected: Option<&ExpectedBroker>,
) -> Observation {
    let identifying = async { Some(identity::identify(connection, expected?).await) };
    Observation { cluster_id, identity: within_time(probe, identifying).await }
}

/// Adds what differs from the first connection to the facts.
pub(super) fn compare(
    facts: &mut AddressFacts,
    observations: impl IntoIterator<Item = Observation>,
    expected: Option<&ExpectedBroker>,
) {
    let own = facts.view.as_ref().and_then(|view| view.cluster_id.clone());
    for Observation { cluster_id, identity } in observations {
        if let (Some(own), Some(other)) = (&own, cluster_id)
            && *own != other
        {
            insert(&mut facts.other_clusters, other);
            // Ids of another cluster's brokers mean nothing here.
            continue;
        }
        let node = match (identity, expected) {
            (Some(BrokerIdentity::Expected), Some(expected)) => Some(expected.id),
            (Some(BrokerIdentity::Another(id)), _) => id,
            _ => continue,
        };
        // Two brokers of unknown id may be the same one.
        if node != facts.node {
            insert(&mut facts.other_nodes, node);
        }
    }
}

fn insert<T: Ord>(sorted: &mut Vec<T>, value: T) {
    if let Err(at) = sorted.binary_search(&value) {
        sorted.insert(at, value);
    }
}

/// The place of an address in the facts of the bootstrap servers.
type Place = (usize, usize);

/// The further connections to the bootstrap servers' addresses that work.
#[derive(Debug)]
pub(super) struct BootstrapObservations(JoinSet<(Place, Vec<Observation>)>);

impl BootstrapObservations {
    /// Starts them; they run beside the other checks.
    pub(super) fn start(probe: &Arc<ProbeContext>, bootstrap: &[EndpointFacts]) -> Self {
        let mut tasks = JoinSet::new();
        for (server, facts) in bootstrap.iter().enumerate() {
            for (index, address) in facts.addresses.iter().enumerate() {
                if address.view.is_none() {
                    continue;
                }
                let (probe, endpoint, address) = (Arc::clone(probe), facts.endpoint.clone(), address.address);
                tasks.spawn(
                    async move { ((server, index), observe_bootstrap(&probe, &endpoint, address).await) },
                );
            }
        }
        Self(tasks)
    }

    /// Waits for them and adds what differs to the facts.
    pub(super) async fn finish(mut self, bootstrap: &mut [EndpointFacts]) {
        while let Some(joined) = self.0.join_next().await {
            if let Ok(((server, index), observations)) = joined
                && let Some(facts) = bootstrap.get_mut(server)
                && let Some(address) = facts.addresses.get_mut(index)
            {
                compare(address, observations, None);
            }
        }
    }
}

/// Any broker of the cluster may respond as bootstrap server, so the brokers are not identified.
async fn observe_bootstrap(
    probe: &ProbeContext,
    endpoint: &Endpoint,
    address: SocketAddr,
) -> Vec<Observation> {
    let mut observations = Vec::new();
    let Ok(_permit) = probe.permits.acquire().await else { return observations };
    for _ in 0..BOOTSTRAP_CONNECTIONS {
        let Some((_, cluster_id)) = connect(probe, endpoint, address).await else { break };
        observations.push(Observation { cluster_id, identity: None });
    }
    observations
}

/// A connection, and the id of the cluster that responds.
async fn connect(
    probe: &ProbeContext,
    endpoint: &Endpoint,
    address: SocketAddr,
) -> Option<(Arc<Connection>, Option<String>)> {
    let connecting = async {
        let connection = dedicated_connection::connect(probe, endpoint, address).await.ok()?;
        let request = MetadataRequest { topics: Some(Vec::new()), ..Default::default() };
        let response = request_metadata(&connection, &request).await.ok()?;
        Some((connection, response.cluster_id))
    };
    within_time(probe, connecting).await
}

async fn within_time<T>(probe: &ProbeContext, observing: impl Future<Output = Option<T>>) -> Option<T> {
    let end = probe.step_deadline().min(Instant::now() + TIME);
    timeout_at(end, observing).await.ok().flatten()
}

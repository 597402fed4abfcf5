//! Proves: what further connections to an address lead to is recorded if it differs from the first one:
//! another cluster, or another broker; a healthy address costs a fixed number of connections, and a
//! further connection that hangs delays the facts by little and is no failure.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use crate::support::*;
use ottla_client::doctor::{Facts, Targets, examine};
use ottla_client::environment::{BoxFuture, Environment, Network, SocketOptions, Stream};
use ottla_mock::{MockCluster, MockConfig};
use parking_lot::Mutex;
use tokio::time::Instant;

/// A network with balancers: connections to an address lead to its servers in turn; `None` is a server that
/// never accepts. It records the address of each connection.
#[derive(Debug, Default)]
struct Balancers {
    memory: Memory,
    servers: Mutex<HashMap<SocketAddr, Vec<Option<SocketAddr>>>>,
    connects: Mutex<Vec<SocketAddr>>,
}

impl Network for Balancers {
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
        self.memory.resolve(host, port)
    }

    fn connect(
        &self,
        address: SocketAddr,
        options: SocketOptions,
    ) -> BoxFuture<'_, io::Result<Box<dyn Stream>>> {
        let turn = self.connects.lock().iter().filter(|connect| **connect == address).count();
        self.connects.lock().push(address);
        let servers = self.servers.lock();
        let server = servers.get(&address).map_or(Some(address), |servers| servers[turn % servers.len()]);
        match server {
            Some(server) => self.memory.connect(server, options),
            None => Box::pin(std::future::pending()),
        }
    }
}

/// A cluster of one broker, which advertises the balancer.
async fn one_broker(balancer: SocketAddr) -> (MockCluster, SocketAddr) {
    let cluster = MockCluster::start(MockConfig { brokers: 1, ..in_memory() }).await.expect("a cluster");
    let address = cluster.brokers()[0].address;
    cluster.advertise(1, &balancer.ip().to_string(), balancer.port()).expect("an address");
    (cluster, address)
}

fn balancer(port: u16) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1], port))
}

async fn facts_of(network: &Arc<Balancers>, server: SocketAddr) -> Facts {
    let environment = Environment::new(Arc::clone(network) as _, fastrand::Rng::with_seed(1));
    let config = config(&server.to_string(), &[]);
    within_deadline(examine(config, environment, Targets::default(), CALL_TIMEOUT / 2)).await.expect("facts")
}

#[tokio::test(start_paused = true)]
async fn another_cluster_behind_an_address_is_recorded() {
    let shared = balancer(9092);
    let network = Arc::new(Balancers::default());
    let ((one, first), (two, second)) = (one_broker(shared).await, one_broker(shared).await);
    network.servers.lock().insert(shared, vec![Some(first), Some(second)]);
    let facts = facts_of(&network, shared).await;
    let addresses = [&facts.bootstrap[0].addresses[0], &facts.brokers[0].endpoint.addresses[0]];
    let (one, two) = (one.cluster_id(), two.cluster_id());
    for address in addresses {
        let own = address.view.as_ref().and_then(|view| view.cluster_id.clone()).expect("a cluster id");
        let other = if own == one { &two } else { &one };
        // It depends on the order of connections at which of the two places both clusters respond.
        assert!(address.other_clusters.is_empty() || address.other_clusters == [other.clone()]);
        assert!(address.other_nodes.is_empty(), "ids of another cluster mean nothing");
    }
    assert!(addresses.iter().any(|address| !address.other_clusters.is_empty()));
}

#[tokio::test(start_paused = true)]
async fn another_broker_behind_an_advertised_address_is_recorded() {
    let cluster = cluster(3).await;
    let brokers: Vec<_> = cluster.brokers().iter().map(|broker| broker.address).collect();
    let network = Arc::new(Balancers::default());
    network.servers.lock().insert(balancer(9093), vec![Some(brokers[1]), Some(brokers[2])]);
    cluster.advertise(2, "192.0.2.1", 9093).expect("an address");
    let facts = facts_of(&network, brokers[0]).await;
    let found = facts.brokers.iter().map(|broker| &broker.endpoint.addresses[0]);
    let found: Vec<_> = found.map(|address| (address.node, address.other_nodes.clone())).collect();
    assert_eq!(found, [(Some(1), vec![]), (Some(2), vec![Some(3)]), (Some(3), vec![])]);
    assert!(facts.bootstrap[0].addresses[0].other_clusters.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_healthy_address_costs_a_fixed_number_of_connections() {
    let address = balancer(9092);
    let network = Arc::new(Balancers::default());
    let (_cluster, server) = one_broker(address).await;
    network.servers.lock().insert(address, vec![Some(server)]);
    facts_of(&network, address).await;
    // As bootstrap server: the checks, the quorum, two more. As broker: the checks, a large request, one more.
    assert_eq!(network.connects.lock().len(), 4 + 3);
}

#[tokio::test(start_paused = true)]
async fn a_further_connection_that_hangs_is_no_failure() {
    let address = balancer(9092);
    let network = Arc::new(Balancers::default());
    let (_cluster, server) = one_broker(address).await;
    // The first one is that of the bootstrap server; every second one hangs.
    network.servers.lock().insert(address, vec![Some(server), None]);
    let started = Instant::now();
    let facts = facts_of(&network, address).await;
    assert!(started.elapsed() < CALL_TIMEOUT / 2, "{:?}", started.elapsed());
    let bootstrap = &facts.bootstrap[0].addresses[0];
    assert!(bootstrap.steps.iter().all(|step| step.failure.is_none()), "{:?}", bootstrap.steps);
    assert!(bootstrap.other_clusters.is_empty());
}

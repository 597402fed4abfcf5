//! Proves: a broker at an address that was advertised for another one, or for another cluster, is not used
//! (KIP-1242), nor is the metadata of another cluster that older brokers give there; the client bootstraps
//! again. Without the check, or if the client may not bootstrap again, what responds is used.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use crate::support::*;
use ottla_client::environment::{BoxFuture, Environment, Network, SocketOptions, Stream};
use ottla_client::metadata::TopicSelector;
use ottla_client::producer::Producer;
use ottla_client::{Client, Error, Kind, Route};
use ottla_mock::{ApiLimit, MockCluster, MockConfig, TopicSpec};
use ottla_protocol::{ApiKey, ErrorCode};
use parking_lot::Mutex;

/// The address of the bootstrap server.
const SEED: &str = "192.0.2.1:9092";

const UNCHECKED: [&[(&str, &str)]; 2] =
    [&[("metadata.cluster.check.enable", "false")], &[("metadata.recovery.strategy", "none")]];

/// A cluster; older brokers do not compare ids.
async fn cluster_of(brokers: usize, older: bool) -> MockCluster {
    let mut config = MockConfig { brokers, ..in_memory() };
    if older {
        config.api_limits.insert(ApiKey::ApiVersions, ApiLimit::Max(4));
    }
    MockCluster::start(config).await.expect("a cluster")
}

fn address_of(cluster: &MockCluster, broker: usize) -> SocketAddr {
    cluster.brokers()[broker - 1].address
}

/// A network in which addresses may lead elsewhere.
#[derive(Debug, Default)]
struct Detours {
    memory: Memory,
    detours: Mutex<HashMap<SocketAddr, SocketAddr>>,
}

impl Detours {
    /// A network whose bootstrap server is the first broker of a cluster.
    fn to(cluster: &MockCluster) -> Arc<Self> {
        let network = Arc::new(Self::default());
        network.lead(SEED.parse().unwrap(), address_of(cluster, 1));
        network
    }

    fn lead(&self, from: SocketAddr, to: SocketAddr) {
        self.detours.lock().insert(from, to);
    }
}

impl Network for Detours {
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
        self.memory.resolve(host, port)
    }

    fn connect(
        &self,
        address: SocketAddr,
        options: SocketOptions,
    ) -> BoxFuture<'_, io::Result<Box<dyn Stream>>> {
        let to = self.detours.lock().get(&address).copied().unwrap_or(address);
        self.memory.connect(to, options)
    }
}

async fn client(network: &Arc<Detours>, pairs: &[(&str, &str)]) -> Client {
    let environment = Environment::new(Arc::clone(network) as _, fastrand::Rng::with_seed(1));
    within_deadline(Client::connect(config(SEED, pairs), environment, CALL_TIMEOUT)).await.expect("a client")
}

async fn connect_to(client: &Client, broker: i32) -> Result<(), Error> {
    within_deadline(client.connection(Route::Broker(broker))).await.map(drop)
}

/// Refreshes the metadata on new connections.
async fn refresh(client: &Client, cluster: &MockCluster) {
    let before = client.snapshot().generation;
    cluster.stop_broker(1).await.unwrap();
    cluster.start_broker(1).await.unwrap();
    let refreshed =
        client.retrying("refreshing", CALL_TIMEOUT, || client.refresh(before, TopicSelector::Tracked));
    within_deadline(refreshed).await.expect("metadata");
}

#[tokio::test(start_paused = true)]
async fn another_broker_at_an_advertised_address_is_refused() {
    for older in [false, true] {
        let cluster = cluster_of(2, older).await;
        let network = Detours::to(&cluster);
        network.lead(address_of(&cluster, 2), address_of(&cluster, 1));
        let checked = client(&network, &[]).await;
        connect_to(&checked, 1).await.expect("itself");
        let connected = connect_to(&checked, 2).await;
        if older {
            connected.expect("older brokers do not check");
            continue;
        }
        let error = connected.expect_err("broker 1");
        let id = checked.snapshot().cluster_id.clone().unwrap();
        assert!(error.message().contains(&format!("is not broker 2 of cluster {id}")), "{error}");
        assert_eq!((error.kind(), error.code()), (Kind::Connection, Some(ErrorCode::RebootstrapRequired)));
        for pairs in UNCHECKED {
            connect_to(&client(&network, pairs).await, 2).await.expect("not checked");
        }
    }
}

/// Regression: records for a broker at whose address another one responds failed at once, although nothing of them had
/// been sent, and their deadline was far.
#[tokio::test(start_paused = true)]
async fn records_for_a_misrouted_broker_wait_for_their_deadline() {
    let cluster = cluster_of(2, false).await;
    cluster.create_topic(TopicSpec::new("t").partitions(1)).expect("a topic");
    cluster.move_leader("t", 0, 2).expect("moved");
    let network = Detours::to(&cluster);
    let (first, second) = (address_of(&cluster, 1), address_of(&cluster, 2));
    network.lead(second, first);
    let producer =
        Producer::new(client(&network, &[("delivery.timeout.ms", "60000")]).await).expect("a producer");
    let waiting = send(&producer, 0, "v").await;
    tokio::time::sleep(ms(20_000)).await;
    assert!(waiting.result().is_none(), "{:?}", waiting.result());
    network.lead(second, second);
    assert_eq!(offset_of(&waiting).await.expect("written"), 0);
    assert_eq!(log(&cluster, "t", 0).len(), 1);

    cluster.stop_broker(2).await.unwrap();
    cluster.start_broker(2).await.unwrap();
    cluster.move_leader("t", 0, 2).expect("moved");
    network.lead(second, first);
    let error = offset_of(&send(&producer, 0, "late").await).await.expect_err("never at broker 2");
    assert!(error.to_string().contains("is not broker 2 of cluster"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn metadata_of_another_cluster_is_refused_and_the_cluster_found_again() {
    for older in [false, true] {
        let (cluster, another) = (cluster_of(1, older).await, cluster_of(1, older).await);
        for pairs in [&[], UNCHECKED[0], UNCHECKED[1]] {
            let network = Detours::to(&cluster);
            let client = client(&network, pairs).await;
            let own = client.snapshot().cluster_id.clone();
            network.lead(address_of(&cluster, 1), address_of(&another, 1));
            refresh(&client, &cluster).await;
            let is_checked = pairs.is_empty();
            assert_eq!(client.snapshot().cluster_id == own, is_checked, "{older} {pairs:?}");
        }
    }
}

/// The brokers may have moved to a cluster that replaces the first one.
#[tokio::test(start_paused = true)]
async fn a_cluster_that_replaces_the_first_one_is_taken_from_the_bootstrap_servers() {
    for older in [false, true] {
        let (cluster, another) = (cluster_of(1, older).await, cluster_of(1, older).await);
        let network = Detours::to(&cluster);
        let client = client(&network, &[]).await;
        let before = client.snapshot().cluster_id.clone();
        for address in [SEED.parse().unwrap(), address_of(&cluster, 1)] {
            network.lead(address, address_of(&another, 1));
        }
        refresh(&client, &cluster).await;
        assert_ne!(client.snapshot().cluster_id, before);
        connect_to(&client, 1).await.expect("the new broker");
    }
}

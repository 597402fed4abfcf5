//! Proves: after a reload that names another cluster, new connections lead to that cluster and no other, whatever the
//! clients do that are still at the one before, and whether or not the gateway itself can ask for the brokers.

use ottla_gateway::Gateway;
use ottla_mock::{MockCluster, MockConfig, SaslConfig};
use ottla_protocol::messages::metadata::MetadataRequest;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::support::*;

const CREDENTIALS: [(&str, &str); 4] = [
    ("security.protocol", "SASL_PLAINTEXT"),
    ("sasl.mechanism", "PLAIN"),
    ("sasl.username", "user"),
    ("sasl.password", "pass"),
];

async fn cluster_of(brokers: usize, sasl: Option<SaslConfig>) -> MockCluster {
    MockCluster::start(MockConfig { brokers, sasl, ..MockConfig::default() }).await.expect("a cluster")
}

async fn brokers_behind(gateway: &Gateway, pairs: &[(&str, &str)]) -> usize {
    client(gateway, pairs).await.0.snapshot().brokers.len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_at_the_cluster_before_teaches_nothing() {
    let (large, small) = (cluster_of(3, None).await, cluster_of(1, None).await);
    let gateway = gateway(&large).await;
    let mut before = TcpStream::connect(gateway.address()).await.expect("connected");
    let mut asked_before = async || {
        before.write_all(&frame(&MetadataRequest::default(), 1)).await.expect("sent");
        response(&mut before).await.expect("a response").len()
    };
    let of_three = asked_before().await;
    assert_eq!(brokers_behind(&gateway, &[]).await, 3);

    gateway.reload(config(&small.bootstrap(), &[])).expect("reloaded");
    assert_eq!(brokers_behind(&gateway, &[]).await, 1, "at once");
    for _ in 0..10 {
        asked_before().await;
        assert_eq!(brokers_behind(&gateway, &[]).await, 1);
    }
    until(|| gateway.brokers().len() == 1).await;
    assert!(
        asked_before().await < of_three,
        "a broker that the present cluster does not have has no address"
    );
    assert_eq!(gateway.brokers().len(), 1);

    // Another order of the same servers is the same cluster.
    let servers = [small.bootstrap(), large.bootstrap()];
    gateway.reload(config(&servers.join(","), &[])).expect("reloaded");
    gateway.find_brokers().await.expect("found");
    let known = gateway.brokers();
    gateway.reload(config(&[servers[1].as_str(), &servers[0]].join(","), &[])).expect("reloaded");
    assert_eq!(gateway.brokers(), known);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_without_credentials_leads_to_the_present_cluster() {
    let sasl = || {
        Some(SaslConfig { users: [("user".to_owned(), "pass".to_owned())].into(), ..SaslConfig::default() })
    };
    let (large, small) = (cluster_of(3, sasl()).await, cluster_of(1, sasl()).await);
    let gateway = gateway(&large).await;
    assert_eq!(brokers_behind(&gateway, &CREDENTIALS).await, 3);
    gateway.reload(config(&small.bootstrap(), &[])).expect("reloaded");
    for _ in 0..10 {
        assert_eq!(brokers_behind(&gateway, &CREDENTIALS).await, 1);
    }
}

//! Proves: a gateway that is drained finishes what is in flight, and neither accepts nor keeps connections; one that is
//! dropped closes all; hostile bytes end their own connection only.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use ottla_client::environment::Environment;
use ottla_client::metadata::TopicSelector;
use ottla_client::producer::{Producer, Record};
use ottla_gateway::{Gateway, GatewayConfig};
use ottla_mock::{Fault, Match, MockCluster, Reaction};
use ottla_protocol::ApiKey;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::*;

/// An address of its own: where other tests are, someone may listen at a port as soon as it is free.
const APART: Ipv4Addr = Ipv4Addr::new(127, 77, 0, 1);

async fn gateway_apart(cluster: &MockCluster) -> Gateway {
    let (listen, advertised_host) = (SocketAddr::from((APART, 0)), APART.to_string());
    let config = GatewayConfig { listen, advertised_host, ..gateway_config(&cluster.bootstrap()) };
    Gateway::start(config, Environment::default()).await.expect("a gateway")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn draining_finishes_what_is_in_flight() {
    let cluster = cluster().await;
    let gateway = gateway_apart(&cluster).await;
    let (client, _) = client(&gateway, &[]).await;
    let producer = Producer::new(client).expect("a producer");
    cluster.inject(Fault::new(Match::api(ApiKey::Produce), Reaction::Delay(Duration::from_millis(300))));
    let record = Record { timestamp: 1000, key: None, value: Some(b"v"), headers: &[] };
    let delivery = producer.send("t", Some(0), &record).await.expect("accepted");
    until(|| cluster.request_count(None, ApiKey::Produce) == 1).await;
    let address = gateway.address();
    let cut_off = within_deadline(gateway.drain(Duration::from_secs(20))).await;
    assert_eq!(cut_off, 0);
    within_deadline(delivery.wait()).await.expect("written");
    assert!(TcpStream::connect(address).await.is_err());
    until(|| (1..=3).all(|broker| cluster.connections(broker) == 0)).await;
}

/// Regression: the first response that named the brokers opened their ports again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_port_opens_while_draining() {
    let cluster = cluster().await;
    let gateway = gateway_apart(&cluster).await;
    until(|| gateway.brokers().len() == 3).await;
    let ports: Vec<u16> = gateway.brokers().values().map(|address| address.port).collect();
    let (client, _) = client(&gateway, &[]).await;
    cluster.inject(Fault::new(Match::api(ApiKey::Metadata), Reaction::Delay(Duration::from_millis(300))));
    let generation = client.snapshot().generation;
    let before = cluster.request_count(None, ApiKey::Metadata);
    let refreshing = client.clone();
    let refresh = tokio::spawn(async move { refreshing.refresh(generation, TopicSelector::Tracked).await });
    until(|| cluster.request_count(None, ApiKey::Metadata) > before).await;
    assert_eq!(within_deadline(gateway.drain(Duration::from_secs(20))).await, 0);
    refresh.await.expect("no panic").expect("metadata");
    for port in ports {
        assert!(TcpStream::connect((APART, port)).await.is_err(), "{port}");
    }
}

/// Regression: a connection that was not set up yet held up draining.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_is_not_set_up_does_not_hold_up_draining() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a listener");
    let address = silent.local_addr().expect("an address").to_string();
    let mut config = gateway_config(&address);
    // The broker accepts the connection, and never ends the handshake of TLS.
    config.cluster = crate::support::config(&address, &[("security.protocol", "SSL")]);
    let gateway = Gateway::start(config, Environment::default()).await.expect("a gateway");
    let _raw = TcpStream::connect(gateway.address()).await.expect("connected");
    until(|| gateway.sessions().len() == 1).await;
    let started = std::time::Instant::now();
    assert_eq!(within_deadline(gateway.drain(Duration::from_secs(20))).await, 0);
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_that_is_dropped_closes_all_connections() {
    let cluster = cluster().await;
    let gateway = gateway(&cluster).await;
    let mut raw = TcpStream::connect(gateway.address()).await.expect("connected");
    until(|| !gateway.sessions().is_empty()).await;
    drop(gateway);
    assert_eq!(within_deadline(raw.read(&mut [0; 8])).await.unwrap_or(0), 0);
    until(|| (1..=3).all(|broker| cluster.connections(broker) == 0)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_bytes_end_their_own_connection_only() {
    let cluster = cluster().await;
    let gateway = gateway(&cluster).await;
    let (client, _) = client(&gateway, &[]).await;
    let producer = Producer::new(client).expect("a producer");
    for bytes in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        &[0x16, 3, 1, 0, 200, 1],
        &[0xff; 4],
        &[0, 0, 0, 10, 0, 99, 0, 0, 0, 0, 0, 0, 0, 0],
    ] {
        let mut raw = TcpStream::connect(gateway.address()).await.expect("connected");
        raw.write_all(bytes).await.expect("sent");
        assert_eq!(within_deadline(raw.read(&mut [0; 8])).await.unwrap_or(0), 0, "{bytes:?}");
    }
    let record = Record { timestamp: 1000, key: None, value: Some(b"v"), headers: &[] };
    let delivery = producer.send("t", Some(0), &record).await.expect("accepted");
    within_deadline(delivery.wait()).await.expect("written");
}

//! Proves: a client that does not get ready is closed; connections are limited, in all and by address; a client with
//! many requests in flight waits, and gets all of its responses.

use std::time::{Duration, Instant};

use ottla_client::environment::Environment;
use ottla_client::security::scram::Hash;
use ottla_gateway::{Gateway, GatewayConfig, Limits, SaslConfig};
use ottla_mock::{Fault, Match, MockCluster, Reaction};
use ottla_protocol::ApiKey;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::*;

/// ApiVersions in version 0, of the client "c".
const REQUEST: &[u8] = &[0, 0, 0, 11, 0, 18, 0, 0, 0, 0, 0, 1, 0, 1, b'c'];

async fn limited(cluster: &MockCluster, limits: Limits) -> Gateway {
    let config = GatewayConfig { limits, ..gateway_config(&cluster.bootstrap()) };
    Gateway::start(config, Environment::default()).await.expect("a gateway")
}

async fn connect(gateway: &Gateway) -> TcpStream {
    TcpStream::connect(gateway.address()).await.expect("connected")
}

/// Whether the gateway responds to a request on a connection.
async fn responds(connection: &mut TcpStream) -> bool {
    _ = connection.write_all(REQUEST).await;
    let Ok(length) = within_deadline(connection.read_i32()).await else { return false };
    let length = usize::try_from(length).expect("a length");
    within_deadline(connection.read_exact(&mut vec![0; length])).await.is_ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_does_not_get_ready_is_closed() {
    let cluster = cluster().await;
    let setup = Duration::from_secs(2);
    let gateway = limited(&cluster, Limits { setup, ..Limits::default() }).await;
    let begun = Instant::now();
    let (mut silent, mut slow, mut ready) =
        (connect(&gateway).await, connect(&gateway).await, connect(&gateway).await);
    slow.write_all(&REQUEST[..10]).await.expect("sent");
    assert!(responds(&mut ready).await);
    for closed in [&mut silent, &mut slow] {
        assert_eq!(within_deadline(closed.read(&mut [0; 8])).await.unwrap_or(0), 0);
    }
    assert!(begun.elapsed() >= setup);
    assert!(responds(&mut ready).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_does_not_log_in_is_closed() {
    let cluster = cluster().await;
    let file = UsersFile::new(&format!("[alice]\nSCRAM-SHA-256 = {}\n", credential(Hash::Sha256, "pass")));
    let sasl = SaslConfig { users: file.0.clone(), allow_plaintext_passwords: false, lifetime: None };
    let limits = Limits { setup: Duration::from_millis(300), ..Limits::default() };
    let config = GatewayConfig { limits, sasl: Some(sasl), ..gateway_config(&cluster.bootstrap()) };
    let gateway = Gateway::start(config, Environment::default()).await.expect("a gateway");
    let mut connection = connect(&gateway).await;
    // Requests that are allowed do not buy time.
    while responds(&mut connection).await {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    until(|| gateway.sessions().is_empty()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_are_limited_by_address_and_in_all() {
    let cluster = cluster().await;
    for limits in [
        Limits { connections: 2, ..Limits::default() },
        Limits { connections_per_address: 2, ..Limits::default() },
    ] {
        let gateway = limited(&cluster, limits).await;
        let (mut first, mut second) = (connect(&gateway).await, connect(&gateway).await);
        assert!(responds(&mut first).await && responds(&mut second).await);
        assert!(!responds(&mut connect(&gateway).await).await);
        drop(first);
        until(|| gateway.sessions().len() == 1).await;
        assert!(responds(&mut connect(&gateway).await).await);
        assert!(responds(&mut second).await);
    }
}

/// Regression: more requests in flight than the gateway remembers closed the connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_in_flight_wait_for_those_before() {
    let cluster = cluster().await;
    let gateway = limited(&cluster, Limits { in_flight: 10, ..Limits::default() }).await;
    cluster.inject(Fault::once(Match::api(ApiKey::ApiVersions), Reaction::Delay(Duration::from_millis(200))));
    let mut connection = connect(&gateway).await;
    let count = 1000;
    connection.write_all(&REQUEST.repeat(count)).await.expect("sent");
    for _ in 0..count {
        let length = within_deadline(connection.read_i32()).await.expect("a response");
        let mut response = vec![0; usize::try_from(length).expect("a length")];
        within_deadline(connection.read_exact(&mut response)).await.expect("whole");
    }
}

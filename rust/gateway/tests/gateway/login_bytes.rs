//! Proves: before a login nothing reaches a broker, whatever a client sends; frames are short and in Kafka's order; what
//! ends a connection ends no other one.

use bytes::Bytes;
use ottla_client::environment::Environment;
use ottla_client::security::scram::Hash;
use ottla_gateway::{Gateway, GatewayConfig, Limits, SaslConfig};
use ottla_mock::{Fault, Match, MockCluster, MockConfig, Reaction};
use ottla_protocol::ApiKey;
use ottla_protocol::messages::api_versions::ApiVersionsRequest;
use ottla_protocol::messages::list_groups::ListGroupsRequest;
use ottla_protocol::messages::metadata::MetadataRequest;
use ottla_protocol::messages::sasl_authenticate::SaslAuthenticateRequest;
use ottla_protocol::messages::sasl_handshake::SaslHandshakeRequest;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Duration;

use crate::support::*;

fn handshake(mechanism: &str) -> Bytes {
    frame(&SaslHandshakeRequest { mechanism: mechanism.to_owned() }, 1)
}

fn authenticate(message: &'static [u8]) -> Bytes {
    frame(&SaslAuthenticateRequest { auth_bytes: Bytes::from_static(message).into() }, 2)
}

async fn start(cluster: &MockCluster, file: &UsersFile) -> Gateway {
    let sasl = SaslConfig { users: file.0.clone(), allow_plaintext_passwords: false, lifetime: None };
    let config = GatewayConfig { sasl: Some(sasl), ..gateway_config(&cluster.bootstrap()) };
    Gateway::start(config, Environment::default()).await.expect("a gateway")
}

/// What comes back until the gateway closes the connection, or sends nothing more.
async fn sent(gateway: &Gateway, frames: &[Bytes]) -> Vec<u8> {
    let mut raw = TcpStream::connect(gateway.address()).await.expect("connected");
    // The gateway may have closed it already.
    _ = raw.write_all(&frames.concat()).await;
    let mut all = Vec::new();
    _ = within_deadline(raw.read_to_end(&mut all)).await;
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_reaches_a_broker_before_a_login() {
    let file = UsersFile::new(&format!("[alice]\nSCRAM-SHA-256 = {}\n", credential(Hash::Sha256, "pass")));
    let cluster = cluster().await;
    let gateway = start(&cluster, &file).await;
    until(|| gateway.brokers().len() == 3).await;
    // The gateway itself never sends it.
    let request = frame(&ListGroupsRequest::default(), 4);
    let count = |api| cluster.request_count(None, api);
    let long = [&(64_i32 * 1024 + 1).to_be_bytes()[..], &[0; 64]].concat();
    for frames in [
        vec![request.clone()],
        vec![frame(&ApiVersionsRequest::default(), 3), request.clone()],
        vec![handshake("PLAIN"), request.clone()],
        // In one packet with a password that is wrong.
        vec![handshake("PLAIN"), authenticate(b"\0alice\0wrong"), request.clone()],
        vec![handshake("SCRAM-SHA-256"), authenticate(b"n,,n=alice,r=abc"), request.clone()],
        vec![handshake("SCRAM-SHA-256"), authenticate(b"\0alice\0pass"), request.clone()],
        vec![handshake("GSSAPI"), request.clone()],
        vec![handshake("PLAIN"), handshake("PLAIN"), request.clone()],
        vec![authenticate(b"\0alice\0pass"), request.clone()],
        vec![Bytes::from(long), request.clone()],
        vec![Bytes::from_static(&[0, 0, 0, 10, 0, 17, 0, 1, 0, 0, 0, 0, 0xff, 0xff]), request.clone()],
        vec![Bytes::from_static(&[0xff; 64])],
        vec![Bytes::from_static(b"GET / HTTP/1.1\r\n\r\n")],
    ] {
        sent(&gateway, &frames).await;
    }
    assert_eq!(count(ApiKey::ListGroups), 0);
    assert_eq!(count(ApiKey::SaslHandshake) + count(ApiKey::SaslAuthenticate), 0);
    until(|| gateway.sessions().is_empty()).await;
}

/// A request in the packet of the last message of a login passes as soon as both logins are complete.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_may_follow_the_password_at_once() {
    let file = UsersFile::new(&format!("[alice]\nSCRAM-SHA-256 = {}\n", credential(Hash::Sha256, "pass")));
    let cluster = cluster().await;
    let gateway = start(&cluster, &file).await;
    let mut raw = TcpStream::connect(gateway.address()).await.expect("connected");
    let requests =
        [handshake("PLAIN"), authenticate(b"\0alice\0pass"), frame(&MetadataRequest::default(), 9)];
    raw.write_all(&requests.concat()).await.expect("sent");
    for _ in requests {
        let length = within_deadline(raw.read_i32()).await.expect("a response");
        let mut response = vec![0; usize::try_from(length).unwrap()];
        within_deadline(raw.read_exact(&mut response)).await.expect("whole");
        assert_eq!(response[..4], 7_i32.to_be_bytes());
    }
}

/// A broker responds to what it holds, such as JoinGroup, before it renews a login: that takes as long as it takes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_at_the_broker_is_renewed_behind_a_request_that_it_holds() {
    let users = [("gateway".to_owned(), "of-gateway".to_owned())].into();
    let sasl = ottla_mock::SaslConfig {
        users,
        session_lifetime: Some(Duration::from_secs(2)),
        ..ottla_mock::SaslConfig::default()
    };
    let cluster = MockCluster::start(MockConfig { sasl: Some(sasl), ..MockConfig::default() })
        .await
        .expect("a cluster");
    let file = UsersFile::new(&format!("[alice]\nSCRAM-SHA-256 = {}\n", credential(Hash::Sha256, "pass")));
    let keys = [
        ("security.protocol", "SASL_PLAINTEXT"),
        ("sasl.mechanism", "PLAIN"),
        ("sasl.username", "gateway"),
        ("sasl.password", "of-gateway"),
    ];
    let config = GatewayConfig {
        sasl: Some(SaslConfig { users: file.0.clone(), allow_plaintext_passwords: true, lifetime: None }),
        cluster: config(&cluster.bootstrap(), &keys),
        limits: Limits { setup: Duration::from_millis(1500), ..Limits::default() },
        ..gateway_config("none:1")
    };
    let gateway = Gateway::start(config, Environment::default()).await.expect("a gateway");
    let mut raw = TcpStream::connect(gateway.address()).await.expect("connected");
    raw.write_all(&[handshake("PLAIN"), authenticate(b"\0alice\0pass")].concat()).await.expect("sent");
    assert!(response(&mut raw).await.is_some() && response(&mut raw).await.is_some());
    let held = Reaction::Delay(Duration::from_secs(4));
    cluster.inject(Fault::once(Match::api(ApiKey::ListGroups), held));
    let request = frame(&ListGroupsRequest::default(), 4);
    raw.write_all(&request).await.expect("sent");
    // The login at the broker is due for a renewal by now, and is only renewed once the broker has responded.
    tokio::time::sleep(Duration::from_secs(2)).await;
    raw.write_all(&request).await.expect("sent");
    assert!(response(&mut raw).await.is_some());
    assert!(response(&mut raw).await.is_some());
}

//! Proves: clients that log in as before Kafka 1.0, with SaslHandshake version 0 and messages without headers, do so at a
//! broker through the gateway and at the gateway; nothing passes as such a message that a broker takes for a request.

use std::time::{Duration, Instant};

use bytes::Bytes;
use ottla_client::environment::Environment;
use ottla_client::security::Secret;
use ottla_client::security::scram::{Client as ScramClient, Credentials, Hash};
use ottla_gateway::{AccessRules, Gateway, GatewayConfig, RuleOptions, SaslConfig};
use ottla_mock::{MockCluster, MockConfig, SaslConfig as MockSasl};
use ottla_protocol::header::{self, RequestHeader};
use ottla_protocol::messages::list_groups::ListGroupsRequest;
use ottla_protocol::messages::sasl_handshake::SaslHandshakeRequest;
use ottla_protocol::{ApiKey, ErrorCode, Request};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::support::*;

const PLAIN: &[u8] = b"\0alice\0pass";

/// A connection to a gateway.
struct Raw(TcpStream);

impl Raw {
    async fn connect(gateway: &Gateway) -> Self {
        Self(TcpStream::connect(gateway.address()).await.expect("connected"))
    }

    async fn send(&mut self, frame: &[u8]) {
        // The gateway may have closed the connection.
        _ = self.0.write_all(frame).await;
    }

    /// The next frame without its length; `None` at the end of the connection.
    async fn receive(&mut self) -> Option<Vec<u8>> {
        let length = within_deadline(self.0.read_i32()).await.ok()?;
        let mut frame = vec![0; usize::try_from(length).ok()?];
        within_deadline(self.0.read_exact(&mut frame)).await.ok()?;
        Some(frame)
    }

    /// Sends SaslHandshake; returns the error code.
    async fn handshake(&mut self, mechanism: &str) -> Option<i16> {
        self.send(&handshake(mechanism)).await;
        self.receive().await.map(|response| i16::from_be_bytes([response[4], response[5]]))
    }

    /// Sends a message without a header; returns the reply.
    async fn exchange(&mut self, message: &[u8]) -> Option<Vec<u8>> {
        self.send(&token(message)).await;
        self.receive().await
    }

    async fn log_in_with_scram(&mut self, password: &str) -> bool {
        assert_eq!(self.handshake("SCRAM-SHA-512").await, Some(0));
        let credentials =
            Credentials { username: "alice".to_owned(), password: Secret::new(password), token: false };
        let mut client = ScramClient::new(Hash::Sha512, credentials, "nonce".to_owned());
        let first = self.exchange(client.first().as_bytes()).await.expect("a challenge");
        let proof = client.process_first(&first).expect("a proof");
        match self.exchange(proof.as_bytes()).await {
            Some(last) => {
                client.process_final(&last).expect("a signature");
                true
            }
            None => false,
        }
    }

    /// Whether the connection serves requests.
    async fn is_served(&mut self) -> bool {
        self.send(&list_groups()).await;
        self.receive().await.is_some_and(|response| response.starts_with(&[0, 0, 0, 7]))
    }
}

fn frame<R: Request>(request: &R, version: i16) -> Bytes {
    let client_id = Some("old".to_owned());
    let header = RequestHeader { api_key: R::API as i16, api_version: version, correlation_id: 7, client_id };
    header::request_frame(&header, R::API.request_header_version(version), request).unwrap().to_bytes()
}

fn handshake(mechanism: &str) -> Bytes {
    frame(&SaslHandshakeRequest { mechanism: mechanism.to_owned() }, 0)
}

fn list_groups() -> Bytes {
    frame(&ListGroupsRequest::default(), 2)
}

fn token(message: &[u8]) -> Bytes {
    [&i32::try_from(message.len()).unwrap().to_be_bytes()[..], message].concat().into()
}

/// A cluster that requires logins.
async fn secured() -> MockCluster {
    let users = [("alice".to_owned(), "pass".to_owned()), ("gateway".to_owned(), "of-gateway".to_owned())];
    let sasl = MockSasl { users: users.into(), ..MockSasl::default() };
    MockCluster::start(MockConfig { sasl: Some(sasl), ..MockConfig::default() }).await.expect("a cluster")
}

fn own_login(cluster: &MockCluster) -> GatewayConfig {
    let keys = [
        ("security.protocol", "SASL_PLAINTEXT"),
        ("sasl.mechanism", "PLAIN"),
        ("sasl.username", "gateway"),
        ("sasl.password", "of-gateway"),
    ];
    GatewayConfig { cluster: config(&cluster.bootstrap(), &keys), ..gateway_config("none:1") }
}

async fn start(config: GatewayConfig) -> Gateway {
    let gateway = Gateway::start(config, Environment::default()).await.expect("a gateway");
    until(|| gateway.brokers().len() == 3).await;
    gateway
}

fn users() -> UsersFile {
    let (sha256, sha512) = (credential(Hash::Sha256, "pass"), credential(Hash::Sha512, "pass"));
    UsersFile::new(&format!("[alice]\nSCRAM-SHA-256 = {sha256}\nSCRAM-SHA-512 = {sha512}\n"))
}

fn at_gateway(cluster: &MockCluster, file: &UsersFile) -> GatewayConfig {
    let sasl = SaslConfig { users: file.0.clone(), allow_plaintext_passwords: false, lifetime: None };
    GatewayConfig { sasl: Some(sasl), ..own_login(cluster) }
}

async fn logs_in(gateway: &Gateway) {
    let mut raw = Raw::connect(gateway).await;
    assert_eq!(raw.handshake("PLAIN").await, Some(0));
    assert_eq!(raw.exchange(PLAIN).await, Some(Vec::new()));
    assert!(raw.is_served().await);
    let session = &gateway.sessions()[0];
    assert_eq!((session.user.as_deref(), &*session.client_id), (Some("alice"), "old"));
    assert_eq!(session.counts.apis[&ApiKey::SaslAuthenticate].responses, 1);
    drop(raw);

    let mut raw = Raw::connect(gateway).await;
    assert!(raw.log_in_with_scram("pass").await);
    assert!(raw.is_served().await);

    // All at once, in one packet.
    let mut raw = Raw::connect(gateway).await;
    raw.send(&[handshake("PLAIN"), token(PLAIN), list_groups()].concat()).await;
    let mut received = Vec::new();
    for _ in 0..3 {
        received.push(raw.receive().await.expect("a response").len());
    }
    assert_eq!(received[1], 0);
    assert!(raw.is_served().await);
}

/// A refusal closes the connection, since there is no error code.
async fn refuses(gateway: &Gateway) {
    let mut raw = Raw::connect(gateway).await;
    assert_eq!(raw.handshake("PLAIN").await, Some(0));
    assert_eq!(raw.exchange(b"\0alice\0wrong").await, None);
    let mut raw = Raw::connect(gateway).await;
    assert!(!raw.log_in_with_scram("wrong").await);
    until(|| gateway.sessions().is_empty()).await;
    let (ended, _) = gateway.take_ended();
    assert!(ended.iter().all(|ended| ended.info.user.is_none()), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_a_broker() {
    let cluster = secured().await;
    let gateway = start(own_login(&cluster)).await;
    _ = gateway.take_ended();
    refuses(&gateway).await;
    logs_in(&gateway).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_the_gateway() {
    let (cluster, file) = (secured().await, users());
    let gateway = start(at_gateway(&cluster, &file)).await;
    _ = gateway.take_ended();
    let begun = Instant::now();
    refuses(&gateway).await;
    assert!(begun.elapsed() >= Duration::from_millis(200));
    logs_in(&gateway).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_reaches_a_broker_before_a_login_at_the_gateway() {
    let (cluster, file) = (secured().await, users());
    let gateway = start(at_gateway(&cluster, &file)).await;
    let long = [&(64_i32 * 1024 + 1).to_be_bytes()[..], &[0; 64]].concat();
    for frames in [
        vec![handshake("PLAIN"), list_groups()],
        vec![handshake("PLAIN"), token(b"\0alice\0wrong"), list_groups()],
        vec![handshake("PLAIN"), token(b""), list_groups()],
        vec![handshake("SCRAM-SHA-256"), token(b"n,,n=alice,r=abc"), list_groups()],
        vec![handshake("GSSAPI"), token(b"\x60"), list_groups()],
        vec![handshake("PLAIN"), Bytes::from(long), list_groups()],
        vec![handshake("PLAIN"), Bytes::from_static(&[0xff; 8]), list_groups()],
    ] {
        let mut raw = Raw::connect(&gateway).await;
        raw.send(&frames.concat()).await;
        while raw.receive().await.is_some() {}
    }
    assert_eq!(cluster.request_count(None, ApiKey::ListGroups), 0);
    until(|| gateway.sessions().is_empty()).await;
}

/// A client cannot renew its login so: it would not learn of its end (KIP-368).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_at_the_gateway_is_not_renewed_so() {
    let (cluster, file) = (secured().await, users());
    let gateway = start(at_gateway(&cluster, &file)).await;
    let mut raw = Raw::connect(&gateway).await;
    assert_eq!(raw.handshake("PLAIN").await, Some(0));
    assert!(raw.exchange(PLAIN).await.is_some());
    assert_eq!(raw.handshake("PLAIN").await, Some(ErrorCode::IllegalSaslState.code()));
    assert!(raw.is_served().await);
}

/// After the login, and after a handshake that the broker has refused, frames are requests, to which the rules apply.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rules_apply_to_what_follows() {
    let options = RuleOptions { deny_apis: vec!["ListGroups".to_owned()], ..RuleOptions::default() };
    let rules = || AccessRules::try_from(options.clone()).expect("rules");
    let cluster = secured().await;
    let gateway = start(GatewayConfig { rules: rules(), ..own_login(&cluster) }).await;
    for mechanism in ["PLAIN", "SCRAM-SHA-512"] {
        let mut raw = Raw::connect(&gateway).await;
        match mechanism {
            "PLAIN" => raw.send(&[handshake(mechanism), token(PLAIN)].concat()).await,
            _ => assert!(raw.log_in_with_scram("pass").await),
        }
        raw.send(&list_groups()).await;
        raw.0.shutdown().await.expect("half closed");
        while raw.receive().await.is_some() {}
        assert_eq!(cluster.request_count(None, ApiKey::ListGroups), 0, "{mechanism}");
    }
    // Without logins a broker refuses the handshake, and expects a request.
    let open = crate::support::cluster().await;
    let gateway = start(GatewayConfig { rules: rules(), ..gateway_config(&open.bootstrap()) }).await;
    let mut raw = Raw::connect(&gateway).await;
    raw.send(&[handshake("PLAIN"), list_groups()].concat()).await;
    raw.0.shutdown().await.expect("half closed");
    while raw.receive().await.is_some() {}
    assert_eq!(open.request_count(None, ApiKey::ListGroups), 0);
}

/// The last message of GSSAPI has no response.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kerberos_ends_without_a_response() {
    let broker = TcpListener::bind("127.0.0.1:0").await.expect("a broker");
    let address = broker.local_addr().expect("an address").to_string();
    let serving = tokio::spawn(async move {
        // Also of the gateway itself, which is not served.
        while let Ok((stream, _)) = broker.accept().await {
            tokio::spawn(kerberos(stream));
        }
    });
    let gateway = Gateway::start(gateway_config(&address), Environment::default()).await.expect("a gateway");
    let mut raw = Raw::connect(&gateway).await;
    assert_eq!(raw.handshake("GSSAPI").await, Some(0));
    assert_eq!(raw.exchange(b"\x60\x82ticket").await.as_deref(), Some(&b"\x60reply"[..]));
    assert_eq!(raw.exchange(b"").await.as_deref(), Some(&b"\x05\x04layers"[..]));
    raw.send(&token(b"\x05\x04layer")).await;
    assert!(raw.is_served().await && raw.is_served().await);
    serving.abort();
}

/// A broker that logs clients in by Kerberos, as far as its frames go.
async fn kerberos(stream: TcpStream) {
    let mut raw = Raw(stream);
    let Some(_) = raw.receive().await.filter(|request| request.starts_with(&[0, 17, 0, 0])) else { return };
    raw.send(&token(b"\0\0\0\x07\0\0\0\0\0\x01\0\x06GSSAPI")).await;
    for reply in [Some(&b"\x60reply"[..]), Some(b"\x05\x04layers"), None] {
        raw.receive().await;
        if let Some(reply) = reply {
            raw.send(&token(reply)).await;
        }
    }
    while raw.receive().await.is_some() {
        raw.send(&token(&[0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])).await;
    }
}

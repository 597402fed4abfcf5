//! Proves: before a login nothing reaches a broker, whatever a client sends; frames are short and in Kafka's order; what
//! ends a connection ends no other one.

use bytes::Bytes;
use ottla_client::environment::Environment;
use ottla_client::security::scram::Hash;
use ottla_gateway::{Gateway, GatewayConfig, SaslConfig};
use ottla_mock::MockCluster;
use ottla_protocol::header::{self, RequestHeader};
use ottla_protocol::messages::api_versions::ApiVersionsRequest;
use ottla_protocol::messages::metadata::MetadataRequest;
use ottla_protocol::messages::sasl_authenticate::SaslAuthenticateRequest;
use ottla_protocol::messages::sasl_handshake::SaslHandshakeRequest;
use ottla_protocol::{ApiKey, Request};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::*;

fn frame<R: Request>(request: &R, version: i16) -> Bytes {
    let client_id = Some("client".to_owned());
    let header = RequestHeader { api_key: R::API as i16, api_version: version, correlation_id: 7, client_id };
    header::request_frame(&header, R::API.request_header_version(version), request).unwrap().to_bytes()
}

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
    let metadata = frame(&MetadataRequest::default(), 9);
    let count = |api| cluster.request_count(None, api);
    let before = count(ApiKey::Metadata);
    let long = [&(64_i32 * 1024 + 1).to_be_bytes()[..], &[0; 64]].concat();
    for frames in [
        vec![metadata.clone()],
        vec![frame(&ApiVersionsRequest::default(), 3), metadata.clone()],
        vec![handshake("PLAIN"), metadata.clone()],
        // In one packet with a password that is wrong.
        vec![handshake("PLAIN"), authenticate(b"\0alice\0wrong"), metadata.clone()],
        vec![handshake("SCRAM-SHA-256"), authenticate(b"n,,n=alice,r=abc"), metadata.clone()],
        vec![handshake("SCRAM-SHA-256"), authenticate(b"\0alice\0pass"), metadata.clone()],
        vec![handshake("GSSAPI"), metadata.clone()],
        vec![handshake("PLAIN"), handshake("PLAIN"), metadata.clone()],
        vec![authenticate(b"\0alice\0pass"), metadata.clone()],
        vec![Bytes::from(long), metadata.clone()],
        vec![Bytes::from_static(&[0, 0, 0, 10, 0, 17, 0, 1, 0, 0, 0, 0, 0xff, 0xff]), metadata.clone()],
        vec![Bytes::from_static(&[0xff; 64])],
        vec![Bytes::from_static(b"GET / HTTP/1.1\r\n\r\n")],
    ] {
        sent(&gateway, &frames).await;
    }
    // The gateway itself asks for the metadata every few seconds.
    assert!(count(ApiKey::Metadata) <= before + 2, "{}", count(ApiKey::Metadata));
    assert_eq!(count(ApiKey::SaslHandshake) + count(ApiKey::SaslAuthenticate), 0);
    let all = gateway.sessions();
    assert!(all.is_empty(), "{all:?}");
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

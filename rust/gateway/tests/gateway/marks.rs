//! Proves: a gateway says that it is one to ottla alone. Other libraries get what a broker sends, since librdkafka
//! until 2.1, and so kcat, skips tagged fields one byte short: one more of them made it give up at Kafka 2.8.

use bytes::Bytes;
use ottla_client::environment::Environment;
use ottla_client::security::scram::Hash;
use ottla_gateway::{Gateway, GatewayConfig, SaslConfig};
use ottla_protocol::Message;
use ottla_protocol::header::decode_response_header;
use ottla_protocol::messages::api_versions::{ApiVersionsRequest, ApiVersionsResponse};
use ottla_protocol::wire::Reader;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::support::*;

/// The mark in the response to a library of this name.
async fn mark(gateway: &Gateway, library: &str) -> String {
    let mut raw = TcpStream::connect(gateway.address()).await.expect("connected");
    let request = ApiVersionsRequest {
        client_software_name: library.to_owned(),
        client_software_version: "2.0.2".to_owned(),
        ..Default::default()
    };
    raw.write_all(&frame(&request, 3)).await.expect("sent");
    let mut r = Reader::new(Bytes::from(response(&mut raw).await.expect("a response")));
    decode_response_header(&mut r, 0).expect("a header");
    ApiVersionsResponse::decode(&mut r, 3).expect("a response to ApiVersions").ottla_gateway
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ottla_alone_is_told() {
    let cluster = cluster().await;
    let file = UsersFile::new(&format!("[alice]\nSCRAM-SHA-256 = {}\n", credential(Hash::Sha256, "pass")));
    let sasl = SaslConfig { users: file.0.clone(), allow_plaintext_passwords: false, lifetime: None };
    for sasl in [None, Some(sasl)] {
        let config = GatewayConfig { sasl, ..gateway_config(&cluster.bootstrap()) };
        let nearer = Gateway::start(config, Environment::default()).await.expect("a gateway");
        for library in ["librdkafka", "apache-kafka-java", "ottla-like", "ottl"] {
            assert_eq!(mark(&nearer, library).await, "", "{library}");
        }
        assert_eq!(mark(&nearer, "ottla").await, env!("CARGO_PKG_VERSION"));
    }
}

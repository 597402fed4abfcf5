//! Helpers of the tests: clusters, gateways in front of them, clients, and bounded waits.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use ottla_client::config::Value;
use ottla_client::environment::{BoxFuture, Environment, Network, SocketOptions, Stream, SystemNetwork};
use ottla_client::security::scram::Hash;
use ottla_client::{Client, Config};
use ottla_gateway::addresses::Routing;
use ottla_gateway::{AccessRules, Gateway, GatewayConfig, Limits};
use ottla_mock::{MockCluster, MockConfig, TopicSpec};
use ottla_protocol::Request;
use ottla_protocol::header::{self, RequestHeader};
use parking_lot::Mutex;
use ring::hmac;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The longest that any step may take before the test fails.
const LONGEST_STEP: Duration = Duration::from_secs(60);

/// The output of `future`; panics if it takes too long.
pub(crate) async fn within_deadline<T>(future: impl Future<Output = T>) -> T {
    timeout(LONGEST_STEP, future).await.expect("in time")
}

/// Waits until `condition` is true.
pub(crate) async fn until(mut condition: impl FnMut() -> bool) {
    within_deadline(async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// A cluster of three brokers with one topic `t` of six partitions.
pub(crate) async fn cluster() -> MockCluster {
    let cluster = MockCluster::start(MockConfig::default()).await.expect("a cluster");
    cluster.create_topic(TopicSpec::new("t").partitions(6)).expect("a topic");
    cluster
}

/// The settings of a gateway in front of a cluster.
pub(crate) fn gateway_config(servers: &str) -> GatewayConfig {
    GatewayConfig {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        advertised_host: "localhost".to_owned(),
        routing: Routing::FreePorts,
        cluster: config(servers, &[]),
        tls: None,
        sasl: None,
        rules: AccessRules::default(),
        limits: Limits::default(),
        allow_faults: true,
        keep_ended: false,
    }
}

/// A gateway in front of a cluster.
pub(crate) async fn gateway(cluster: &MockCluster) -> Gateway {
    let config = gateway_config(&cluster.bootstrap());
    Gateway::start(config, Environment::default()).await.expect("a gateway")
}

/// A configuration for `servers` with times suitable for tests.
pub(crate) fn config(servers: &str, pairs: &[(&str, &str)]) -> Config {
    let fast = [("bootstrap.servers", servers), ("retry.backoff.ms", "10"), ("reconnect.backoff.ms", "10")];
    let all = fast.iter().chain(pairs).map(|(key, value)| (*key, Value::from(*value)));
    Config::from_pairs(all).expect("a configuration")
}

/// A network that records the addresses to which it connects.
#[derive(Debug, Default)]
pub(crate) struct RecordingNetwork {
    system: SystemNetwork,
    pub(crate) connects: Mutex<Vec<SocketAddr>>,
}

impl Network for RecordingNetwork {
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
        self.system.resolve(host, port)
    }

    fn connect(
        &self,
        address: SocketAddr,
        options: SocketOptions,
    ) -> BoxFuture<'_, io::Result<Box<dyn Stream>>> {
        self.connects.lock().push(address);
        self.system.connect(address, options)
    }
}

/// A connected client of the gateway, and its network.
pub(crate) async fn client(gateway: &Gateway, pairs: &[(&str, &str)]) -> (Client, Arc<RecordingNetwork>) {
    let network = Arc::new(RecordingNetwork::default());
    let environment = Environment::new(Arc::clone(&network) as Arc<dyn Network>, fastrand::Rng::new());
    let config = config(&gateway.address().to_string(), pairs);
    let connecting = Client::connect(config, environment, Duration::from_secs(15));
    (within_deadline(connecting).await.expect("a client"), network)
}

/// A request as the client `client` sends it.
pub(crate) fn frame<R: Request>(request: &R, version: i16) -> Bytes {
    let client_id = Some("client".to_owned());
    let header = RequestHeader { api_key: R::API as i16, api_version: version, correlation_id: 7, client_id };
    header::request_frame(&header, R::API.request_header_version(version), request).unwrap().to_bytes()
}

/// Reads a whole response; `None` at the end of the connection.
pub(crate) async fn response(raw: &mut TcpStream) -> Option<Vec<u8>> {
    let length = within_deadline(raw.read_i32()).await.ok()?;
    let mut response = vec![0; usize::try_from(length).ok()?];
    within_deadline(raw.read_exact(&mut response)).await.ok()?;
    Some(response)
}

/// An entry of a file of users for a password, in the form in which Kafka keeps it.
pub(crate) fn credential(hash: Hash, password: &str) -> String {
    let iterations = NonZeroU32::new(4096).unwrap();
    let mut salted = vec![0; hash.digest().output_len()];
    ring::pbkdf2::derive(hash.pbkdf2(), iterations, b"salt", password.as_bytes(), &mut salted);
    let salted = hmac::Key::new(hash.hmac(), &salted);
    let stored = ring::digest::digest(hash.digest(), hmac::sign(&salted, b"Client Key").as_ref());
    let server = hmac::sign(&salted, b"Server Key");
    let [salt, stored, server] =
        [&b"salt"[..], stored.as_ref(), server.as_ref()].map(|bytes| BASE64.encode(bytes));
    format!("salt={salt},stored_key={stored},server_key={server},iterations=4096")
}

/// A file of users that is deleted when it is dropped.
pub(crate) struct UsersFile(pub(crate) PathBuf);

impl UsersFile {
    pub(crate) fn new(text: &str) -> Self {
        let name = format!("ottla-gateway-users-{}-{}", std::process::id(), fastrand::u64(..));
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).expect("written");
        Self(path)
    }
}

impl Drop for UsersFile {
    fn drop(&mut self) {
        _ = std::fs::remove_file(&self.0);
    }
}

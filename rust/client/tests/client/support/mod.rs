//! What the tests share: bounded waits, clusters and clients, an injected network, a scripted
//! server, and a look into the mock's logs.

pub(crate) mod application;
pub(crate) mod assignments;
pub(crate) mod classic;
pub(crate) mod heartbeats;
pub(crate) mod member;
pub(crate) mod numbered;
mod stopwatch;
pub(crate) mod tls;

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use ottla_client::config::Value;
use ottla_client::environment::{BoxFuture, Environment, Network, SocketOptions, Stream, System};
use ottla_client::producer::{Delivery, Producer, Record};
use ottla_client::{Client, Config, Error};
use ottla_mock::{MockCluster, MockConfig, TopicSpec};
use ottla_protocol::header::{RequestHeader, response_frame};
use ottla_protocol::messages::api_versions::{ApiVersion, ApiVersionsResponse};
use ottla_protocol::records::{Batches, Scratch};
use ottla_protocol::{ApiKey, Message};
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

pub(crate) use stopwatch::{Stopwatch, calmly};

/// What calls are given that should succeed.
pub(crate) const SOON: Duration = Duration::from_secs(15);
/// Nothing takes longer than this, or the test has failed.
const PATIENCE: Duration = Duration::from_secs(90);

/// The output of `future`, in time.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(PATIENCE, future).await.expect("in time")
}

/// Waits until no request has come for a while.
pub(crate) async fn quiet(cluster: &MockCluster, time: Duration) {
    soon(async {
        loop {
            let before = cluster.requests().len();
            tokio::time::sleep(time).await;
            if cluster.requests().len() == before {
                return;
            }
        }
    })
    .await;
}

/// Waits until `true`.
pub(crate) async fn until(mut condition: impl FnMut() -> bool) {
    soon(async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A cluster of three brokers with one topic `t`.
pub(crate) async fn cluster(partitions: i32) -> MockCluster {
    let cluster = MockCluster::start(MockConfig::default()).await.expect("a cluster");
    cluster.create_topic(TopicSpec::new("t").partitions(partitions)).expect("a topic");
    cluster
}

/// A configuration for `servers` with times fit for tests.
pub(crate) fn config(servers: &str, pairs: &[(&str, &str)]) -> Config {
    let fast = [("bootstrap.servers", servers), ("retry.backoff.ms", "10"), ("reconnect.backoff.ms", "10")];
    let all = fast.iter().chain(pairs).map(|(key, value)| (*key, Value::from(*value)));
    Config::from_pairs(all).expect("a configuration")
}

/// A connected client.
pub(crate) async fn client(cluster: &MockCluster, pairs: &[(&str, &str)]) -> Client {
    let config = config(&cluster.bootstrap(), pairs);
    soon(Client::connect(config, Environment::default(), SOON)).await.expect("a client")
}

/// A producer on a client of its own.
pub(crate) async fn producer(cluster: &MockCluster, pairs: &[(&str, &str)]) -> Producer {
    Producer::new(client(cluster, pairs).await).expect("a producer")
}

/// A record with this value.
pub(crate) fn record(value: &[u8]) -> Record<'_> {
    Record { timestamp: 1_000, key: None, value: Some(value), headers: &[] }
}

/// Sends one value to a partition of `t`.
pub(crate) async fn send(producer: &Producer, partition: i32, value: &str) -> Delivery {
    soon(producer.send("t", Some(partition), &record(value.as_bytes()))).await.expect("accepted")
}

/// The offset at which a record was acknowledged, or why it was not.
pub(crate) async fn offset_of(delivery: &Delivery) -> Result<i64, Error> {
    soon(delivery.wait()).await.map(|written| written.offset)
}

/// The values in a partition's log, by offset.
pub(crate) fn log(cluster: &MockCluster, topic: &str, partition: i32) -> Vec<(i64, String)> {
    let view = cluster.partition_log(topic, partition).expect("a log");
    view.batches.iter().flat_map(|batch| values(&batch.bytes)).collect()
}

/// The values of record batches, by offset.
pub(crate) fn values(bytes: &bytes::Bytes) -> Vec<(i64, String)> {
    let mut found = Vec::new();
    let mut scratch = Scratch::new();
    for batch in Batches::new(bytes.clone()) {
        let batch = batch.expect("a whole batch");
        for record in batch.records(&mut scratch).expect("records") {
            let record = record.expect("a record");
            let value = record.value.unwrap_or_default();
            found.push((record.offset, String::from_utf8_lossy(value).into_owned()));
        }
    }
    found
}

/// A network whose names are what the test says; sockets are real. Addresses may be unreachable.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub(crate) names: Mutex<HashMap<String, Vec<SocketAddr>>>,
    /// Connecting to these never ends.
    pub(crate) black_holes: Mutex<Vec<SocketAddr>>,
    pub(crate) connects: Mutex<Vec<SocketAddr>>,
    pub(crate) resolved: Mutex<Vec<String>>,
    /// The names of addresses.
    pub(crate) canonical: Mutex<HashMap<IpAddr, String>>,
}

impl Network for Names {
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
        self.resolved.lock().push(host.to_owned());
        if let Some(addresses) = self.names.lock().get(host) {
            let addresses = addresses.clone();
            return Box::pin(async move { Ok(addresses) });
        }
        Box::pin(async move {
            match host.parse() {
                Ok(ip) => Ok(vec![SocketAddr::new(ip, port)]),
                Err(_) => Err(io::Error::other("no such name")),
            }
        })
    }

    fn canonical_name(&self, address: IpAddr) -> BoxFuture<'_, io::Result<String>> {
        let name = self.canonical.lock().get(&address).cloned();
        Box::pin(async move { name.ok_or_else(|| io::Error::other("no such address")) })
    }

    fn connect(
        &self,
        address: SocketAddr,
        options: SocketOptions,
    ) -> BoxFuture<'_, io::Result<Box<dyn Stream>>> {
        self.connects.lock().push(address);
        if self.black_holes.lock().contains(&address) {
            return Box::pin(std::future::pending());
        }
        System.connect(address, options)
    }
}

/// An environment on `network` whose randomness comes from `seed`.
pub(crate) fn environment(network: &Arc<Names>, seed: u64) -> Environment {
    Environment::new(Arc::clone(network) as Arc<dyn Network>, fastrand::Rng::with_seed(seed))
}

/// A port on which nothing listens.
pub(crate) async fn closed_port() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").await.expect("a port").local_addr().expect("an address")
}

/// A server that does `serve` with each connection.
pub(crate) async fn server<F: Future<Output = ()> + Send + 'static>(
    serve: impl Fn(TcpStream) -> F + Send + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream));
        }
    });
    address
}

/// A server that reads what comes, answers with `bytes`, and keeps the connection open.
pub(crate) async fn answering(bytes: &'static [u8]) -> SocketAddr {
    server(move |mut stream| async move {
        let mut sink = [0; 4096];
        while matches!(stream.read(&mut sink).await, Ok(1..)) {
            if stream.write_all(bytes).await.is_err() {
                return;
            }
        }
    })
    .await
}

/// The next request's header; `None` at the end.
pub(crate) async fn read_request(stream: &mut TcpStream) -> Option<RequestHeader> {
    let length = stream.read_u32().await.ok()?;
    let mut frame = vec![0; usize::try_from(length).ok()?];
    stream.read_exact(&mut frame).await.ok()?;
    RequestHeader::decode_any(&frame.into()).ok().map(|(header, _)| header)
}

pub(crate) async fn respond<M: Message>(
    stream: &mut TcpStream,
    api: ApiKey,
    version: i16,
    correlation_id: i32,
    message: &M,
) {
    let frame = response_frame(api, version, correlation_id, message).expect("a frame");
    // The client may have gone.
    let _ = stream.write_all(&frame.to_bytes()).await;
}

/// Answers the handshake of a client: every API in all versions.
pub(crate) async fn shake_hands(stream: &mut TcpStream) -> Option<()> {
    let header = read_request(stream).await?;
    let api_keys = ApiKey::ALL.iter().map(|api| ApiVersion {
        api_key: *api as i16,
        min_version: api.versions().0,
        max_version: api.versions().1,
    });
    let answer = ApiVersionsResponse { api_keys: api_keys.collect(), ..Default::default() };
    respond(stream, ApiKey::ApiVersions, header.api_version, header.correlation_id, &answer).await;
    Some(())
}

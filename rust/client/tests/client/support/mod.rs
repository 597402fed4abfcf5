//! Helpers of the tests: bounded waits, clusters and clients, an injected network, scripted servers, and
//! access to the mock's logs.

pub(crate) mod application;
pub(crate) mod assignments;
pub(crate) mod classic;
pub(crate) mod heartbeats;
pub(crate) mod member;
mod memory;
pub(crate) mod numbered;
pub(crate) mod panics;
pub(crate) mod proxy;
pub(crate) mod reader;
pub(crate) mod registry;
mod scripted;
pub(crate) mod share;
pub(crate) mod share_heartbeats;
pub(crate) mod share_ledger;
pub(crate) mod share_requests;
pub(crate) mod tls;
pub(crate) mod transactions;

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use ottla_client::config::Value;
use ottla_client::environment::{BoxFuture, Environment, Network, SocketOptions, Stream};
use ottla_client::producer::{Delivery, Producer, Record};
use ottla_client::{Client, Config, Error};
use ottla_mock::{MockCluster, MockConfig, TopicSpec};
use ottla_protocol::records::{Batches, Decompressor};
use parking_lot::Mutex;
pub(crate) use tokio::time::Instant;
use tokio::time::timeout;

pub(crate) use memory::{Memory, in_memory, memory_environment, memory_network};
pub(crate) use scripted::*;

/// The timeout of calls that should succeed.
pub(crate) const CALL_TIMEOUT: Duration = Duration::from_secs(15);
/// The longest that any step may take before the test fails.
const LONGEST_STEP: Duration = Duration::from_secs(90);

/// The output of `future`; panics if it takes too long.
pub(crate) async fn within_deadline<T>(future: impl Future<Output = T>) -> T {
    timeout(LONGEST_STEP, future).await.expect("in time")
}

/// The seeds of a random schedule: the one in `OTTLA_SEED`, or as many as `OTTLA_SEEDS` says.
fn seeds(usual: u64) -> Vec<u64> {
    let number = |name| std::env::var(name).ok().map(|text| text.parse().expect("a number"));
    match number("OTTLA_SEED") {
        Some(seed) => vec![seed],
        None => (0..number("OTTLA_SEEDS").unwrap_or(usual)).collect(),
    }
}

/// Runs a random schedule with each seed, one after the other, and prints the seed of a failing run.
pub(crate) async fn every_seed(usual: u64, run: impl AsyncFn(u64)) {
    struct Running(u64);
    impl Drop for Running {
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!("replay with OTTLA_SEED={}", self.0);
            }
        }
    }
    for seed in seeds(usual) {
        let _running = Running(seed);
        memory::forget_environments();
        run(seed).await;
    }
}

/// Waits until no request has arrived for `time`.
pub(crate) async fn quiet(cluster: &MockCluster, time: Duration) {
    within_deadline(async {
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

/// Waits until `condition` is true.
pub(crate) async fn until(mut condition: impl FnMut() -> bool) {
    within_deadline(async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// Asserts that something took at least `least` and less than `most`. Only for a paused clock, which
/// shows no other time than what was waited for.
pub(crate) fn assert_took(started: Instant, least: Duration, most: Duration) {
    let took = started.elapsed();
    assert!(took >= least && took < most, "{took:?}");
}

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A cluster of three brokers with one topic `t`.
pub(crate) async fn cluster(partitions: i32) -> MockCluster {
    let cluster = MockCluster::start(in_memory()).await.expect("a cluster");
    cluster.create_topic(TopicSpec::new("t").partitions(partitions)).expect("a topic");
    cluster
}

/// The same on loopback TCP, for tests of sockets and for clients that cannot reach memory.
pub(crate) async fn tcp_cluster(partitions: i32) -> MockCluster {
    let cluster = MockCluster::start(MockConfig::default()).await.expect("a cluster");
    cluster.create_topic(TopicSpec::new("t").partitions(partitions)).expect("a topic");
    cluster
}

/// A configuration for `servers` with times suitable for tests.
pub(crate) fn config(servers: &str, pairs: &[(&str, &str)]) -> Config {
    let fast = [("bootstrap.servers", servers), ("retry.backoff.ms", "10"), ("reconnect.backoff.ms", "10")];
    let all = fast.iter().chain(pairs).map(|(key, value)| (*key, Value::from(*value)));
    Config::from_pairs(all).expect("a configuration")
}

/// A connected client.
pub(crate) async fn client(cluster: &MockCluster, pairs: &[(&str, &str)]) -> Client {
    let config = config(&cluster.bootstrap(), pairs);
    within_deadline(Client::connect(config, memory_environment(), CALL_TIMEOUT)).await.expect("a client")
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
    within_deadline(producer.send("t", Some(partition), &record(value.as_bytes()))).await.expect("accepted")
}

/// The offset of an acknowledged record, or its error.
pub(crate) async fn offset_of(delivery: &Delivery) -> Result<i64, Error> {
    within_deadline(delivery.wait()).await.map(|written| written.offset)
}

/// The values in a partition's log, by offset.
pub(crate) fn log(cluster: &MockCluster, topic: &str, partition: i32) -> Vec<(i64, String)> {
    let view = cluster.partition_log(topic, partition).expect("a log");
    view.batches.iter().flat_map(|batch| values(&batch.bytes)).collect()
}

/// The values of record batches, by offset.
pub(crate) fn values(bytes: &bytes::Bytes) -> Vec<(i64, String)> {
    let mut found = Vec::new();
    let mut decompressor = Decompressor::new();
    for batch in Batches::new(bytes.clone()) {
        let batch = batch.expect("a whole batch");
        for record in batch.records(&mut decompressor).expect("records") {
            let record = record.expect("a record");
            let value = record.value.unwrap_or_default();
            found.push((record.offset, String::from_utf8_lossy(value).into_owned()));
        }
    }
    found
}

/// A network whose names the test defines. Addresses lead to in-memory clusters, to real sockets, or
/// nowhere.
#[derive(Debug, Default)]
pub(crate) struct NamedNetwork {
    memory: Memory,
    pub(crate) names: Mutex<HashMap<String, Vec<SocketAddr>>>,
    /// Connecting to these addresses never ends.
    pub(crate) black_holes: Mutex<Vec<SocketAddr>>,
    pub(crate) connects: Mutex<Vec<SocketAddr>>,
    pub(crate) resolved: Mutex<Vec<String>>,
    /// The canonical names of addresses.
    pub(crate) canonical: Mutex<HashMap<IpAddr, String>>,
}

impl Network for NamedNetwork {
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
        self.resolved.lock().push(host.to_owned());
        if let Some(addresses) = self.names.lock().get(host) {
            let addresses = addresses.clone();
            return Box::pin(async move { Ok(addresses) });
        }
        Box::pin(async move {
            match host.parse() {
                Ok(ip) => Ok(vec![SocketAddr::new(ip, port)]),
                Err(_) => Err(io::Error::new(io::ErrorKind::NotFound, "no such name")),
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
        self.memory.connect(address, options)
    }
}

/// An environment on `network` with the random seed `seed`.
pub(crate) fn environment(network: &Arc<NamedNetwork>, seed: u64) -> Environment {
    Environment::new(Arc::clone(network) as Arc<dyn Network>, fastrand::Rng::with_seed(seed))
}

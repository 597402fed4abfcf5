//! Helpers of the transaction tests: clusters at both levels of the protocol, producers, and what a
//! read_committed consumer sees.

use ottla_client::producer::{Delivery, Producer};
use ottla_client::{Error, TopicPartition};
use ottla_mock::{MockCluster, MockConfig, TopicSpec, TransactionInfo};
use ottla_protocol::ApiKey;

use super::reader::tp;
use super::{in_memory, ms, producer, send, within_deadline};

/// The levels of `transaction.version` with protocol 1 and with protocol 2.
pub(crate) const LEVELS: [i16; 2] = [0, 2];
pub(crate) const PARTITIONS: i32 = 3;
/// The transactional id of all producers.
pub(crate) const ID: &str = "copier";

/// A cluster with the topic `t`.
pub(crate) async fn cluster_at(level: i16) -> MockCluster {
    cluster_with(MockConfig { transaction_version: Some(level), ..in_memory() }).await
}

pub(crate) async fn cluster_with(config: MockConfig) -> MockCluster {
    let cluster = MockCluster::start(config).await.expect("a cluster");
    cluster.create_topic(TopicSpec::new("t").partitions(PARTITIONS)).expect("a topic");
    cluster
}

/// A producer that is not initialized.
pub(crate) async fn transactional(cluster: &MockCluster, pairs: &[(&str, &str)]) -> Producer {
    let own = [("transactional.id", ID), ("linger.ms", "0")];
    let pairs: Vec<_> = own.into_iter().chain(pairs.iter().copied()).collect();
    producer(cluster, &pairs).await
}

pub(crate) async fn initialized(cluster: &MockCluster, pairs: &[(&str, &str)]) -> Producer {
    let producer = transactional(cluster, pairs).await;
    within_deadline(producer.init_transactions(None)).await.expect("initialized");
    producer
}

/// Begins a transaction and sends the values, each to the next partition.
pub(crate) async fn begin(producer: &Producer, values: &[&str]) -> Vec<Delivery> {
    producer.begin_transaction().expect("begun");
    let mut sent = Vec::new();
    for (value, partition) in values.iter().zip((0..PARTITIONS).cycle()) {
        sent.push(send(producer, partition, value).await);
    }
    sent
}

pub(crate) async fn commit(producer: &Producer) -> Result<(), Error> {
    within_deadline(producer.commit_transaction(None)).await
}

pub(crate) async fn abort(producer: &Producer) -> Result<(), Error> {
    within_deadline(producer.abort_transaction(None)).await
}

/// The values that a read_committed consumer reads up to the last stable offset, by partition.
pub(crate) async fn visible(cluster: &MockCluster) -> Vec<Vec<String>> {
    // The markers of a transaction that has ended may still have to be written.
    while cluster.transactions().iter().any(|transaction| transaction.state.starts_with("Prepare")) {
        tokio::time::sleep(ms(10)).await;
    }
    let all: Vec<i32> = (0..PARTITIONS).collect();
    let reader = super::reader::consumer(cluster, &all, &[("isolation.level", "read_committed")]).await;
    let mut values = vec![Vec::new(); all.len()];
    let is_at_end = async |partition: TopicPartition| {
        let end = cluster.partition_log("t", partition.1).expect("a log").last_stable_offset;
        reader.position(&partition, ms(10_000)).await.expect("a position") >= end
    };
    within_deadline(async {
        for partition in all {
            while !is_at_end(tp(partition)).await {
                for set in reader.poll(ms(50), 500).await.expect("records") {
                    for entry in &set.entries {
                        let value = String::from_utf8_lossy(set.value(entry).expect("a value")).into_owned();
                        values[usize::try_from(set.partition.1).expect("an index")].push(value);
                    }
                }
            }
        }
    })
    .await;
    values
}

/// The visible values of all partitions, sorted.
pub(crate) async fn visible_values(cluster: &MockCluster) -> Vec<String> {
    let mut all = visible(cluster).await.concat();
    all.sort();
    all
}

/// The state of the one transactional id.
pub(crate) fn transaction(cluster: &MockCluster) -> TransactionInfo {
    cluster.transactions().into_iter().next().expect("a transactional id")
}

/// The versions in which an API was requested.
pub(crate) fn versions(cluster: &MockCluster, api: ApiKey) -> Vec<i16> {
    let mut versions: Vec<_> = cluster
        .requests()
        .iter()
        .filter(|request| request.api == Some(api))
        .map(|request| request.version)
        .collect();
    versions.dedup();
    versions
}

//! A consumer of the topic `t`, and the partitions and offsets that it reads.

use ottla_client::consumer::Consumer;
use ottla_client::{Error, TopicPartition};
use ottla_mock::MockCluster;
use tokio::time::Duration;

use super::{client, ms, within_deadline};

pub(crate) fn tp(partition: i32) -> TopicPartition {
    ("t".into(), partition)
}

/// Appends `count` records, each in a batch of its own.
pub(crate) fn write(cluster: &MockCluster, partition: i32, count: usize) {
    for _ in 0..count {
        cluster.append("t", partition, &[b"v"]).unwrap();
    }
}

pub(crate) async fn consumer(cluster: &MockCluster, partitions: &[i32], pairs: &[(&str, &str)]) -> Consumer {
    let pairs: Vec<_> = [("auto.offset.reset", "earliest")].iter().chain(pairs).copied().collect();
    let consumer = Consumer::new(client(cluster, &pairs).await);
    consumer.assign(partitions.iter().map(|partition| tp(*partition)).collect()).expect("assigned");
    consumer
}

/// The partitions and offsets of the records of one poll.
pub(crate) async fn poll(
    consumer: &Consumer,
    max_records: usize,
    wait: Duration,
) -> Result<Vec<(i32, i64)>, Error> {
    let mut rows = Vec::new();
    for set in consumer.poll(wait, max_records).await? {
        rows.extend(set.entries.iter().map(|entry| (set.partition.1, entry.offset)));
    }
    Ok(rows)
}

/// Polls until `count` records were read.
pub(crate) async fn read(consumer: &Consumer, count: usize) -> Vec<(i32, i64)> {
    let mut all = Vec::new();
    within_deadline(async {
        while all.len() < count {
            all.extend(poll(consumer, 500, ms(500)).await.expect("records"));
        }
    })
    .await;
    all
}

pub(crate) fn rows(partition: i32, offsets: std::ops::Range<i64>) -> Vec<(i32, i64)> {
    offsets.map(|offset| (partition, offset)).collect()
}

//! Share groups on the mock: clusters whose groups read from the start, and members of the group `g`.

use ottla_client::Error;
use ottla_client::consumer::share::{ShareConsumer, ShareRecord};
use ottla_mock::{GroupConfig, MockCluster, MockConfig, ShareGroupConfig, TopicSpec};

use crate::support::{CALL_TIMEOUT, client, in_memory, ms, within_deadline};

pub(crate) const EXPLICIT: (&str, &str) = ("share.acknowledgement.mode", "explicit");

/// A cluster with topic `t`, whose share groups read from the start.
pub(crate) async fn share_cluster_with(share: ShareGroupConfig, partitions: i32) -> MockCluster {
    let share = ShareGroupConfig { auto_offset_reset: "earliest".to_owned(), ..share };
    let groups = GroupConfig { share, ..GroupConfig::default() };
    let cluster = MockCluster::start(MockConfig { groups, ..in_memory() }).await.expect("a cluster");
    cluster.create_topic(TopicSpec::new("t").partitions(partitions)).expect("a topic");
    cluster
}

/// The same with so many records in partition 0, each in a batch of its own.
pub(crate) async fn share_cluster(records: usize) -> MockCluster {
    let cluster = share_cluster_with(ShareGroupConfig::default(), 1).await;
    append(&cluster, records);
    cluster
}

/// Appends so many records to partition 0.
pub(crate) fn append(cluster: &MockCluster, records: usize) {
    for _ in 0..records {
        cluster.append("t", 0, &[b"v"]).expect("appended");
    }
}

/// A member that reads topic `t`.
pub(crate) async fn share_member(cluster: &MockCluster, pairs: &[(&str, &str)]) -> ShareConsumer {
    let all: Vec<_> = [("group.id", "g")].iter().chain(pairs).copied().collect();
    let consumer = ShareConsumer::new(client(cluster, &all).await).expect("a share consumer");
    consumer.subscribe(vec!["t".into()]).expect("subscribed");
    consumer.keep_results(true);
    consumer
}

/// Polls until `count` records were delivered, at most three at a time; returns their offsets.
pub(crate) async fn read(consumer: &ShareConsumer, count: usize) -> Vec<i64> {
    let mut offsets = Vec::new();
    within_deadline(async {
        while offsets.len() < count {
            let records: Vec<ShareRecord> = consumer.poll(ms(500), 3).await.expect("polled");
            offsets.extend(records.iter().map(|record| record.offset));
        }
    })
    .await;
    offsets
}

/// Polls until records are delivered, of one poll.
pub(crate) async fn read_once(consumer: &ShareConsumer) -> Vec<ShareRecord> {
    within_deadline(async {
        loop {
            let records = consumer.poll(ms(500), usize::MAX).await.expect("polled");
            if !records.is_empty() {
                return records;
            }
        }
    })
    .await
}

/// Polls until the poll fails; its records are accepted by the next one.
pub(crate) async fn until_poll_fails(consumer: &ShareConsumer) -> Error {
    within_deadline(async {
        loop {
            if let Err(error) = consumer.poll(ms(100), usize::MAX).await {
                return error;
            }
        }
    })
    .await
}

/// Commits, and returns the error of partition 0; the commit must have something to acknowledge.
pub(crate) async fn commit(consumer: &ShareConsumer) -> Option<Error> {
    let committed = within_deadline(consumer.commit(CALL_TIMEOUT)).await.expect("an open consumer");
    committed.into_values().next().expect("a result")
}

/// Commits without an error.
pub(crate) async fn commit_all(consumer: &ShareConsumer) {
    let error = commit(consumer).await;
    assert!(error.is_none(), "{error:?}");
}

pub(crate) async fn close(consumer: ShareConsumer) {
    within_deadline(consumer.close(CALL_TIMEOUT)).await.expect("closed");
}

/// Whether the group has finished all records of the first partitions.
pub(crate) fn is_finished(cluster: &MockCluster, partitions: i32) -> bool {
    (0..partitions).all(|partition| cluster.share_lag("g", "t", partition) == Some(0))
}

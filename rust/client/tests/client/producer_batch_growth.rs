//! Tests batch sizes: a batch is sent once it has `batch.size` compressed bytes, and grows up to
//! `batch.max.size` while it cannot be sent; a topic that rejects large batches does not get them
//! again.

use crate::support::*;
use ottla_client::producer::Producer;
use ottla_mock::{Fault, Match, MockCluster, MockConfig, Reaction, TopicSpec};
use ottla_protocol::ApiKey;

/// Sends `count` values of 1,000 bytes to partition 0 and waits until all are acknowledged.
async fn send_all(producer: &Producer, count: usize) {
    let value = "x".repeat(1000);
    let mut sent = Vec::new();
    for _ in 0..count {
        sent.push(send(producer, 0, &value).await);
    }
    for delivery in &sent {
        offset_of(delivery).await.expect("written");
    }
}

/// The sizes of the batches in the log.
fn batch_sizes(cluster: &MockCluster) -> Vec<usize> {
    let view = cluster.partition_log("t", 0).expect("a log");
    view.batches.iter().map(|batch| batch.bytes.len()).collect()
}

fn metric(producer: &Producer, name: &str) -> f64 {
    producer.metrics().into_iter().find(|metric| metric.name == name).expect(name).value
}

/// Regression: batches ended at 16 KB even while dozens of them waited. A request carries one batch
/// per partition, so a producer with default settings was two to four times slower than others.
#[tokio::test(start_paused = true)]
async fn a_batch_grows_while_no_request_can_be_sent() {
    let cluster = cluster(1).await;
    let producer = producer(&cluster, &[("max.in.flight.requests.per.connection", "1")]).await;
    send_all(&producer, 1).await;
    cluster.clear_requests();
    let produce = Match::api(ApiKey::Produce);
    cluster.inject(Fault::once(produce, Reaction::Delay(ms(100))));
    let first = send(&producer, 0, &"x".repeat(20_000)).await;
    until(|| cluster.request_count(None, ApiKey::Produce) == 1).await;
    send_all(&producer, 2000).await;
    offset_of(&first).await.expect("written");
    let sizes = batch_sizes(&cluster);
    assert!(sizes.iter().all(|size| *size <= 524_288), "{sizes:?}");
    // The first one, then two megabytes in four batches of half a megabyte.
    let requests = cluster.request_count(None, ApiKey::Produce);
    assert!(requests <= 6, "{requests} requests, {sizes:?}");
}

#[tokio::test(start_paused = true)]
async fn an_explicit_batch_size_is_the_largest_batch() {
    let cluster = cluster(1).await;
    let producer = producer(&cluster, &[("batch.size", "5000")]).await;
    send_all(&producer, 100).await;
    assert!(batch_sizes(&cluster).iter().all(|size| *size <= 5000), "{:?}", batch_sizes(&cluster));
    let both = [("batch.size", "5000"), ("batch.max.size", "20000")];
    send_all(&self::producer(&cluster, &both).await, 100).await;
    let largest = batch_sizes(&cluster).into_iter().max();
    assert!(largest.is_some_and(|size| (10_000..=20_000).contains(&size)), "{largest:?}");
}

/// Regression: batches were closed by their size before compression.
#[tokio::test(start_paused = true)]
async fn batch_size_counts_compressed_bytes() {
    let cluster = cluster(1).await;
    let pairs = [("compression.type", "lz4"), ("linger.ms", "1000")];
    let producer = producer(&cluster, &pairs).await;
    let started = Instant::now();
    // The topic's compression ratio is unknown: 20 KB count as more than a batch.
    send_all(&producer, 20).await;
    assert!(started.elapsed() < ms(1000), "{:?}", started.elapsed());
    for _ in 0..20 {
        send_all(&producer, 100).await;
    }
    let started = Instant::now();
    // The batches are known to compress well: 20 KB are far from a batch, and linger.
    send_all(&producer, 20).await;
    assert_took(started, ms(1000), ms(1100));
}

/// A topic with a small `max.message.bytes` causes some splits at the beginning, and none later.
#[tokio::test(start_paused = true)]
async fn batches_stay_smaller_than_those_that_a_topic_rejected() {
    let cluster = MockCluster::start(MockConfig { brokers: 1, ..in_memory() }).await.unwrap();
    cluster.create_topic(TopicSpec::new("t").partitions(1).config("max.message.bytes", "20000")).unwrap();
    let producer = producer(&cluster, &[]).await;
    send_all(&producer, 400).await;
    let splits = metric(&producer, "batch-split-total");
    assert!(splits > 0.0, "no batch was too large");
    send_all(&producer, 400).await;
    let more = metric(&producer, "batch-split-total") - splits;
    assert!(more == 0.0, "{more} more batches were too large");
    assert_eq!(log(&cluster, "t", 0).len(), 800);
}

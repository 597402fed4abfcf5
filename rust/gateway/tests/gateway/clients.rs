//! Proves: a client that knows only the gateway produces and consumes all records, through the gateway alone, and
//! follows a leader that moves.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use ottla_client::consumer::Consumer;
use ottla_client::producer::{Delivery, Producer, Record};
use ottla_gateway::Gateway;
use ottla_protocol::ApiKey;
use tokio::time::Duration;

use crate::support::*;

async fn send(producer: &Producer, partition: i32, value: &str) -> Delivery {
    let record = Record { timestamp: 1000, key: None, value: Some(value.as_bytes()), headers: &[] };
    within_deadline(producer.send("t", Some(partition), &record)).await.expect("accepted")
}

/// Reads `count` records of all partitions: partition and offset of each.
async fn read(gateway: &Gateway, count: usize) -> BTreeSet<(i32, i64)> {
    let (client, _) = client(gateway, &[("auto.offset.reset", "earliest")]).await;
    let consumer = Consumer::new(client);
    consumer.assign((0..6).map(|n| ("t".into(), n)).collect()).expect("assigned");
    let mut rows = BTreeSet::new();
    within_deadline(async {
        while rows.len() < count {
            for set in consumer.poll(Duration::from_millis(200), 500).await.expect("records") {
                rows.extend(set.entries.iter().map(|entry| (set.partition.1, entry.offset)));
            }
        }
    })
    .await;
    rows
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_go_through_the_gateway_alone() {
    let cluster = cluster().await;
    let gateway = gateway(&cluster).await;
    let (client, network) = client(&gateway, &[]).await;
    let producer = Producer::new(client).expect("a producer");
    let mut sent = Vec::new();
    // The last ones take several buffers.
    for (n, length) in (0..600).zip((0..500).chain([200_000; 100])) {
        let value = "x".repeat(length);
        sent.push(send(&producer, n % 6, &value).await);
    }
    for delivery in &sent {
        within_deadline(delivery.wait()).await.expect("written");
    }
    let expected = (0..6).flat_map(|partition| (0..100).map(move |offset| (partition, offset)));
    assert_eq!(read(&gateway, sent.len()).await, expected.collect());

    let own: BTreeSet<u16> = cluster.brokers().iter().map(|broker| broker.address.port()).collect();
    let ports: BTreeSet<u16> = network.connects.lock().iter().map(SocketAddr::port).collect();
    assert!(ports.is_disjoint(&own), "{ports:?}");
    let brokers = gateway.brokers();
    assert_eq!(brokers.keys().copied().collect::<Vec<_>>(), [1, 2, 3]);
    let bootstrap = gateway.address().port();
    let expected = brokers.values().map(|address| address.port).chain([bootstrap]).collect();
    assert_eq!(ports, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_connection_goes_to_the_broker_that_the_client_named() {
    let cluster = cluster().await;
    let gateway = gateway(&cluster).await;
    let (client, _) = client(&gateway, &[]).await;
    let producer = Producer::new(client).expect("a producer");
    for _ in 0..3 {
        for broker in 1..=3 {
            cluster.move_leader("t", 0, broker).expect("moved");
            let delivery = send(&producer, 0, "v").await;
            within_deadline(delivery.wait()).await.expect("written");
        }
    }
    for broker in 1..=3 {
        assert!(cluster.request_count(Some(broker), ApiKey::Produce) >= 3, "{broker}");
    }
    let mut named: Vec<_> = gateway.sessions().iter().filter_map(|session| session.broker).collect();
    named.sort_unstable();
    named.dedup();
    assert_eq!(named, [1, 2, 3]);
    let counted: u64 = gateway
        .sessions()
        .iter()
        .filter_map(|session| session.counts.apis.get(&ApiKey::Produce))
        .map(|count| count.responses)
        .sum();
    assert_eq!(
        counted,
        (1..=3).map(|broker| cluster.request_count(Some(broker), ApiKey::Produce)).sum::<u64>()
    );
}

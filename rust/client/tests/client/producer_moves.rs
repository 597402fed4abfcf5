//! Tests leaders that move while batches are in flight: no record is lost or duplicated, with hints
//! about the new leader (KIP-951) or without, for all partitions of a request or for one of many.

use crate::support::*;
use ottla_client::Client;
use ottla_client::producer::{Delivery, Producer};
use ottla_mock::{ApiLimit, Fault, Match, MockCluster, MockConfig, Reaction, TopicSpec, When};
use ottla_protocol::{ApiKey, ErrorCode};

const PARTITIONS: i32 = 6;

/// A cluster that supports Produce up to this version.
async fn limited(version: i16) -> MockCluster {
    let api_limits = [(ApiKey::Produce, ApiLimit::Max(version))].into();
    let config = MockConfig { api_limits, ..in_memory() };
    let cluster = MockCluster::start(config).await.unwrap();
    cluster.create_topic(TopicSpec::new("t").partitions(PARTITIONS)).unwrap();
    cluster
}

async fn check(cluster: &MockCluster, sent: &[(i32, String, Delivery)]) {
    for (partition, value, delivery) in sent {
        let offset = offset_of(delivery).await.expect("written");
        let log = log(cluster, "t", *partition);
        let found: Vec<i64> =
            log.iter().filter(|(_, found)| found == value).map(|(offset, _)| *offset).collect();
        assert_eq!(found, [offset], "{value}: once, at the reported offset");
    }
    for partition in 0..PARTITIONS {
        let written: Vec<String> = log(cluster, "t", partition).into_iter().map(|(_, value)| value).collect();
        let sent = sent.iter().filter(|(to, _, _)| *to == partition).map(|(_, value, _)| value.clone());
        assert_eq!(written, sent.collect::<Vec<_>>(), "in order");
    }
}

async fn send_round(producer: &Producer, sent: &mut Vec<(i32, String, Delivery)>, round: i32) {
    for partition in 0..PARTITIONS {
        let value = format!("{partition}-{round}");
        let delivery = send(producer, partition, &value).await;
        sent.push((partition, value, delivery));
    }
}

#[tokio::test(start_paused = true)]
async fn leaders_that_move_are_followed_with_and_without_a_hint() {
    // By ids and with hints; by names and with hints; without hints.
    for version in [13, 12, 9] {
        let cluster = limited(version).await;
        let producer = producer(&cluster, &[("linger.ms", "1"), ("batch.size", "100")]).await;
        let mut sent = Vec::new();
        for round in 0..60 {
            if round % 10 == 5 {
                for partition in 0..PARTITIONS {
                    let leader = cluster.leader("t", partition).unwrap();
                    cluster.move_leader("t", partition, leader % 3 + 1).unwrap();
                }
            }
            send_round(&producer, &mut sent, round).await;
            tokio::time::sleep(ms(2)).await;
        }
        check(&cluster, &sent).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_hint_saves_a_metadata_request() {
    let cluster = limited(13).await;
    let config = config(&cluster.bootstrap(), &[("linger.ms", "0")]);
    let client = within_deadline(Client::connect(config, memory_environment(), CALL_TIMEOUT)).await.unwrap();
    let producer = Producer::new(client).unwrap();
    offset_of(&send(&producer, 0, "a").await).await.expect("written");
    let leader = cluster.leader("t", 0).unwrap();
    cluster.move_leader("t", 0, leader % 3 + 1).unwrap();
    let before = cluster.request_count(None, ApiKey::Metadata);
    offset_of(&send(&producer, 0, "b").await).await.expect("written");
    assert_eq!(cluster.request_count(None, ApiKey::Metadata), before);
}

#[tokio::test(start_paused = true)]
async fn only_the_rejected_partition_is_retried() {
    let cluster = MockCluster::start(MockConfig { brokers: 1, ..in_memory() }).await.unwrap();
    cluster.create_topic(TopicSpec::new("t").partitions(PARTITIONS)).unwrap();
    let producer = producer(&cluster, &[("linger.ms", "20")]).await;
    let mut sent = Vec::new();
    send_round(&producer, &mut sent, 0).await;
    check(&cluster, &sent).await;
    cluster.clear_requests();
    let one = Match::api(ApiKey::Produce).topic("t").partition(3);
    cluster.inject(Fault::once(one, Reaction::Error(ErrorCode::NotLeaderOrFollower)));
    send_round(&producer, &mut sent, 1).await;
    check(&cluster, &sent).await;
    // All in one request, and the rejected one in another.
    assert_eq!(cluster.request_count(None, ApiKey::Produce), 2);
}

#[tokio::test(start_paused = true)]
async fn a_lost_request_with_many_partitions_is_written_once() {
    let lost = [
        Reaction::Disconnect(When::BeforeHandling),
        Reaction::Disconnect(When::AfterHandling),
        Reaction::TruncateFrame,
        Reaction::Delay(ms(400)),
        Reaction::Silence,
        Reaction::Throttle(50),
    ];
    for reaction in lost {
        let cluster = cluster(PARTITIONS).await;
        let pairs = [("linger.ms", "2"), ("batch.size", "200"), ("request.timeout.ms", "250")];
        let producer = producer(&cluster, &pairs).await;
        let mut sent = Vec::new();
        for round in 0..20 {
            if round % 5 == 2 {
                cluster.inject(Fault::once(Match::api(ApiKey::Produce), reaction.clone()));
            }
            send_round(&producer, &mut sent, round).await;
            tokio::time::sleep(ms(3)).await;
        }
        check(&cluster, &sent).await;
    }
}

/// The values in each partition, in order.
fn contents(cluster: &MockCluster) -> Vec<Vec<String>> {
    let values = |partition| log(cluster, "t", partition).into_iter().map(|(_, value)| value).collect();
    (0..PARTITIONS).map(values).collect()
}

/// Regression: queues were indexed by a partition's position in the metadata, so those behind an
/// omitted partition got each other's records.
#[tokio::test(start_paused = true)]
async fn partitions_behind_one_that_the_metadata_omits_get_their_own_records() {
    let mut all = Vec::new();
    for omitted in [None, Some(2)] {
        let cluster = cluster(PARTITIONS).await;
        let fault = omitted.map(|index| {
            let on = Match::api(ApiKey::Metadata).topic("t");
            cluster.inject(Fault::new(on, Reaction::OmitPartition(index)))
        });
        let producer = producer(&cluster, &[("linger.ms", "1")]).await;
        let mut sent = Vec::new();
        for n in 0..60 {
            let (key, value) = (format!("key-{n}"), n.to_string());
            let record =
                ottla_client::producer::Record { key: Some(key.as_bytes()), ..record(value.as_bytes()) };
            sent.push(within_deadline(producer.send("t", None, &record)).await.expect("accepted"));
            tokio::time::sleep(ms(5)).await;
        }
        if let Some(fault) = fault {
            assert!(cluster.fault_hits(fault) > 0 && contents(&cluster)[2].is_empty());
            cluster.remove_fault(fault);
        }
        for delivery in &sent {
            offset_of(delivery).await.expect("written");
        }
        all.push(contents(&cluster));
    }
    assert_eq!(all[0], all[1]);
    assert!(all[0].iter().all(|partition| !partition.is_empty()), "keys for all partitions");
}

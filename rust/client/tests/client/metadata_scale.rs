//! Proves: a large cluster takes little memory, and a small change to it copies little.

use std::sync::Arc;

use ottla_client::metadata::{Cache, NewLeader, Pattern, TopicSelector};
use ottla_protocol::messages::metadata::{
    MetadataResponse, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use ottla_protocol::wire::Uuid;

const BROKERS: i32 = 200;
const TOPICS: i32 = 20_000;
const PARTITIONS: i32 = 10;

fn topic(number: i32, epoch: i32) -> MetadataResponseTopic {
    let partition = |index: i32| {
        let first = number * 7 + index;
        let replicas: Vec<i32> = (0..3).map(|step| (first + step * 31) % BROKERS).collect();
        // Every hundredth partition has an offline replica.
        let behind = first % 100 == 0;
        MetadataResponsePartition {
            partition_index: index,
            leader_id: replicas[0],
            leader_epoch: epoch,
            isr_nodes: replicas[..if behind { 2 } else { 3 }].to_vec(),
            offline_replicas: replicas[if behind { 2 } else { 3 }..].to_vec(),
            replica_nodes: replicas,
            ..Default::default()
        }
    };
    let mut id = [0; 16];
    id[..4].copy_from_slice(&(number + 1).to_be_bytes());
    MetadataResponseTopic {
        name: Some(format!("team-{}.orders-{number:05}", number % 40)),
        topic_id: Uuid(id),
        partitions: (0..PARTITIONS).map(partition).collect(),
        ..Default::default()
    }
}

fn response(topics: impl IntoIterator<Item = MetadataResponseTopic>) -> MetadataResponse {
    let broker = |node_id: i32| MetadataResponseBroker {
        node_id,
        host: format!("broker-{node_id}.example.com"),
        port: 9092,
        rack: Some(format!("rack-{}", node_id % 3)),
    };
    MetadataResponse {
        brokers: (0..BROKERS).map(broker).collect(),
        topics: topics.into_iter().collect(),
        ..Default::default()
    }
}

#[test]
fn a_partition_takes_no_more_than_150_bytes_and_a_change_copies_little() {
    let (cache, all) = (Cache::default(), Pattern::all());
    cache.track_pattern(&all);
    let mut responses = None;
    // The response's memory is freed while it is merged.
    let before = allocation_counter::measure(|| {
        responses = Some(response((0..TOPICS).map(|number| topic(number, 5))));
    });
    let held = allocation_counter::measure(|| {
        cache.process_response(responses.take().unwrap(), true, TopicSelector::Tracked);
    });
    let kept = held.bytes_current + before.bytes_current;
    let each = kept / i64::from(TOPICS * PARTITIONS);
    println!("{each} bytes a partition");
    assert!((12..=150).contains(&each), "{each} bytes a partition");

    let first = cache.snapshot();
    let changed = allocation_counter::measure(|| {
        cache.process_response(response([topic(77, 6)]), false, TopicSelector::Tracked);
    });
    assert!(changed.bytes_total < 200_000, "one topic in a response: {} bytes", changed.bytes_total);
    let second = cache.snapshot();
    let name = |number: i32| topic(number, 0).name.unwrap();
    let shared =
        |number| Arc::ptr_eq(first.topic(&name(number)).unwrap(), second.topic(&name(number)).unwrap());
    assert!(shared(76) && shared(78) && !shared(77));

    let led = second.partition(&name(9), 3).unwrap().leader;
    let moved = allocation_counter::measure(|| {
        let new =
            NewLeader { topic: name(9).into(), partition: 3, leader: (led + 1) % BROKERS, leader_epoch: 6 };
        assert_eq!(cache.process_leaders(&[new], &Default::default()), 1);
    });
    assert!(moved.bytes_total < 20_000, "one leader that moved: {} bytes", moved.bytes_total);
    // Regression: each leader in a response copied its whole topic.
    let name_of_10: std::sync::Arc<str> = name(10).into();
    let leaders: Vec<NewLeader> = (0..PARTITIONS)
        .map(|partition| NewLeader { topic: name_of_10.clone(), partition, leader: 1, leader_epoch: 6 })
        .collect();
    let moved = allocation_counter::measure(|| {
        assert_eq!(cache.process_leaders(&leaders, &Default::default()), leaders.len());
    });
    assert!(moved.bytes_total < 20_000, "all leaders of a topic: {} bytes", moved.bytes_total);

    // A response without news keeps every topic object.
    cache.process_response(
        response((0..TOPICS).filter(|n| ![77, 9, 10].contains(n)).map(|n| topic(n, 5))),
        false,
        TopicSelector::Tracked,
    );
    let third = cache.snapshot();
    assert!(
        (0..TOPICS)
            .filter(|n| ![77, 9, 10].contains(n))
            .all(|n| { Arc::ptr_eq(first.topic(&name(n)).unwrap(), third.topic(&name(n)).unwrap()) })
    );
    let (topic, partition) = (third.topic(&name(0)).unwrap(), *third.partition(&name(0), 0).unwrap());
    assert_eq!(topic.replicas(&partition), [0, 31, 62]);
    assert_eq!(topic.isr(&partition), [0, 31]);
    assert_eq!(topic.offline(&partition), [62]);
}

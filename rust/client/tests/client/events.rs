//! Proves: the events between any two snapshots are complete and without duplicates; a slow subscriber
//! learns how many events it missed, and delays no other.

use std::collections::{BTreeMap, BTreeSet};

use ottla_client::metadata::{Cache, Event, Snapshot, TopicSelector, diff};
use ottla_protocol::messages::metadata::{
    MetadataResponse, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use ottla_protocol::wire::Uuid;
use proptest::prelude::*;

/// A topic by name: a number for its id, and each partition's leader.
type Topics = BTreeMap<u8, (u8, Vec<i32>)>;

#[derive(Debug, Clone, PartialEq)]
struct World {
    /// Port by id.
    brokers: BTreeMap<i32, u16>,
    topics: Topics,
}

fn world() -> impl Strategy<Value = World> {
    let brokers = proptest::collection::btree_map(1..5, 9092u16..9095, 1..4);
    let leaders = proptest::collection::vec(-1..5, 1..5);
    let topics = proptest::collection::btree_map(0u8..4, (1u8..3, leaders), 0..4);
    (brokers, topics).prop_map(|(brokers, topics)| World { brokers, topics })
}

fn response(world: &World) -> MetadataResponse {
    let broker = |(node_id, port): (&i32, &u16)| MetadataResponseBroker {
        node_id: *node_id,
        host: "host".to_owned(),
        port: i32::from(*port),
        ..Default::default()
    };
    let topic = |(name, (id, leaders)): (&u8, &(u8, Vec<i32>))| MetadataResponseTopic {
        name: Some(format!("t{name}")),
        topic_id: Uuid([*id; 16]),
        partitions: (0..)
            .zip(leaders)
            .map(|(partition_index, leader)| MetadataResponsePartition {
                partition_index,
                leader_id: *leader,
                leader_epoch: -1,
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    };
    MetadataResponse {
        brokers: world.brokers.iter().map(broker).collect(),
        // With KRaft any broker is reported, and no event is sent.
        controller_id: 5,
        topics: world.topics.iter().map(topic).collect(),
        ..Default::default()
    }
}

fn snapshot(world: &World) -> Snapshot {
    Snapshot::default().updated(response(world), true)
}

/// Applies the events to `world`; takes from `after` only what events do not contain.
fn apply(world: &mut World, events: &[Event], after: &World) {
    let number = |topic: &str| topic[1..].parse::<u8>().unwrap();
    for event in events {
        match event {
            Event::BrokerAdded(broker) => {
                assert!(world.brokers.insert(broker.id, broker.endpoint.port).is_none());
            }
            Event::BrokerLost(broker) => {
                assert_eq!(world.brokers.remove(&broker.id), Some(broker.endpoint.port));
            }
            Event::BrokerMoved { from, to } => {
                assert_eq!(world.brokers.insert(to.id, to.endpoint.port), Some(from.endpoint.port));
            }
            Event::TopicAppeared { topic, .. } | Event::TopicRecreated { topic, .. } => {
                let topic = number(topic);
                world.topics.insert(topic, after.topics[&topic].clone());
            }
            Event::TopicGone { topic } => assert!(world.topics.remove(&number(topic)).is_some()),
            Event::PartitionsAdded { topic, from, to } => {
                let topic = number(topic);
                let leaders = &mut world.topics.get_mut(&topic).unwrap().1;
                assert_eq!(leaders.len(), *from);
                leaders.extend_from_slice(&after.topics[&topic].1[*from..*to]);
            }
            Event::LeaderChanged { topic, partition, from, to, .. } => {
                let leaders = &mut world.topics.get_mut(&number(topic)).unwrap().1;
                let leader = &mut leaders[usize::try_from(*partition).unwrap()];
                assert_eq!(std::mem::replace(leader, *to), *from);
            }
            other => panic!("not from two snapshots: {other}"),
        }
    }
}

proptest! {
    #[test]
    fn events_lead_from_one_snapshot_to_the_next(mut before in world(), after in world()) {
        // A topic never loses partitions under one id.
        for (name, (id, leaders)) in &mut before.topics {
            if let Some((now, after)) = after.topics.get(name) && now == id {
                leaders.truncate(after.len());
            }
        }
        let events = diff(&snapshot(&before), &snapshot(&after));
        let reported: BTreeSet<String> = events.iter().map(ToString::to_string).collect();
        prop_assert_eq!(reported.len(), events.len(), "no event is sent twice");
        let mut world = before;
        apply(&mut world, &events, &after);
        prop_assert_eq!(world, after);
    }
}

#[test]
fn an_unchanged_cluster_has_no_events() {
    let world = World { brokers: [(1, 9092)].into(), topics: [(0, (1, vec![1, 1]))].into() };
    assert!(diff(&snapshot(&world), &snapshot(&world)).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_slow_subscriber_learns_how_much_it_missed() {
    let cache = Cache::default();
    let mut events = cache.events().subscribe();
    let mut world = World { brokers: [(1, 9092)].into(), topics: Topics::new() };
    for round in 0..5_000 {
        world.brokers.insert(1, 9092 + round % 2);
        cache.process_response(response(&world), true, TopicSelector::Tracked);
    }
    let missed = match events.recv().await {
        Err(tokio::sync::broadcast::error::RecvError::Lagged(missed)) => missed,
        other => panic!("{other:?}"),
    };
    let mut taken = 0;
    while events.try_recv().is_ok() {
        taken += 1;
    }
    // The broker is added, and then moves in each round.
    assert_eq!(missed + taken, 5_000);
}

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::*;

fn partitions(topic: &str, count: i32) -> Vec<TopicPartition> {
    let topic: Arc<str> = topic.into();
    (0..count).map(|partition| (Arc::clone(&topic), partition)).collect()
}

fn piece(partition: &TopicPartition, version: u64) -> Prefetched {
    Prefetched {
        partition: partition.clone(),
        version,
        records: Bytes::from_static(&[0; 10]),
        frame: 10,
        start: 0,
        end: 1,
        epoch: -1,
        aborted: None,
        decoded: None,
    }
}

/// Regression: each partition that went was looked for among all that stay, and among all that is
/// buffered: minutes, with the lock held. The time is a hang guard: it takes a fraction of a second.
#[test]
fn a_hundred_thousand_partitions_are_exchanged_at_once() {
    let began = Instant::now();
    let (first, second) = (partitions("a", 100_000), partitions("b", 100_000));
    let mut assignment = Assignment::default();
    assignment.replace(first.clone(), Phase::Fetch);
    for partition in &first {
        assignment.push(piece(partition, 0));
    }
    assert_eq!(assignment.buffered(), 1_000_000);
    for partition in &first {
        assignment.pause(partition, true).expect("assigned");
    }
    assignment.slots().for_each(|(_, slot)| slot.taken = slot.position.offset);
    assignment.drop_held_back();
    assert_eq!(assignment.buffered(), 0);
    for partition in &first {
        assignment.push(piece(partition, 0));
    }
    assignment.replace(second.clone(), Phase::Fetch);
    assert_eq!((assignment.buffered(), assignment.partitions().count()), (0, 100_000));
    assert!(assignment.take().is_none());
    assignment.remove(&second);
    assert_eq!(assignment.partitions().count(), 0);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

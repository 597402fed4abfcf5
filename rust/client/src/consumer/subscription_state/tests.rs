use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::*;

fn partitions(topic: &str, count: i32) -> Vec<TopicPartition> {
    let topic: Arc<str> = topic.into();
    (0..count).map(|partition| (Arc::clone(&topic), partition)).collect()
}

fn fetch(partition: &TopicPartition, version: u64) -> CompletedFetch {
    CompletedFetch {
        partition: partition.clone(),
        version,
        records: Bytes::from_static(&[0; 10]),
        response_bytes: 10,
        start: 0,
        end: 1,
        epoch: -1,
        aborted: None,
        remaining: None,
    }
}

/// Regression: each removed partition was searched for among all remaining ones and all buffered fetches:
/// minutes, with the lock held. The time limit guards against hangs: the test takes a fraction of a second.
#[test]
fn a_hundred_thousand_partitions_are_replaced_quickly() {
    let began = Instant::now();
    let (first, second) = (partitions("a", 100_000), partitions("b", 100_000));
    let mut subscriptions = SubscriptionState::default();
    subscriptions.replace(first.clone(), FetchState::Fetching);
    for partition in &first {
        subscriptions.push(fetch(partition, 0));
    }
    assert_eq!(subscriptions.buffered_bytes(), 1_000_000);
    for partition in &first {
        subscriptions.pause(partition, true).expect("assigned");
    }
    subscriptions.states().for_each(|(_, state)| state.collected = state.position.offset);
    subscriptions.drop_paused_data();
    assert_eq!(subscriptions.buffered_bytes(), 0);
    for partition in &first {
        subscriptions.push(fetch(partition, 0));
    }
    subscriptions.replace(second.clone(), FetchState::Fetching);
    assert_eq!((subscriptions.buffered_bytes(), subscriptions.partitions().count()), (0, 100_000));
    assert!(subscriptions.take_fetch(&PartitionFilter::default()).is_none());
    subscriptions.remove(&second);
    assert_eq!(subscriptions.partitions().count(), 0);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

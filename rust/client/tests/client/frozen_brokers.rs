//! Proves: a frozen leader, whose connections stay open but which does not respond, delays its
//! partitions only until the cluster has replaced it, and not for `request.timeout.ms`.

use crate::support::reader::{consumer, read, rows, write};
use crate::support::*;
use ottla_mock::{Fault, FaultId, Match, MockCluster, Reaction};

/// Freezes the leader of partition 0. Returns its id and the fault that keeps it silent.
async fn freeze(cluster: &MockCluster) -> (i32, FaultId) {
    let leader = cluster.leader("t", 0).expect("a leader");
    (leader, cluster.inject(Fault::new(Match::any().broker(leader), Reaction::Silence)))
}

/// Regression: all produce and fetch requests to it waited for 30 seconds.
#[tokio::test(start_paused = true)]
async fn a_producer_continues_when_a_frozen_leader_is_replaced() {
    for acks in ["all", "1"] {
        let cluster = cluster(1).await;
        let producer = producer(&cluster, &[("acks", acks), ("retry.backoff.ms", "100")]).await;
        offset_of(&send(&producer, 0, "before").await).await.expect("written");
        let (leader, _) = freeze(&cluster).await;
        let waiting = send(&producer, 0, "while frozen").await;
        tokio::time::sleep(ms(9000)).await;
        assert!(waiting.result().is_none());
        let started = Instant::now();
        cluster.fence_broker(leader).expect("fenced");
        offset_of(&waiting).await.expect("written");
        assert!(started.elapsed() < ms(3000), "{:?}", started.elapsed());
        let written: Vec<_> = log(&cluster, "t", 0).into_iter().map(|(_, value)| value).collect();
        assert_eq!(written, ["before", "while frozen"]);
    }
}

/// Regression: the error of the request in flight let the next one be sent, while the pool of connections was locked
/// to close that of the frozen leader. The thread waited for itself, and the producer hung for ever.
#[test]
fn requests_that_wait_behind_a_frozen_leader_are_sent_once_it_is_replaced() {
    let (ended, end) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        runtime.expect("a runtime").block_on(two_partitions_of_a_frozen_leader());
        ended.send(()).expect("the test waits");
    });
    // Of the machine's time, which goes on while a thread waits for itself.
    end.recv_timeout(std::time::Duration::from_secs(60)).expect("the producer hangs, or has failed");
}

async fn two_partitions_of_a_frozen_leader() {
    let cluster = cluster(6).await;
    let config = [("retry.backoff.ms", "100"), ("max.in.flight.requests.per.connection", "1")];
    let producer = producer(&cluster, &config).await;
    for partition in 0..6 {
        offset_of(&send(&producer, partition, "before").await).await.expect("written");
    }
    let (leader, _) = freeze(&cluster).await;
    let other = (1..6).find(|partition| cluster.leader("t", *partition) == Some(leader)).expect("another");
    let in_flight = send(&producer, 0, "in flight").await;
    tokio::time::sleep(ms(100)).await;
    let behind = send(&producer, other, "behind").await;
    tokio::time::sleep(ms(9000)).await;
    cluster.fence_broker(leader).expect("fenced");
    offset_of(&in_flight).await.expect("written");
    offset_of(&behind).await.expect("written");
}

#[tokio::test(start_paused = true)]
async fn a_consumer_continues_when_a_frozen_leader_is_replaced() {
    let cluster = cluster(1).await;
    write(&cluster, 0, 5);
    let consumer = consumer(&cluster, &[0], &[("retry.backoff.ms", "100")]).await;
    assert_eq!(read(&consumer, 5).await, rows(0, 0..5));
    let (leader, _) = freeze(&cluster).await;
    tokio::time::sleep(ms(9000)).await;
    let started = Instant::now();
    cluster.fence_broker(leader).expect("fenced");
    write(&cluster, 0, 5);
    assert_eq!(read(&consumer, 5).await, rows(0, 5..10));
    assert!(started.elapsed() < ms(3000), "{:?}", started.elapsed());
}

/// A broker that is only slow keeps its connection and its requests.
#[tokio::test(start_paused = true)]
async fn a_slow_broker_is_not_given_up() {
    let cluster = cluster(1).await;
    let producer = producer(&cluster, &[]).await;
    offset_of(&send(&producer, 0, "before").await).await.expect("written");
    let leader = cluster.leader("t", 0).expect("a leader");
    cluster.inject(Fault::once(Match::any().broker(leader), Reaction::Delay(ms(20_000))));
    let connections = cluster.connections(leader);
    let slow = send(&producer, 0, "slow").await;
    tokio::time::sleep(ms(15_000)).await;
    assert_eq!(cluster.connections(leader), connections);
    assert_eq!(offset_of(&slow).await.expect("written"), 1);
}

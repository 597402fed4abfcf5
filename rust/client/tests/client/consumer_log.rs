//! Proves: a consumer detects what happens to its log: aborted transactions, truncation by a new leader
//! (KIP-320), preferred read replicas (KIP-392), sessions that brokers forget (KIP-227). Nothing is skipped
//! silently or read twice.

use crate::support::*;
use ottla_client::consumer::Consumer;
use ottla_client::group_offsets::CommittedOffset;
use ottla_client::{Error, Kind, TopicPartition};
use ottla_mock::{Fault, Match, MockCluster, MockConfig, Reaction, TopicSpec};
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::time::Duration;

fn tp() -> TopicPartition {
    ("t".into(), 0)
}

async fn consumer(cluster: &MockCluster, pairs: &[(&str, &str)]) -> Consumer {
    let base = [("auto.offset.reset", "earliest")];
    let pairs: Vec<_> = base.iter().chain(pairs).copied().collect();
    let consumer = Consumer::new(client(cluster, &pairs).await);
    consumer.assign(vec![tp()]).expect("assigned");
    consumer
}

/// The offsets of the records of one poll.
async fn poll(consumer: &Consumer, max_records: usize, wait: Duration) -> Result<Vec<i64>, Error> {
    let sets = consumer.poll(wait, max_records).await?;
    Ok(sets.iter().flat_map(|set| &set.entries).map(|entry| entry.offset).collect())
}

/// The offsets of the next `count` records, at most `max_records` per poll.
async fn read(consumer: &Consumer, count: usize, max_records: usize) -> Vec<i64> {
    let mut all = Vec::new();
    within_deadline(async {
        while all.len() < count {
            all.extend(poll(consumer, max_records, ms(500)).await.expect("records"));
        }
    })
    .await;
    all
}

/// A log with values at offsets 0 to 9, led by broker 1.
async fn ten() -> MockCluster {
    let cluster = cluster(1).await;
    cluster.move_leader("t", 0, 2).unwrap();
    cluster.move_leader("t", 0, 1).unwrap();
    for _ in 0..10 {
        cluster.append("t", 0, &[b"v"]).unwrap();
    }
    cluster
}

#[tokio::test(start_paused = true)]
async fn aborted_records_and_markers_are_skipped_and_open_transactions_awaited() {
    let committed = [("isolation.level", "read_committed")];
    for max_records in [1, 2, 500] {
        let cluster = cluster(1).await;
        cluster.append("t", 0, &[b"0"]).unwrap();
        cluster.append_in_transaction("t", 0, 7, &[b"1", b"2"]).unwrap();
        cluster.append_in_transaction("t", 0, 8, &[b"3", b"4"]).unwrap();
        cluster.append("t", 0, &[b"5"]).unwrap();
        let consumer = consumer(&cluster, &committed).await;
        // Up to the first open transaction.
        assert_eq!(read(&consumer, 1, max_records).await, [0]);
        assert!(poll(&consumer, max_records, ms(100)).await.unwrap().is_empty());
        cluster.end_transaction("t", 0, 7, false).unwrap();
        cluster.end_transaction("t", 0, 8, true).unwrap();
        assert_eq!(read(&consumer, 3, max_records).await, [3, 4, 5]);
        // The same producer continues: its aborted transaction does not hide its committed one.
        cluster.append_in_transaction("t", 0, 7, &[b"8", b"9"]).unwrap();
        cluster.end_transaction("t", 0, 7, true).unwrap();
        assert_eq!(read(&consumer, 2, max_records).await, [8, 9]);
        // A log that ends in markers is read to its end.
        cluster.append_in_transaction("t", 0, 9, &[b"11"]).unwrap();
        cluster.end_transaction("t", 0, 9, false).unwrap();
        within_deadline(async {
            while consumer.position(&tp(), CALL_TIMEOUT).await.unwrap() < 13 {
                assert!(poll(&consumer, max_records, ms(100)).await.unwrap().is_empty());
            }
        })
        .await;
        assert_eq!(consumer.lag(), [(tp(), Some(0))]);
        let all = self::consumer(&cluster, &[]).await;
        assert_eq!(read(&all, 9, max_records).await, [0, 1, 2, 3, 4, 5, 8, 9, 11]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_split_fetch_keeps_its_transaction_state() {
    let cluster = cluster(1).await;
    // One producer: an aborted and then a committed transaction, in one response.
    for commit in [false, true, false, true] {
        cluster.append_in_transaction("t", 0, 7, &[b"a", b"b", b"c"]).unwrap();
        cluster.end_transaction("t", 0, 7, commit).unwrap();
    }
    let consumer = consumer(&cluster, &[("isolation.level", "read_committed")]).await;
    assert_eq!(read(&consumer, 6, 1).await, [4, 5, 6, 12, 13, 14]);
}

#[tokio::test(start_paused = true)]
async fn a_truncated_log_is_detected_and_reset_or_reported() {
    for policy in ["earliest", "latest", "none"] {
        let cluster = ten().await;
        let consumer = consumer(&cluster, &[("auto.offset.reset", policy)]).await;
        consumer.seek(&tp(), 0, None).expect("assigned");
        assert_eq!(read(&consumer, 10, 500).await, (0..10).collect::<Vec<_>>());
        // The new leader has six of the ten records, and gets others.
        cluster.truncate("t", 0, 6).unwrap();
        cluster.move_leader("t", 0, 2).unwrap();
        for _ in 0..8 {
            cluster.append("t", 0, &[b"w"]).unwrap();
        }
        if policy == "none" {
            let error = within_deadline(async {
                loop {
                    if let Err(error) = poll(&consumer, 500, ms(500)).await {
                        break error;
                    }
                }
            })
            .await;
            assert_eq!((error.kind(), error.context().partition), (Kind::DataLoss, Some(0)), "{error}");
            assert!(error.to_string().contains("truncated the log at offset 6"), "{error}");
            // The error stays until the application seeks.
            assert_eq!(poll(&consumer, 500, ms(50)).await.expect_err("truncated").kind(), Kind::DataLoss);
            consumer.seek(&tp(), 6, None).expect("assigned");
        }
        assert_eq!(read(&consumer, 8, 500).await, (6..14).collect::<Vec<_>>(), "{policy}");
    }
}

#[tokio::test(start_paused = true)]
async fn records_truncated_before_their_delivery_are_replaced() {
    let cluster = ten().await;
    let consumer = consumer(&cluster, &[]).await;
    assert_eq!(read(&consumer, 3, 3).await, [0, 1, 2]);
    cluster.truncate("t", 0, 6).unwrap();
    cluster.move_leader("t", 0, 2).unwrap();
    for _ in 0..4 {
        cluster.append("t", 0, &[b"w"]).unwrap();
    }
    // Prefetched records of the old log may be delivered or not, but none is missing and none comes twice.
    assert_eq!(read(&consumer, 7, 1).await, (3..10).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_moving_leader_with_the_same_log_loses_nothing() {
    let cluster = ten().await;
    let consumer = consumer(&cluster, &[("auto.offset.reset", "none")]).await;
    consumer.seek(&tp(), 0, None).expect("assigned");
    assert_eq!(read(&consumer, 10, 500).await.len(), 10);
    for leader in [2, 3, 1] {
        cluster.move_leader("t", 0, leader).unwrap();
        cluster.append("t", 0, &[b"v"]).unwrap();
        assert_eq!(read(&consumer, 1, 500).await.len(), 1);
    }
    assert!(cluster.request_count(None, ApiKey::OffsetForLeaderEpoch) >= 3, "the epoch was not validated");
}

#[tokio::test(start_paused = true)]
async fn the_replica_in_the_same_rack_is_preferred() {
    let cluster = ten().await;
    let consumer = consumer(&cluster, &[("client.rack", "rack-b")]).await;
    assert_eq!(read(&consumer, 10, 500).await.len(), 10);
    let from_leader = cluster.request_count(Some(1), ApiKey::Fetch);
    for _ in 0..5 {
        cluster.append("t", 0, &[b"v"]).unwrap();
        read(&consumer, 1, 500).await;
    }
    assert_eq!(cluster.request_count(Some(1), ApiKey::Fetch), from_leader, "the leader got a fetch");
    // A nearer replica that lacks the records is no help.
    cluster.stop_broker(2).await.unwrap();
    cluster.append("t", 0, &[b"v"]).unwrap();
    assert_eq!(read(&consumer, 1, 500).await, [15]);
}

#[tokio::test(start_paused = true)]
async fn a_lagging_replica_returns_to_the_leader_without_a_reset() {
    let cluster = ten().await;
    let consumer = consumer(&cluster, &[("client.rack", "rack-b"), ("auto.offset.reset", "none")]).await;
    consumer.seek(&tp(), 0, None).expect("assigned");
    assert_eq!(read(&consumer, 10, 500).await.len(), 10);
    cluster.lag_replica("t", 0, 2, Some(4)).unwrap();
    cluster.append("t", 0, &[b"v"]).unwrap();
    assert_eq!(read(&consumer, 1, 500).await, [10]);
}

#[tokio::test(start_paused = true)]
async fn forgotten_or_rejected_sessions_start_anew() {
    let cluster = ten().await;
    let consumer = consumer(&cluster, &[("fetch.max.wait.ms", "50")]).await;
    assert_eq!(read(&consumer, 10, 500).await.len(), 10);
    assert_eq!(cluster.fetch_sessions(1), 1);
    cluster.evict_fetch_sessions(1);
    cluster.append("t", 0, &[b"v"]).unwrap();
    assert_eq!(read(&consumer, 1, 500).await, [10]);
    let codes = [
        ErrorCode::FetchSessionIdNotFound,
        ErrorCode::InvalidFetchSessionEpoch,
        ErrorCode::FetchSessionTopicIdError,
    ];
    for (offset, code) in (11..).zip(codes) {
        let fault = cluster.inject(Fault::once(Match::api(ApiKey::Fetch), Reaction::Error(code)));
        until(|| cluster.fault_hits(fault) == 1).await;
        cluster.append("t", 0, &[b"v"]).unwrap();
        assert_eq!(read(&consumer, 1, 500).await, [offset], "{code:?}");
    }
    // The broker kept one when it reported that it had none.
    assert_eq!(cluster.fetch_sessions(1), 2);
    consumer.end_close(CALL_TIMEOUT).await.unwrap();
    until(|| cluster.fetch_sessions(1) == 1).await;
}

#[tokio::test(start_paused = true)]
async fn a_broker_without_session_slots_is_read_without_sessions() {
    let config = MockConfig { fetch_sessions: 0, ..in_memory() };
    let cluster = MockCluster::start(config).await.unwrap();
    cluster.create_topic(TopicSpec::new("t")).unwrap();
    let consumer = consumer(&cluster, &[]).await;
    for offset in 0..5 {
        cluster.append("t", 0, &[b"v"]).unwrap();
        assert_eq!(read(&consumer, 1, 500).await, [offset]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_recreated_topic_is_read_from_its_start() {
    let cluster = ten().await;
    let consumer = consumer(&cluster, &[("metadata.max.age.ms", "100")]).await;
    assert_eq!(read(&consumer, 10, 500).await.len(), 10);
    cluster.delete_topic("t").unwrap();
    cluster.create_topic(TopicSpec::new("t")).unwrap();
    for _ in 0..3 {
        cluster.append("t", 0, &[b"w"]).unwrap();
    }
    assert_eq!(read(&consumer, 3, 500).await, [0, 1, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_position_in_a_deleted_topic_does_not_apply_to_the_recreated_one() {
    let cluster = ten().await;
    let pairs = [("group.id", "g"), ("enable.auto.commit", "false"), ("metadata.max.age.ms", "100")];
    let consumer = consumer(&cluster, &pairs).await;
    assert_eq!(read(&consumer, 3, 3).await, [0, 1, 2]);
    cluster.delete_topic("t").unwrap();
    cluster.create_topic(TopicSpec::new("t")).unwrap();
    // The position exists in the new log, too: reading from there would skip its first records.
    for _ in 0..20 {
        cluster.append("t", 0, &[b"w"]).unwrap();
    }
    // Records fetched before are delivered first, and not committed to the new topic.
    let fetched = read(&consumer, 7, 500).await;
    assert_eq!(fetched[..7], [3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(cluster.committed("g", "t", 0), None);
    let mut again = fetched[7..].to_vec();
    while again.len() < 20 {
        again.extend(read(&consumer, 1, 500).await);
    }
    assert_eq!(again, (0..20).collect::<Vec<_>>());
    within_deadline(consumer.commit(None, CALL_TIMEOUT)).await.expect("it is the new one's by now");
    assert_eq!(cluster.committed("g", "t", 0).map(|committed| committed.offset), Some(20));
}

#[tokio::test(start_paused = true)]
async fn offsets_of_a_deleted_topic_are_not_committed_to_the_recreated_one() {
    // Each with its own consumer: after the first error the fetcher looks at the new topic, and offsets
    // named later belong to the new one.
    for named in [None, Some([(tp(), CommittedOffset { offset: 10, ..CommittedOffset::default() })].into())] {
        let cluster = ten().await;
        let pairs = [
            ("group.id", "g"),
            ("enable.auto.commit", "false"),
            ("metadata.max.age.ms", "100000"),
            // Otherwise the fetch in flight would detect it, too, when its wait ends.
            ("fetch.max.wait.ms", "20000"),
        ];
        let consumer = consumer(&cluster, &pairs).await;
        assert_eq!(read(&consumer, 10, 500).await.len(), 10);
        // Otherwise a fetch would detect it.
        consumer.pause(&[tp()], true).unwrap();
        cluster.delete_topic("t").unwrap();
        cluster.create_topic(TopicSpec::new("t")).unwrap();
        let error = within_deadline(consumer.commit(named, CALL_TIMEOUT)).await.expect_err("another topic");
        assert_eq!(error.code(), Some(ErrorCode::UnknownTopicId), "{error}");
        assert_eq!(cluster.committed("g", "t", 0), None);
    }
}
